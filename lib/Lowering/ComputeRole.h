//===- ComputeRole.h - the program of one warpgroup ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_COMPUTEROLE_H
#define DASH_LIB_LOWERING_COMPUTEROLE_H

#include "Fragments.h"
#include "Wgmma.h"
#include "WorkerEntry.h"

namespace mlir::dash {

constexpr double log2e = 1.44269504088896340736;

/// A tile as the warpgroup has it: its part, in registers (floats of sums or of columns, words of a rounded
/// tile), or a slot of a channel.
struct Tile {
  SmallVector<Value> registers;
  const Channel *channel = nullptr;
  int64_t index = 0; ///< of the tile in its slot
  Value use;         ///< of the channel
};

class ComputeRole {
public:
  ComputeRole(WorkerEntry &entry, RoleOp role, int64_t warpgroup)
      : entry(entry), b(entry.b), role(role), warpgroup(warpgroup), warpgroups(role.getWarps() / 4),
        place(b), order(b.parameter("workspace.order")) {}

  LogicalResult emit();

private:
  // ---- Items and steps.
  void emitItem(ItemsOp items, Value item, Value firstStep);
  SmallVector<Value> emitWalk(WalkOp walk, Value steps, Value firstStep);
  SmallVector<Value> emitSteps(WalkOp walk, Value steps, Value step, ValueRange sums, bool isOne);
  /// Emits this step's ops, of the step before if `hasPrevious`, of the next if `hasNext`.
  void emitStep(WalkOp walk, Value step, bool hasPrevious, bool hasNext);
  void emitStage(int64_t stage, Value use);
  static bool isMadeAhead(Operation *op);
  SmallVector<Value> carriedValues(WalkOp walk);
  void setCarriedValues(WalkOp walk, ValueRange values, Value step);
  LogicalResult orderBody(WalkOp walk);

  // ---- Ops.
  void emitOp(Operation *op, Value use);
  void emitMatmul(MatmulOp op);
  void emitProbability(ProbabilityOp op);
  void emitScoreGradient(ScoreGradientOp op);
  void emitGet(GetOp op, Value use);
  void emitPut(PutOp op, Value use);
  void emitPublish(PublishOp op, Value use);
  void emitRelease(ReleaseOp op, Value use);
  void emitStore(StoreOp op);
  SharedFactor factorOf(const Tile &tile, RankedTensorType type, bool outerIsRow);
  /// This warpgroup's part of a product's sums: 64 rows of all, or some columns of 64 rows.
  bool hasRowsOf(RankedTensorType sums) const { return sums.getDimSize(0) == 64 * warpgroups; }
  int64_t columnsOf(RankedTensorType sums) const {
    return sums.getDimSize(1) / (hasRowsOf(sums) ? 1 : warpgroups);
  }

  // ---- The tensor core, which warpgroups use in turn: number 1 + i says that it is warpgroup i's.
  void takeTensorCore() {
    if (warpgroups > 1)
      hopper::syncNamed(b, 1 + warpgroup, 256);
  }
  void giveTensorCore() {
    if (warpgroups > 1)
      hopper::arriveNamed(b, 1 + (warpgroup + 1) % warpgroups, 256);
  }
  void syncWarpgroup() { hopper::syncNamed(b, 1 + warpgroups + warpgroup, 128); }
  /// One arrival a warp.
  void arrive(Value barrier) {
    if (entry.threadsArrive)
      return hopper::arrive(b, barrier);
    hopper::syncWarp(b);
    hopper::arriveIf(b, b.equal(place.lane, 0), barrier);
  }

  // ---- Products in flight, oldest first.
  struct InFlight {
    Value result; ///< of the op
    SmallVector<std::pair<const Channel *, Value>> reads;
  };
  void waitForResult(Value tile);
  void waitForReaders(const Channel *channel, Value use);
  void waitForOldest(size_t number);

  WorkerEntry &entry;
  EntryBuilder &b;
  RoleOp role;
  int64_t warpgroup, warpgroups;
  ThreadPlace place;
  OrderReader order;

  static int64_t numberOf(Operation *op, StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  }

  SmallVector<Operation *> body;     ///< of the walk, as issued
  Value exponentScale;               ///< of scores, for exponentials to base 2
  llvm::DenseMap<Value, Tile> tiles; ///< looked up only
  SmallVector<InFlight> inFlight;
  // The item at hand.
  const Channel *itemChannel = nullptr, *stepChannel = nullptr; ///< whose words say what to do
  Value item;
  SmallVector<std::pair<const Channel *, Value>>
      unawaited;                ///< slots of the item that nobody waited for
  SmallVector<Value> itemWords; ///< steps, sequence, kv head, kv tile
  Value columnsHere;            ///< rows of the kv tile that are in the sequence
};

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_COMPUTEROLE_H
