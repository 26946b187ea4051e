//===- DashOps.h - the ops of dash ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops, and the traits that restrict where an op may stand.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_DASHOPS_H
#define DASH_IR_DASHOPS_H

#include "dash/IR/DashAttrs.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/DashTypes.h"
#include "dash/IR/SlotAccess.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::dash {

/// An operand of an op on whole tensors, and its role in the op.
struct TensorOfOp {
  Value value;
  TensorRoleAttr role;
};

class ChannelOp;
class ItemsOp;
class RoleOp;
class WalkOp;
class YieldOp;

/// The columns of the smallest matrices that threads write to a slot at once.
constexpr int64_t columnsOfMatrices = 16;
/// Through how many slots a tile of so many columns leaves; the last may be filled in part. None
/// where a slot has no whole matrices.
std::optional<int64_t> countSlices(int64_t columns, RankedTensorType slot);

namespace detail {
LogicalResult verifyInsideItems(Operation *op);
LogicalResult verifyOutsideItems(Operation *op);
LogicalResult verifyInsideRole(Operation *op);
} // namespace detail

/// The op works on tiles. It stands in a `dash.items`, at any depth, or in a `dash.role`, whose
/// items may be loops.
template <typename ConcreteOp>
class InsideItems : public OpTrait::TraitBase<ConcreteOp, InsideItems> {
public:
  static LogicalResult verifyTrait(Operation *op) { return detail::verifyInsideItems(op); }
};

/// The op works on whole tensors. It stands in no `dash.items`.
template <typename ConcreteOp>
class OutsideItems : public OpTrait::TraitBase<ConcreteOp, OutsideItems> {
public:
  static LogicalResult verifyTrait(Operation *op) { return detail::verifyOutsideItems(op); }
};

/// The op works on channels. It stands in a `dash.role`, at any depth.
template <typename ConcreteOp>
class InsideRole : public OpTrait::TraitBase<ConcreteOp, InsideRole> {
public:
  static LogicalResult verifyTrait(Operation *op) { return detail::verifyInsideRole(op); }
};

} // namespace mlir::dash

#include "dash/IR/DashAccessInterfaces.h.inc"
#include "dash/IR/DashInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dash/IR/DashOps.h.inc"

#endif // DASH_IR_DASHOPS_H
