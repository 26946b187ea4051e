//===- SlotAccess.h - effects of ops on slots and sums ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The terms in which an op states its effects on what roles share: slots of channels, barriers, the
// tensor core, sums in memory. Ops implement the interfaces of DashAccessInterfaces.td. Proofs,
// models and conversions query them.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_SLOTACCESS_H
#define DASH_IR_SLOTACCESS_H

#include "dash/IR/DashAttrs.h"
#include "mlir/IR/Value.h"

namespace mlir {
class DialectRegistry;
}

namespace mlir::dash {

/// A slot, as an op names it.
struct SlotRef {
  Value channel; ///< null for a tile in an unnamed slot
  Value slot;    ///< from a `dash.ring`, once waits are ops
  Value use;     ///< before that, the number of the use; null while walks are walks: the next use
  int64_t ahead = 0; ///< that many uses later

  static SlotRef at(Value channel, Value slot) { return {channel, slot, Value()}; }
  static SlotRef ofUse(Value channel, Value use, int64_t ahead = 0) {
    return {channel, Value(), use, ahead};
  }
};

/// A tile of memory: of a tensor, of sums, or of a task, which has a q tile and a kv tile. Null for
/// an access without memory.
struct MemoryRef {
  Value tensor, sequence, head, tile;
  Value kvHead = {}, kvTile = {}; ///< of a task

  explicit operator bool() const { return bool(tensor); }
  bool isOfTask() const { return bool(kvTile); }
  /// Kv head and kv tile of a task, or nothing.
  MemoryRef with(ValueRange other) const {
    MemoryRef both = *this;
    if (!other.empty())
      both.kvHead = other[0], both.kvTile = other[1];
    return both;
  }
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

enum class AccessKind : uint8_t {
  Name, ///< no access yet: names the tile, and others read it in place by this name
  Read,
  Write,
};

enum class AccessAgent : uint8_t { Threads, CopyEngine, TensorCore };

enum class AccessRows : uint8_t {
  Whole,
  Own, ///< those of the role's own warpgroup
};

/// An index in a slot, and the value that is written to it or read from it.
struct SlotIndex {
  unsigned number;
  Value value;
  bool isTold = false; ///< the op already knows the value, and reads it once more
};

/// An op's access to an element of a slot.
struct SlotAccess {
  AccessKind kind;
  AccessAgent by;
  AccessRows rows;
  SlotRef slot;
  unsigned element;      ///< a tile's number; that behind the last tile for the indices
  Value tile = {};       ///< in registers, what is written or has been read; else the tile's name
  MemoryRef memory = {}; ///< what the copy engine copies from, or to
  std::optional<int64_t> slice = {}; ///< which columns of a result; the slot is borrowed for it
  SmallVector<SlotIndex, 2> indices = {};

  /// A result leaves through the slot, which stays empty.
  bool isBorrowed() const { return slice.has_value(); }
  bool isOfIndices() const { return !indices.empty(); }
  /// The layout of the tile in the slot if it is a factor of products; null otherwise.
  SwizzledAttr getLayout() const;
  /// As how many slices the tile of memory leaves through such slots, of a result.
  int64_t countSlices() const;

  static SlotAccess name(SlotRef slot, unsigned element, Value tile) {
    return {AccessKind::Name, AccessAgent::Threads, AccessRows::Whole, slot, element, tile};
  }
  static SlotAccess read(AccessAgent by, SlotRef slot, unsigned element, Value tile = {}) {
    return {AccessKind::Read, by, AccessRows::Whole, slot, element, tile};
  }
  static SlotAccess write(AccessAgent by, SlotRef slot, unsigned element, Value tile = {}) {
    return {AccessKind::Write, by, AccessRows::Whole, slot, element, tile};
  }
  static SlotAccess writeIndices(SlotRef slot, ValueRange values);
  static SlotAccess readIndices(SlotRef slot, ValueRange values);

