//===- DashDialect.h - the dash dialect -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that a tool needs to register the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_DASHDIALECT_H
#define DASH_IR_DASHDIALECT_H

#include "mlir/IR/Dialect.h"

#include "dash/IR/DashDialect.h.inc"

#endif // DASH_IR_DASHDIALECT_H
