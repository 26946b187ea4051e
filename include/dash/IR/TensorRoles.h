//===- TensorRoles.h - which value is which tensor -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_TENSORROLES_H
#define DASH_IR_TENSORROLES_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Says on the functions' arguments what they are to an op, and on the function in which order callers know them. Tiles of
/// a tensor are as wide as `tileColumnsOf` its columns. Fails where an argument is already something else to another.
LogicalResult setRoles(AttentionOpInterface op,
                       llvm::function_ref<int64_t(int64_t columns)> tileColumnsOf);

/// What memory, or a number, is to its program; several where an argument was handed over as several tensors. An argument
/// has roles of its own (`dash.tensor`), a `dash.tensor` is one; sums have that of what `dash.convert` rounds them to, and what
/// `dash.delta` writes is one number a row. Empty for anything else.
SmallVector<TensorRoleAttr> rolesOf(Value value);
/// The only one of them, or null.
TensorRoleAttr roleOf(Value value);
/// Columns of tiles of memory of tiles: those of its role, or, without one, its own.
int64_t tileColumnsOf(Value memref);
/// `role` for people: 'dq' (write, tile).
std::string describeRole(TensorRoleAttr role);

/// The op that adds up the gradient of the sink of scheduled items; null where they have no sink.
SinkGradientOp findSinkGradient(ItemsOp items);

} // namespace mlir::dash

#endif // DASH_IR_TENSORROLES_H
