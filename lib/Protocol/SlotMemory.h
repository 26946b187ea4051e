//===- SlotMemory.h - shared memory with checked order ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an access is correct must not depend on the speed of the roles in one run. So the check
// does not ask which access came first, but whether one is ordered before the other: agents have
// vector clocks, and barriers pass them on.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_LIB_PROTOCOL_SLOTMEMORY_H
#define DASH_LIB_PROTOCOL_SLOTMEMORY_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// For each agent, the latest of its times that is known to have passed. Agents are processes and
/// the copy engine. The engine has one clock for each channel, because only an agent that waited
/// for the channel's slots knows of its copies.
class Clock {
public:
  explicit Clock(size_t agents = 0) : times(agents) {}

  int64_t &operator[](size_t agent) { return times[agent]; }
  int64_t operator[](size_t agent) const { return times[agent]; }
  void join(const Clock &other) {
    for (auto [mine, theirs] : llvm::zip_equal(times, other.times))
      mine = std::max(mine, theirs);
  }
  bool knows(const Clock &other) const {
    return llvm::all_of_zip(times, other.times,
                            [](int64_t mine, int64_t theirs) { return mine >= theirs; });
  }

private:
  SmallVector<int64_t, 16> times;
};

/// An op of an agent, with its time.
struct Event {
  Operation *op = nullptr;
  size_t agent = 0;
  int64_t time = 0;

  bool isKnownTo(const Clock &clock) const { return !op || time <= clock[agent]; }
};

/// An mbarrier of a slot.
class PhaseBarrier {
public:
  PhaseBarrier(int64_t arrivals, const Clock &nothing)
      : arrivals(arrivals), pending(arrivals), gathered(nothing), last(nothing), before(nothing) {}

  /// Arrivals by an agent that knows `clock`.
  LogicalResult arrive(Operation *op, int64_t number, const Clock &clock);
  void expect(int64_t more) { bytes += more; }
  /// Bytes that a copy brings.
  LogicalResult bring(Operation *op, int64_t number, const Clock &clock);

  int64_t getComplete() const { return complete; }
  bool isUntouched() const { return pending == arrivals && bytes == 0; }
  /// An event learns that `phases` phases are complete. A parity only distinguishes a phase from
  /// the one before. So the agent must have known that one, and the next phase must not complete
  /// before it has looked.
  LogicalResult see(const Event &event, int64_t phases, Clock &clock);

private:
  LogicalResult settle(Operation *op);

  int64_t arrivals, pending, bytes = 0, complete = 0;
  Clock gathered, last, before; ///< of the current phase, and of the last two complete ones
  int64_t seen = 0;             ///< the number of phases that the waiters below have seen complete
  SmallVector<Event> waiters;
};

/// The state of bytes that are always written together.
struct SlotPart {
  Event writer;
  int64_t use = -1;                    ///< the use of the channel that they belong to
  int64_t origin = 0;                  ///< of what lies there, by its number (TileOrigins)
  std::optional<int64_t> slice;        ///< of a consumer's results, which leave through the slot
  bool hasLeft = false;                ///< the slice: a copy has taken it
  bool isAdded = false;                ///< by a reducer, or stored apart from all sums
  bool isKept = false;                 ///< by a reducer, for tests
  SmallVector<Event> readers;          ///< the last reader of each agent
  SmallVector<Operation *> underWay{}; ///< copies and products that still read
};

/// A slot's element, for an agent that reads or writes it.
struct SlotElement {
  ChannelOp channel;
  int64_t use;
  unsigned element;
  std::optional<int64_t> slice{}; ///< as of `SlotPart`
};

LogicalResult readPart(SlotPart &part, const SlotElement &what, const Event &event,
                       const Clock &clock);
/// A copy reads the slice of a result, which leaves once.
LogicalResult leavePart(SlotPart &part, const SlotElement &what, const Event &event,
                        const Clock &clock);
LogicalResult writePart(SlotPart &part, const SlotElement &what, const Event &event,
                        const Clock &clock);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_SLOTMEMORY_H
