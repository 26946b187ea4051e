//===- PromelaModel.cpp - the worker in a Promela model -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PromelaModel.h"
#include "dash/IR/Consumers.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dash;

ModelLayout::ModelLayout(WorkersOp workers) {
  for (RoleOp role : workers.getRoles())
    rowParts = std::lcm(rowParts, int64_t(role.getWarpgroups().value_or(1)));
  multiplying = std::max(multiplying, getNumMultiplying(workers));
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
    cells += channel.depth * channel.cellsOfSlot(rowParts);
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
        if (instruction.place)
          need(program, instruction.place->use);
        if (instruction.sum)
          need(program, instruction.memory);
        switch (instruction.opcode) {
        case Opcode::ComputeTile:
          continue;
        case Opcode::Copy:
          for (auto [source, target] : llvm::zip_equal(instruction.in, instruction.out))
            if (isRegister(program, target))
              need(program, source);
          continue;
        case Opcode::Access:
          for (const SlotIndex &index : instruction.access->indices)
            if (index.isTold) // already known
              continue;
            else if (int64_t word = layout.wordOf(*instruction.place, index.number);
                     instruction.access->kind == AccessKind::Read)
              grows |=
                  isRegister(program, instruction.out[index.number]) && words.insert(word).second;
            else if (isWord(word))
              need(program, instruction.in[index.number]);
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
    if (instruction.opcode == Opcode::Turn)
      if (Value sum = instruction.sum->sum.tensor; !llvm::is_contained(sums, sum))
        sums.push_back(sum);
}