  SlotAccess ofOwnRows() const;
  SlotAccess ofSlice(std::optional<int64_t> number) const;
  SlotAccess withMemory(MemoryRef place) const;
};

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

enum class SyncKind : uint8_t {
  WaitForSlot, ///< until it is full, or empty
  Arrive,      ///< at a barrier of a slot
  Expect,      ///< arrives at a full barrier, which then waits for the copy engine's bytes
  // Products and copies read until they are waited for, in groups and in order.
  IssueProduct,
  WaitForProducts,
  CommitCopies,
  WaitForCopies,
  // The tensor core, which warpgroups take in turn.
  TakeTensorCore,
  GiveTensorCore,
  // Make accesses of threads visible to other threads and to engines.
  FenceShared, ///< shared memory, for copy engine and tensor core
  FenceGlobal, ///< memory, for the copy engine
  MeetWarpgroup,
};

struct Sync {
  SyncKind kind;
  SlotRef slot = {};
  BarrierSide side = BarrierSide::Full;    ///< of a wait or an arrival
  Value phase = {};                        ///< of a wait, once waits are ops
  bool borrows = false;                    ///< of a wait: results leave through the slot
  ArriveScope scope = ArriveScope::Thread; ///< of an arrival
  int64_t bytes = 0;                       ///< expected bytes
  int64_t pending = 0;                     ///< groups that may still be incomplete after the wait
  bool isOnlyRead = false;                 ///< copies have read; their writes may be incomplete

  bool isWaitFor(BarrierSide which) const { return kind == SyncKind::WaitForSlot && side == which; }
  bool isArrivalAt(BarrierSide which) const { return kind == SyncKind::Arrive && side == which; }

  static Sync waitFor(BarrierSide side, SlotRef slot, Value phase = {}, bool borrows = false) {
    return {SyncKind::WaitForSlot, slot, side, phase, borrows};
  }
  static Sync arriveAt(BarrierSide side, SlotRef slot, ArriveScope scope = ArriveScope::Thread) {
    return {SyncKind::Arrive, slot, side, {}, false, scope};
  }
  static Sync expect(SlotRef slot, int64_t bytes) {
    return {SyncKind::Expect, slot, BarrierSide::Full, {}, false, ArriveScope::Thread, bytes};
  }
  static Sync waitForGroups(SyncKind kind, int64_t pending, bool isOnlyRead = false) {
    return {kind, {}, BarrierSide::Full, {}, false, ArriveScope::Thread, 0, pending, isOnlyRead};
  }
};

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

enum class SumAction : uint8_t {
  Take,  ///< waits for a turn
  Give,  ///< passes on the next turn
  Add,   ///< adds a contribution
  Store, ///< stores the contribution of a chain's first turn
  Keep,  ///< keeps a contribution in a separate place, selected by its turn
  Count, ///< records the number of contributions, at the last turn
};

struct SumAccess {
  SumAction action;
  MemoryRef sum;
  Value turn = {};        ///< the turn that is taken, or that selects the place
  Value isLast = {};      ///< 1 at a chain's last turn, for actions that pass on and count turns
  bool completes = false; ///< the last turn signals that the sum is complete

  /// Waits for turns or passes them on.
  bool isOfTurns() const { return action == SumAction::Take || action == SumAction::Give; }
  /// Adds, stores or keeps a contribution.
  bool isContribution() const {
    return action == SumAction::Add || action == SumAction::Store || action == SumAction::Keep;
  }
};

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// An op's stated effects; empty for an op without the interface.
SmallVector<SlotAccess> accessesOf(Operation *op);
SmallVector<Sync> syncsOf(Operation *op);
SmallVector<SumAccess> sumAccessesOf(Operation *op);
/// The accesses that copy between slots and a tensor, excluding sums.
SmallVector<SlotAccess> copiesOf(Operation *op);

/// The access that names a tile, if it lies in a slot and has a name.
std::optional<SlotAccess> findNamed(Value tile);

/// Fails, with an error at the op, if it has a channel, a tile in a slot or shared sums, but does
/// not state its effects on them.
LogicalResult verifySaysAccesses(Operation *op);

/// Attaches effects to NVVM ops: fences, and groups of copies.
void registerNvvmSyncs(DialectRegistry &registry);

} // namespace mlir::dash

#endif // DASH_IR_SLOTACCESS_H
