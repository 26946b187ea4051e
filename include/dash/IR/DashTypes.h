//===- DashTypes.h - types of dash ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_DASHTYPES_H
#define DASH_IR_DASHTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "dash/IR/DashTypes.h.inc"

#endif // DASH_IR_DASHTYPES_H
