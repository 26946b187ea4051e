//===- Upstream.cpp - the upstream dialects that dash stands among --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dash op may stand in any host module, so every upstream dialect parses. Registering them costs
// about a millisecond, since none is loaded before it is used. Of the passes only the general ones
// are here: all of them would make `dash-opt --help` a page that nobody reads.
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
  registerAllExtensions(registry); // inlining and the like: what upstream passes ask of dialects
  registerTransformsPasses();
}
