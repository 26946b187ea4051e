//===- WarpStructure.cpp - how consumers share the tensor core ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One decision with everything that it depends on: whether a thread can hold what two steps have in
// flight. Later passes read the structure from the workers.
//
//===----------------------------------------------------------------------===//

#include "WarpStructure.h"
#include "RegisterEstimate.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dash;

/// Registers that are live at once while the products of a turn are in flight, if products overlap:
/// the carried sums, S and dP of the next step with their rows, P and dS of this one.
static int64_t countSideBySide(WalkOp walk, int64_t threads) {
  llvm::SetVector<Value> tiles;
  auto isMade = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    return op && op->getParentOp() == walk && !isa<LoadOp>(op);
  };
  for (Operation &op : walk.getBody().front()) {
    if (auto load = dyn_cast<LoadOp>(op); load && load.getResult().getType().getRank() == 1)
      tiles.insert(load.getResult());
    auto product = dyn_cast<MatmulOp>(op);
    if (product && product.getAccumulate() && isMade(product.getA()))
      tiles.insert(product.getA());
    else if (product && !isMade(product.getA()) && !isMade(product.getB()))
      tiles.insert(product.getResult());
  }
  int64_t registers = 0;
  for (Value sum : walk.getInits())
    registers += registersOf(sum, threads);
  for (Value tile : tiles)
    registers += registersOf(tile, threads);
  return registers;
}

FailureOr<WarpStructure> dash::chooseStructure(WalkOp walk, int64_t threads, StructureChoice asked,
                                               const TargetDescription &target) {
  int64_t tiles = countSideBySide(walk, threads);
  // Other roles need few registers: consumers share the block's equally.
  int64_t most = std::min(target.maxRegisters, target.registers / threads);
  // If not one register is left, copies of rows that two steps share do not fit
  // (--dash-check-resources).
  bool fits = tiles + registersForAddresses < most;
  if (asked == StructureChoice::Fitting)
    return fits ? WarpStructure::Overlapping : WarpStructure::Alternating;
  if (asked == StructureChoice::Alternating)
    return WarpStructure::Alternating;
  if (!fits)
    return walk.emitError() << "structure overlapping holds tiles of " << tiles
                            << " registers a thread side by side, and " << registersForAddresses
                            << " for addresses, but a thread has " << most
                            << ": ask for structure=alternating, or lower the rows of tiles";
  return WarpStructure::Overlapping;
}
