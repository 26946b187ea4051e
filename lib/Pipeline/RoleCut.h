//===- RoleCut.h - the role of each op, and what crosses --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_ROLECUT_H
#define DASH_LIB_PIPELINE_ROLECUT_H

#include "dash/IR/DashOps.h"
#include "dash/IR/SlotHeader.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TileSplits.h"
#include "dash/Pipeline/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dash {

/// The role that does an op, in the order of roles in a worker. Shared ops are cheap enough for
/// every role: numbers that locate tiles.
enum class Role { LoadStep, Reduce, LoadItem, Compute, Shared };

/// The channel that tells of items which load no tile, and its slots.
constexpr llvm::StringLiteral channelOfItems = "item";
constexpr int64_t slotsOfItems = 2;

/// The channel of what one consumer passes to others: P.
constexpr llvm::StringLiteral channelOfProbabilities = "p";

/// The tiles of a slot of a channel, before they are cut.
struct Slot {
  std::string name;
  SmallVector<Value, 2> tiles; ///< none: of indices alone
  Role from, to;
  SlotHeader header = SlotHeader::None;
  size_t maker = 0; ///< the consumer that fills it, of those that compute

  /// The tile by which it is known, or null.
  Value getTile() const { return tiles.empty() ? Value() : tiles.front(); }
};

/// A role that multiplies. What several need, each computes for itself, unless it crosses.
struct Consumer {
  std::string name;
  SmallVector<unsigned, 2> sums; ///< results of the walk, by number
  llvm::SetVector<Operation *> ops;
  RankedTensorType wayOut; ///< of slots for its results alone; null without them

  bool reads(const Slot &slot) const {
    return llvm::any_of(slot.tiles, [&](Value tile) {
      return llvm::any_of(tile.getUsers(), [&](Operation *user) { return ops.contains(user); });
    });
  }
};

/// Roles and channels of one problem.
struct RoleCut {
  /// The role of an op in the items; Shared for the walk and its end.
  Role roleOf(Operation *op) const {
    auto it = roles.find(op);
    return it == roles.end() ? Role::Shared : it->second;
  }

  /// The role that makes a value of the items; Shared if it comes from outside, or is one of their
  /// indices.
  Role roleOf(Value value) const;

  /// Warps of a role that multiplies.
  int64_t getComputeWarps() const { return warpsOfWarpgroup * tiling.getWarpgroups(); }

  /// The number of pieces into which a tile of an item is cut to leave through these slots.
  static int64_t countPieces(Value tile, const Slot &slot) {
    auto rowsOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0); };
    return rowsOf(tile) / rowsOf(slot.tiles.front());
  }

  ItemsOp items;
  WalkOp walk;
  TilingAttr tiling;
  TileSplits splits; ///< of tiles of the items
  SmallVector<Slot> slots;
  SmallVector<Consumer, 1> consumers;
  Value passed;               ///< by one consumer to others; null without such a tile
  size_t passer = 0;          ///< the one
  const Slot *sums = nullptr; ///< carries an item's own sums if they are added, not stored
  llvm::MapVector<Operation *, Role> roles;
};

/// Says which role does which op of the items, and what has to cross; an error if they have no form
/// that roles can take.
LogicalResult cutRoles(ItemsOp items, ConsumerChoice choice, RoleCut &cut);

/// The part of it that finds the roles that multiply and what they compute; roles of ops are known.
LogicalResult findConsumers(RoleCut &cut, ConsumerChoice choice);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_ROLECUT_H
