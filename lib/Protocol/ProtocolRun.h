//===- ProtocolRun.h - the roles of a worker, run at once ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_PROTOCOLRUN_H
#define DASH_LIB_PROTOCOL_PROTOCOLRUN_H

#include "RoleProgram.h"
#include "SlotMemory.h"
#include "TileOrigins.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// A worker's list, by the steps of its items. Items 2i and 2i + 1 are the parts of kv tile i, of which a list of odd length
/// has only one; four items are of one sequence; an even number of steps is walked in two rounds, a head each. Whoever visits a q
/// tile has the turn behind all items before it that do.
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

/// In which order processes move. It changes nothing that a right protocol does, so that a difference is a fault of this model.
struct Moves {
  size_t first;   ///< the process that moves first
  bool isPatient; ///< each goes as far as it can, else an instruction at a time
};

/// One run of all roles over a list.
class ProtocolRun {
public:
  ProtocolRun(WorkersOp workers, ArrayRef<RoleProgram> programs, WorkerList list, Moves moves);

  /// Fails, with an error at the op, at the first thing that is wrong.
  LogicalResult run();

private:
  /// What a product or a copy reads while it is under way.
  struct Read {
    SlotPart *part;
    Operation *op;
  };
  using Group = SmallVector<Read, 4>;
  using TileKey =
      std::pair<Value,
                std::pair<int64_t, std::pair<int64_t, int64_t>>>; // of sums: sequence, head, tile

  /// A warpgroup of a consumer, a warp of a reducer, or the one thread of a producer.
  struct Process {
    const RoleProgram *program;
    int64_t warp;
    std::vector<int64_t> registers;
    Clock clock;
    size_t at = 0;
    SmallVector<Group> products{}, copies{}; ///< oldest first
    Group openProduct{}, openCopies{};
    size_t unfinished = 0; ///< groups of copies, those under way and those that have only been read
    std::optional<TileKey> turn{};

    bool isDone() const { return at == program->code.size(); }
  };
  enum class Outcome { Ran, Waits, Wrong };

  /// The tensor core, as the warpgroup before gives it.
  struct Handover {
    Event given, taken;
    Clock clock;
    bool isGiven = false;
  };
  struct Counter {
    int64_t value = 0;
    Clock clock;
  };

  /// A tile that leaves for a tensor.
  struct Leaving {
    Operation *op;
    SmallVector<int64_t, 4>
        counts; ///< how often a piece has left from a warpgroup: pieces, warpgroups
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
  unsigned warpgroups = 1;
  int64_t stepsLeft;
  TileOrigins origins;
  std::vector<std::vector<SlotPart>> parts;        ///< of each channel: slots, elements, warpgroups
  std::vector<std::vector<PhaseBarrier>> barriers; ///< of each channel: slots, sides
  std::vector<std::vector<int64_t>> indices;       ///< of each channel: slots, indices
  Clock engine;                                    ///< how many copies have come for each channel
  SmallVector<Handover> handovers;                 ///< to each warpgroup
  llvm::MapVector<TileKey, Counter> counters;
  llvm::MapVector<TileKey, Leaving> leaving;
};

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_PROTOCOLRUN_H
