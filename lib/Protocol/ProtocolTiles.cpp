//===- ProtocolTiles.cpp - tiles that belong together ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each role finds its tiles by itself: who loads Q, who adds to dQ and who is told what to do read the order apart. What a
// slot holds says which tile of memory it is, and whoever computes with two of them sees whether they agree.
//
//===----------------------------------------------------------------------===//

#include "ProtocolRun.h"

using namespace mlir;
using namespace mlir::dash;

/// What is in a slot, for one role: warpgroups may have written it together.
FailureOr<TileOrigin> ProtocolRun::originIn(Process &process, const Instruction &instruction,
                                            const SlotPlace &place) {
  TileOrigin origin;
  for (const SlotPart &part : partsOf(process, place))
    if (failed(meet(instruction.op, origin, origins.get(part.origin))))
      return failure();
  return origin;
}

/// Into a slot, and out of one: to registers, or to memory.
LogicalResult ProtocolRun::followTile(Process &process, const Instruction &instruction) {
  const SlotPlace &place = instruction.places.front();
  auto fill = [&](int64_t origin) {
    for (SlotPart &part : partsOf(process, place))
      part.origin = origin;
    return success();
  };
  auto inMemory = [&](ArrayRef<unsigned> numbers) {
    auto &registers = process.registers;
    return MemoryTile{registers[numbers[0]], registers[numbers[1]], registers[numbers[2]]};
  };
  switch (instruction.opcode) {
  case Opcode::CopyIn:
    return fill(origins.add({inMemory(instruction.tiles), std::nullopt}));
  case Opcode::StoreFragment:
    return fill(process.registers[instruction.tiles.front()]);
  case Opcode::LoadRow:
  case Opcode::CopyOut:
  case Opcode::AddTile: {
    FailureOr<TileOrigin> origin = originIn(process, instruction, place);
    if (failed(origin))
      return failure();
    if (instruction.opcode == Opcode::LoadRow) {
      process.registers[instruction.tiles.front()] = origins.add(*origin);
      return success();
    }
    bool isOut = instruction.opcode == Opcode::CopyOut;
    return verifyRows(instruction.op, *origin,
                      inMemory(isOut ? instruction.tiles : instruction.in));
  }
  default:
    return success();
  }
}

LogicalResult ProtocolRun::computeTile(Process &process, const Instruction &instruction) {
  Operation *op = instruction.op;
  const SlotPlace *place = instruction.places.begin();
  SmallVector<TileOrigin, 4> operands;
  for (auto [operand, number] : llvm::zip(op->getOperands(), instruction.tiles)) {
    auto tile = dyn_cast<RankedTensorType>(operand.getType());
    if (!tile) {
      operands.emplace_back();
    } else if (isa_and_present<SwizzledAttr>(tile.getEncoding())) { // a factor, where it lies
      FailureOr<TileOrigin> origin = originIn(process, instruction, *place++);
      if (failed(origin))
        return failure();
      operands.push_back(*origin);
    } else {
      operands.push_back(origins.get(process.registers[number]));
    }
  }
  FailureOr<TileOrigin> result = originOfResult(op, operands);
  if (failed(result))
    return failure();
  process.registers[instruction.tiles.back()] = origins.add(*result);
  auto hide = dyn_cast<HideOp>(op);
  if (!hide)
    return success();
  // Its operands are the value, the lead, the kv tile, and the sequence of a list.
  auto told = [&](unsigned operand) { return process.registers[instruction.tiles[operand]]; };
  return verifyTold(op, *result, told(2),
                    hide.getSequence() ? std::optional(told(3)) : std::nullopt);
}
