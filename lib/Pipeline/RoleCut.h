//===- RoleCut.h - which role does what, and what crosses -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_ROLECUT_H
#define DASH_LIB_PIPELINE_ROLECUT_H

#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// Who does an op. The order is that of roles in a worker. Shared is what is cheap enough for all:
/// numbers that tiles are found by.
enum class Role { LoadStep, Reduce, LoadItem, Compute, Shared };

/// What a slot says, beside its tiles, to a consumer, which does not read the order.
enum class SlotHeader {
  None,
  Item, ///< steps, sequence, kv head, kv tile
  Step, ///< where the mask's edge runs
};

/// The tiles of a slot of a channel, before they are cut.
struct Slot {
  std::string name;
  SmallVector<Value, 2> tiles;
  Role from, to;
  SlotHeader header = SlotHeader::None;
};

/// Roles and channels of one problem.
struct RoleCut {
  /// The role of an op in the items; Shared for the walk and its end.
  Role roleOf(Operation *op) const {
    auto it = roles.find(op);
    return it == roles.end() ? Role::Shared : it->second;
  }

  /// Warps that multiply: a warpgroup for each 64 rows of a kv tile.
  int64_t getComputeWarps() {
    return warpsOfWarpgroup * (items.getTiles().getKv() / FragmentAttr::rowsOfWarpgroup);
  }

  /// Into how many pieces a tile of an item is cut to leave through the slots of this one.
  static int64_t countPieces(Value tile, const Slot &slot) {
    auto rowsOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0); };
    return rowsOf(tile) / rowsOf(slot.tiles.front());
  }

  ItemsOp items;
  WalkOp walk;
  WarpStructure structure = WarpStructure::Alternating;
  SmallVector<Slot> slots;
  const Slot *sums =
      nullptr; ///< through which an item's own sums leave, if they are added and not stored
  llvm::MapVector<Operation *, Role> roles;
};

/// Says who does what in the items, in which structure (the one that is asked for, or that fits), and what has to
/// cross; an error if they have no form that roles can take.
LogicalResult cutRoles(ItemsOp items, StructureChoice structure, const TargetDescription &target,
                       RoleCut &cut);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_ROLECUT_H
