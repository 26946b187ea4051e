//===- ProtocolTiles.cpp - tiles that must match --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each role finds its tiles by itself: the roles that load Q, add to dQ, or receive headers read
// the order separately. The contents of a slot state their tile of memory, so a role that computes
// with two tiles checks that they agree.
//
//===----------------------------------------------------------------------===//

#include "ProtocolRun.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

/// The contents of a slot as one role sees them: several warpgroups may have written it.
FailureOr<TileOrigin> ProtocolRun::originIn(Process &process, const Instruction &instruction) {
  TileOrigin origin;
  for (const SlotPart &part : partsOf(process, *instruction.place))
    if (failed(meet(instruction.op, origin, origins.get(part.origin))))
      return failure();
  return origin;
}

/// Follows a tile into a slot, or out of one: to registers, to a product, or to memory.
LogicalResult ProtocolRun::followTile(Process &process, const Instruction &instruction) {
  auto number = [&](unsigned i) { return process.registers[instruction.memory[i]]; };
  auto inMemory = [&] { return MemoryTile{number(0), number(1), number(2)}; };
  bool isOfTask = instruction.access->memory.isOfTask();
  auto ofKeys = [&] { return MemoryTile{number(0), number(3), number(4)}; };
  bool isOfMemory = bool(instruction.access->memory);
  if (instruction.tiles.empty() && !isOfMemory) // of indices
    return success();
  if (instruction.access->kind == AccessKind::Write) {
    int64_t origin = isOfTask     ? origins.add({ofKeys(), inMemory()})
                     : isOfMemory ? origins.add({inMemory(), std::nullopt})
                                  : process.registers[instruction.tiles.front()];
    for (SlotPart &part : partsOf(process, *instruction.place))
      part.origin = origin;
    return success();
  }
  FailureOr<TileOrigin> origin = originIn(process, instruction);
  if (failed(origin))
    return failure();
  if (isOfTask)
    return failure(failed(verifyRows(instruction.op, *origin, ofKeys())) ||
                   failed(verifyRows(instruction.op, origin->transposed(true), inMemory())));
  if (isOfMemory)
    return verifyRows(instruction.op, *origin, inMemory());
  process.registers[instruction.tiles.front()] = origins.add(*origin);
  return success();
}

LogicalResult ProtocolRun::computeTile(Process &process, const Instruction &instruction) {
  Operation *op = instruction.op;
  SmallVector<TileOrigin, 4> operands;
  auto told = [&](OpOperand &operand) {
    return process.registers[instruction.tiles[operand.getOperandNumber()]];
  };
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), instruction.tiles))
    operands.push_back(isa<RankedTensorType>(operand.getType())
                           ? origins.get(process.registers[number])
                           : TileOrigin());
  FailureOr<TileOrigin> origin = originOf(op, operands);
  if (failed(origin))
    return failure();
  for (auto [result, number] : llvm::zip_equal(op->getResults(), instruction.out))
    process.registers[number] =
        origins.add(isPerRow(result.getType()) ? TileOrigin{origin->rows, std::nullopt} : *origin);
  if (auto store = dyn_cast<StoreRowOp>(op)) {
    int64_t head = told(store.getHeadMutable());
    // What pieces of the keys make goes to the heads of a piece: here each of them is the one head.
    TensorRoleAttr role = roleOf(store.getTarget());
    if (role && role.getAccess() == TensorAccess::Sum && origin->rows)
      head = origin->rows->head;
    return verifyRows(op, *origin,
                      {told(store.getSequenceMutable()), head, told(store.getTileMutable())});
  }
  auto hide = dyn_cast<HideOp>(op);
  if (!hide)
    return success();
  std::optional<int64_t> sequence;
  for (OpOperand &operand : hide.getSequenceMutable())
    sequence = told(operand);
  return verifyTold(op, origin->transposed(hide.getQRows()), told(hide.getKvTileMutable()),
                    sequence);
}
