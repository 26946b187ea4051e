//===- SlotAccess.h - what ops do to slots and sums -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words in which an op says what it does to what roles share: slots of channels, barriers, the tensor core, sums in memory. An
// op implements the interfaces of DashAccessInterfaces.td; proofs, models and conversions ask them.
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
  Value channel; ///< null for a tile in a slot that nobody names
  Value slot;    ///< given by a `dash.ring`, once waits are ops
  Value use; ///< in front of that the number of the use; null while walks are walks: the next one
  int64_t ahead = 0; ///< so many uses further on

  static SlotRef at(Value channel, Value slot) { return {channel, slot, Value()}; }
  static SlotRef ofUse(Value channel, Value use, int64_t ahead = 0) {
    return {channel, Value(), use, ahead};
  }
};

/// A tile of memory: of a tensor, or of sums. Null for an access that has nothing to do with memory.
struct MemoryRef {
  Value tensor, sequence, head, tile;

  explicit operator bool() const { return bool(tensor); }
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

enum class AccessKind : uint8_t {
  Name, ///< none yet: gives the tile a name, by which others read it where it lies
  Read,
  Write,
};

enum class AccessAgent : uint8_t { Threads, CopyEngine, TensorCore };

enum class AccessRows : uint8_t {
  Whole,
  Own, ///< those of the role's own warpgroup
};

/// An index of a slot, and the value that is written there or comes from there.
struct SlotIndex {
  unsigned number;
  Value value;
  bool isTold = false; ///< the op knows the value already: it reads it once more
};

/// What an op does to an element of a slot.
struct SlotAccess {
  AccessKind kind;
  AccessAgent by;
  AccessRows rows;
  SlotRef slot;
  unsigned element;      ///< a tile's number; that behind the last tile for the indices
  Value tile = {};       ///< in registers, what is written or has been read; else the tile's name
  MemoryRef memory = {}; ///< what the copy engine copies from, or to
  std::optional<int64_t> piece = {}; ///< which columns of a result; the slot is borrowed for it
  SmallVector<SlotIndex, 2> indices = {};

  /// A result leaves through the slot, which stays empty.
  bool isBorrowed() const { return piece.has_value(); }
  bool isOfIndices() const { return !indices.empty(); }
  /// How the tile lies in the slot, where it is a factor of products; null elsewhere.
  SwizzledAttr getLayout() const;
  /// As how many pieces the tile of memory leaves through such slots, of a result.
  int64_t countPieces() const;

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
  SlotAccess ofPiece(std::optional<int64_t> number) const;
  SlotAccess withMemory(MemoryRef place) const;
};

//===----------------------------------------------------------------------===//
// Waiting and going on
//===----------------------------------------------------------------------===//

enum class SyncKind : uint8_t {
  WaitForSlot, ///< until it is full, or empty
  Arrive,      ///< at a barrier of a slot
  Expect,      ///< arrives at a full barrier, which waits for the copy engine's bytes from there on
  // Products and copies are read for until they are waited for, in groups and in order.
  IssueProduct,
  WaitForProducts,
  CommitCopies,
  WaitForCopies,
  // The tensor core, which warpgroups have in turn.
  TakeTensorCore,
  GiveTensorCore,
  // What threads have done, to other threads and to engines.
  FenceShared, ///< shared memory, for copy engine and tensor core
  FenceGlobal, ///< memory, for the copy engine
  MeetWarpgroup,
};

struct Sync {
  SyncKind kind;
  SlotRef slot = {};
  BarrierSide side = BarrierSide::Full;    ///< of a wait, and of an arrival
  Value phase = {};                        ///< of a wait, once waits are ops
  bool borrows = false;                    ///< of a wait: results leave through the slot
  ArriveScope scope = ArriveScope::Thread; ///< of an arrival
  int64_t bytes = 0;                       ///< that are expected
  int64_t pending = 0;                     ///< groups that may go on behind the wait
  bool isOnlyRead = false;                 ///< copies have read; what they write is not there yet

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
  Give,  ///< gives the next turn on
  Add,   ///< a contribution to what is there
  Store, ///< the contribution of a chain's first turn
  Keep,  ///< a contribution in a place of its own, which its turn gives
  Count, ///< leaves how many contributions there are, at the last turn
};

struct SumAccess {
  SumAction action;
  MemoryRef sum;
  Value turn = {};        ///< that is taken, or that gives the place
  Value isLast = {};      ///< 1 at a chain's last turn, of what gives turns on and counts them
  bool completes = false; ///< the last turn says that the sum is complete

  /// Waits for turns or gives them on.
  bool isOfTurns() const { return action == SumAction::Take || action == SumAction::Give; }
  /// Brings a contribution.
  bool isContribution() const {
    return action == SumAction::Add || action == SumAction::Store || action == SumAction::Keep;
  }
};

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// What an op says; nothing of one without the interface.
SmallVector<SlotAccess> accessesOf(Operation *op);
SmallVector<Sync> syncsOf(Operation *op);
SmallVector<SumAccess> sumAccessesOf(Operation *op);
/// Of its accesses those that copy between slots and a tensor, which is no sum.
SmallVector<SlotAccess> copiesOf(Operation *op);

/// The access that gives a tile its name, if it lies in a slot and has one.
std::optional<SlotAccess> findNamed(Value tile);

/// Fails, with an error at the op, if it has a channel, a tile in a slot or sums that others add to, and does not say what it does there.
LogicalResult verifySaysAccesses(Operation *op);

/// What ops of NVVM do: fences, and groups of copies.
void registerNvvmSyncs(DialectRegistry &registry);

} // namespace mlir::dash

#endif // DASH_IR_SLOTACCESS_H
