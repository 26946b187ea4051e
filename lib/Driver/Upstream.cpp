//===- Upstream.cpp - the upstream dialects beside dash -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dash op may stand in any host module, so every upstream dialect parses. Registering them costs
// about a millisecond, since none is loaded before it is used. Only the general passes are here:
// with all of them, `dash-opt --help` would be too long to read.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void dash::registerUpstream(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry); // what upstream passes ask of dialects, such as inlining
  registerTransformsPasses();
}
