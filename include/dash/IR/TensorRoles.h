//===- TensorRoles.h - which value is which tensor -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_TENSORROLES_H
#define DASH_IR_TENSORROLES_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Marks the functions' arguments with their roles in an op, and the function with the order that
/// callers use. Tiles of a tensor are `tileColumnsOf` its columns wide. Fails if an argument
/// already has another role.
LogicalResult setRoles(AttentionOpInterface op,
                       llvm::function_ref<int64_t(int64_t columns)> tileColumnsOf);

/// The roles of memory, or of a number, in its program; several if an argument was passed as
/// several tensors. An argument has the roles of its `dash.tensor`. Sums have the role of the
/// tensor that `dash.convert` rounds them to. The output of `dash.delta` has one number for each
/// row. Empty for anything else.
SmallVector<TensorRoleAttr> rolesOf(Value value);
/// The only role, or null.
TensorRoleAttr roleOf(Value value);
/// The columns of tiles of memory: from its role or, without one, its own.
int64_t tileColumnsOf(Value memref);
/// `role` in messages: 'dq' (write, tile).
std::string describeRole(TensorRoleAttr role);

/// The op that adds up the sink's gradient of scheduled items; null if they have no sink.
SinkGradientOp findSinkGradient(ItemsOp items);

} // namespace mlir::dash

#endif // DASH_IR_TENSORROLES_H
