//===- RegisterDialect.cpp - the dash dialect -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, and the code that TableGen generates for the ops.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/DashOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

#include "dash/IR/DashDialect.cpp.inc"

#include "dash/IR/DashAccessInterfaces.cpp.inc"
#include "dash/IR/DashInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dash/IR/DashOps.cpp.inc"

void DashDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerBytecode();
  registerAliases();
  addOperations<
#define GET_OP_LIST
#include "dash/IR/DashOps.cpp.inc"
      >();
}
