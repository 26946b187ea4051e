//===- ProtocolRun.h - the roles of a worker, run together ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_PROTOCOLRUN_H
#define DASH_LIB_PROTOCOL_PROTOCOLRUN_H

#include "RoleProgram.h"
#include "SlotMemory.h"
#include "TileOrigins.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// A worker's list, given by the number of steps of its items. Items 2i and 2i + 1 are the parts of
/// kv tile i; the last kv tile of a list of odd length has one part. Four items belong to one
/// sequence. An even number of steps is walked in two rounds, one head each. An item's turn at a q
/// tile follows the turns of all earlier items that visit it.
struct WorkerList {
  ArrayRef<int64_t> steps;

  int64_t sequence(int64_t item) const { return item / 4; }
  int64_t kvTile(int64_t item) const { return item / 2; }
  int64_t partTurn(int64_t item) const { return item % 2; }
  bool isLastPart(int64_t item) const { return item % 2 == 1 || item + 1 == int64_t(steps.size()); }

  int64_t rounds(int64_t item) const { return steps[item] > 0 && steps[item] % 2 == 0 ? 2 : 1; }
  int64_t visits(int64_t item) const { return steps[item] / rounds(item); }
  bool visitsTile(int64_t item, int64_t round, int64_t visit) const {
    return round < rounds(item) && visit < visits(item);
  }
};

/// The order in which processes move. It does not affect a correct protocol, so a difference shows
/// a fault of this model.
struct Moves {
  size_t first;   ///< the process that moves first
  bool isPatient; ///< each goes as far as it can; otherwise one instruction at a time
};

/// One run of all roles over a list.
class ProtocolRun {
public:
  ProtocolRun(WorkersOp workers, ArrayRef<RoleProgram> programs, WorkerList list, Moves moves);

  /// Fails, with an error at the op, at the first violation.
  LogicalResult run();

private:
  /// What a product or a copy reads while it is in flight.
  struct Read {
    SlotPart *part;
    Operation *op;
  };
  using Group = SmallVector<Read, 4>;
  using TileKey = std::pair<Value,
                            // tile of sums: sequence, head, tile
                            std::pair<int64_t, std::pair<int64_t, int64_t>>>;

  /// A warpgroup of a consumer, a warp of a reducer, or the one thread of a producer.
  struct Process {
    const RoleProgram *program;
    int64_t warp;
    std::vector<int64_t> registers;
    Clock clock;
    size_t at = 0;
    SmallVector<Group> products{}, copies{}; ///< oldest first
    Group openProduct{}, openCopies{};
    /// groups of copies in flight; groups that have read but are not complete
    size_t unfinished = 0;
    std::optional<TileKey> turn{};

    bool isDone() const { return at == program->code.size(); }
  };
  enum class Outcome { Ran, Waits, Wrong };

  /// The tensor core as the previous warpgroup passes it on.
  struct Handover {
    Event given, taken;
    Clock clock;
    bool isGiven = false;
  };
  /// What a chain's last turn leaves.
  static constexpr int64_t allTurnsGiven = -1;
  struct Counter {
    int64_t value = 0;
    Clock clock;
  };

  /// A tile that leaves to a tensor.
  struct Leaving {
    Operation *op;
    SmallVector<int64_t, 4> counts; ///< how often a part of a slice has left: slices, parts
  };

  Outcome step(size_t number);
  Outcome act(Process &process, const Instruction &instruction, size_t number);
  Outcome synchronize(Process &process, const Instruction &instruction, size_t number);
  LogicalResult access(Process &process, const Instruction &instruction, size_t number);
  LogicalResult passIndices(Process &process, const Instruction &instruction);
  bool compute(Process &process, const Instruction &instruction);
  LogicalResult readList(Process &process, const Instruction &instruction);
  Outcome wait(Process &process, const Instruction &instruction, const Event &event);
  LogicalResult checkAdded(Process &process, const Instruction &instruction);
  LogicalResult copyIn(Process &process, const Instruction &instruction);
  LogicalResult followTile(Process &process, const Instruction &instruction);
  FailureOr<TileOrigin> originIn(Process &process, const Instruction &instruction);
  LogicalResult computeTile(Process &process, const Instruction &instruction);
  void finish(Process &process, size_t number, ArrayRef<Read> reads);
  void finishTo(Process &process, size_t number, SmallVectorImpl<Group> &groups, size_t pending);
  TileKey tileOf(const Process &process, const Instruction &instruction);
  Outcome acquireTurn(Process &process, const Instruction &instruction);
  Outcome releaseTurn(Process &process, const Instruction &instruction, size_t number);
  LogicalResult checkTurn(Process &process, const Instruction &instruction);
  LogicalResult bring(Process &process, const Instruction &instruction, SlotPart &part);
  LogicalResult countLeaving(Process &process, const Instruction &instruction);
  Outcome hand(Process &process, const Instruction &instruction, const Event &event);

  Clock newClock() const { return Clock(processes.size() + channels.size()); }
  /// The parts of a tile that a role has: those of its own warpgroup, or all.
  llvm::iota_range<int64_t> rowsOf(RoleOp role) const;
  MutableArrayRef<SlotPart> partsOf(Process &process, const SlotPlace &place);
  PhaseBarrier &barrier(unsigned channel, BarrierSide side, int64_t use);
  PhaseBarrier &barrierOf(const Process &process, const Instruction &instruction);
  LogicalResult reportWaits();
  LogicalResult checkEnd();
  LogicalResult checkLeaving();
  std::string nameOf(const Process &process) const;

  WorkersOp workers;
  WorkerList list;
  Moves moves;
  SmallVector<ChannelOp> channels;
  std::vector<Process> processes;
  /// Parts of a tile by rows: the warpgroups of each consumer have as many each.
  int64_t rowParts = 1;
  int64_t stepsLeft;
  TileOrigins origins;
  /// for each channel: slots, elements, parts
  std::vector<std::vector<SlotPart>> parts;
  std::vector<std::vector<PhaseBarrier>> barriers; ///< for each channel: slots, sides
  std::vector<std::vector<int64_t>> indices;       ///< for each channel: slots, indices
  /// the number of completed copies of each channel
  Clock engine;
  SmallVector<Handover> handovers; ///< to each warpgroup of all consumers
  llvm::MapVector<TileKey, Counter> counters;
  llvm::MapVector<TileKey, Leaving> leaving;
};

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_PROTOCOLRUN_H
