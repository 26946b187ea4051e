//===- PromelaModel.h - what a model has of a worker -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_PROMELAMODEL_H
#define DASH_LIB_PROTOCOL_PROMELAMODEL_H

#include "RoleProgram.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// Its results are an expression of its operands.
inline bool isPure(Opcode opcode) { return opcode <= Opcode::Select || opcode == Opcode::Ring; }

/// Where a worker's slots and what lies in them are in the model's arrays.
class ModelLayout {
public:
  explicit ModelLayout(WorkersOp workers);

  struct Channel {
    ChannelOp op;
    int64_t slot = 0, cell = 0, word = 0; ///< its first of each
    int64_t depth = 1, elements = 1;

    /// A slot's cells: for each element one of each warpgroup.
    int64_t cellsOfSlot(int64_t warpgroups) const { return elements * warpgroups; }
  };
  /// The word of the channel's first slot that holds an index.
  int64_t wordOf(const SlotPlace &place, size_t index) const {
    return channels[place.channel].word + index;
  }
  SmallVector<Channel> channels;
  int64_t warpgroups = 1, slots = 0, cells = 0, words = 0;
};

/// Which numbers a model needs: those that decide where a role goes, which use and which tile it is at.
class NeededNumbers {
public:
  NeededNumbers(ArrayRef<RoleProgram> programs, const ModelLayout &layout);

  bool isRegister(const RoleProgram &program, unsigned number) const {
    return registers.contains({&program, number});
  }
  bool isWord(int64_t word) const { return words.contains(word); }

private:
  llvm::DenseSet<std::pair<const RoleProgram *, unsigned>> registers; // looked up only
  llvm::DenseSet<int64_t> words;                                      // looked up only
};

/// Sums that a role adds to in turns, numbered as it comes to them: 0 are those of steps, the others of parts.
class SumNumbers {
public:
  explicit SumNumbers(const RoleProgram &program);

  /// Of an instruction that takes or gives a turn, or adds.
  int64_t of(const Instruction &instruction) const {
    return llvm::find(sums, instruction.sum->sum.tensor) - sums.begin();
  }
  int64_t size() const { return sums.size(); }

private:
  SmallVector<Value, 4> sums;
};

/// Prints the role as a process type of this name. What it does between two points where others could tell the
/// difference is one step of the model.
void printRole(raw_ostream &os, StringRef name, const RoleProgram &program,
               const ModelLayout &layout, const NeededNumbers &needed);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_PROMELAMODEL_H
