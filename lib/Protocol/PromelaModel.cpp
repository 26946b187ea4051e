//===- PromelaModel.cpp - what a model of Promela has of a worker ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PromelaModel.h"

using namespace mlir;
using namespace mlir::dash;

ModelLayout::ModelLayout(WorkersOp workers) {
  for (RoleOp role : workers.getRoles())
    warpgroups = std::max<int64_t>(warpgroups, role.getWarpgroups().value_or(1));
  for (ChannelOp op : workers.getChannels()) {
    int64_t indices = op.getType().getNumIndices();
    Channel channel{op,
                    slots,
                    cells,
                    words,
                    int64_t(op.getDepth()),
                    op.getType().getNumTiles() + (indices > 0)};
    channels.push_back(channel);
    slots += channel.depth;
    cells += channel.depth * channel.cellsOfSlot(warpgroups);
    words += channel.depth * indices;
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

NeededNumbers::NeededNumbers(ArrayRef<RoleProgram> programs, const ModelLayout &layout) {
  bool grows = true;
  auto need = [&](const RoleProgram &program, ArrayRef<unsigned> numbers) {
    for (unsigned number : numbers)
      grows |= registers.insert({&program, number}).second;
  };
  while (std::exchange(grows, false))
    for (const RoleProgram &program : programs)
      for (const Instruction &instruction : program.code) {
        for (const SlotPlace &place : instruction.places)
          need(program, place.use);
        switch (instruction.opcode) {
        case Opcode::WaitProducts: // waits for sums, not for numbers
        case Opcode::ReadAgain:    // knows them
        case Opcode::ComputeTile:
          continue;
        case Opcode::Copy:
          for (auto [source, target] : llvm::zip_equal(instruction.in, instruction.out))
            if (isRegister(program, target))
              need(program, source);
          continue;
        case Opcode::WriteIndices:
          for (auto [i, source] : llvm::enumerate(instruction.in))
            if (isWord(layout.wordOf(instruction.places.front(), i)))
              need(program, source);
          continue;
        case Opcode::ReadIndices:
          for (auto [i, target] : llvm::enumerate(instruction.out))
            if (isRegister(program, target))
              grows |= words.insert(layout.wordOf(instruction.places.front(), i)).second;
          continue;
        default:
          bool isNumber = isPure(instruction.opcode);
          if (!isNumber ||
              llvm::any_of(instruction.out, [&](unsigned out) { return isRegister(program, out); }))
            need(program, instruction.in);
        }
      }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SumNumbers::SumNumbers(const RoleProgram &program) {
  for (const Instruction &instruction : program.code)
    if (instruction.opcode == Opcode::AcquireTurn || instruction.opcode == Opcode::ReleaseTurn)
      if (Value sum = instruction.op->getOperand(0); !llvm::is_contained(sums, sum))
        sums.push_back(sum);
}
