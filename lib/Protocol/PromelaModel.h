//===- PromelaModel.h - the worker in a Promela model -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_PROMELAMODEL_H
#define DASH_LIB_PROTOCOL_PROMELAMODEL_H

#include "RoleProgram.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// Whether its results are an expression of its operands.
inline bool isPure(Opcode opcode) { return opcode <= Opcode::Select || opcode == Opcode::Ring; }

/// The positions of a worker's slots, and of their contents, in the model's arrays.
class ModelLayout {
public:
  explicit ModelLayout(WorkersOp workers);

  struct Channel {
    ChannelOp op;
    int64_t slot = 0, cell = 0, word = 0; ///< first index of each
    int64_t depth = 1, elements = 1;

    /// A slot's cells: for each element, one cell for each part by rows.
    int64_t cellsOfSlot(int64_t rowParts) const { return elements * rowParts; }
  };
  /// The word that holds an index in the channel's first slot.
  int64_t wordOf(const SlotPlace &place, size_t index) const {
    return channels[place.channel].word + index;
  }
  SmallVector<Channel> channels;
  /// Parts of a tile by rows: the warpgroups of each consumer have as many each.
  int64_t rowParts = 1;
  int64_t multiplying = 1; ///< warpgroups of all consumers, to which the tensor core is given
  int64_t slots = 0, cells = 0, words = 0;
};

/// The numbers that a model needs: those that decide a role's path, its uses and its tiles.
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

/// Sums that a role adds to in turns, in the order in which it reaches them: 0 for those of steps,
/// others for parts.
class SumNumbers {
public:
  explicit SumNumbers(const RoleProgram &program);

  /// The number for an instruction that takes or passes on a turn, or adds.
  int64_t of(const Instruction &instruction) const {
    return llvm::find(sums, instruction.sum->sum.tensor) - sums.begin();
  }
  int64_t size() const { return sums.size(); }

private:
  SmallVector<Value, 4> sums;
};

/// Prints the role as a process type of this name. Everything between two points that other
/// processes can observe is one step of the model.
void printRole(raw_ostream &os, StringRef name, const RoleProgram &program,
               const ModelLayout &layout, const NeededNumbers &needed);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_PROMELAMODEL_H
