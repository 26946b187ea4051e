//===- TaskLoops.cpp - tiles of tasks in the memory of another program ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles lie where kernels have them (dash/IR/TaskTiles.h), and their numbers row after row.
//
//===----------------------------------------------------------------------===//

#include "ItemsLowering.h"
#include "Visibility.h"
#include "dash/IR/TaskTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dash;

/// The number of the first tile of a task; a q tile of the items has several.
Value ItemsLowering::numberOfTask(Value sequence, Value head, Value qTile, Value kvTile) {
  const Problem &problem = schedule.problem;
  SequenceLengths rows = problem.sequences.front();
  int64_t kvTiles = llvm::divideCeil(rows.kv, rowsOfTaskTile);
  int64_t qTiles = qTilesOfTasks * llvm::divideCeil(rows.q, qTilesOfTasks * rowsOfTaskTile);
  Value line =
      b.add(b.mul(b.add(b.mul(sequence, b.index(problem.heads)), head), b.index(kvTiles)), kvTile);
  Value first = b.mul(qTile, b.index(problem.tiles.q / rowsOfTaskTile));
  return b.add(b.add(b.mul(line, b.index(qTiles)), first), b.index(1));
}

void ItemsLowering::lowerTask(LoadOp op) {
  const Problem &problem = schedule.problem;
  SequenceLengths rows = problem.sequences.front();
  Value qTile = lookup(op.getTile()), kvTile = lookup(op.getOther()[1]);
  Value first = numberOfTask(lookup(op.getSequence()), lookup(op.getHead()), qTile, kvTile);
  Value source = lookup(op.getSource()), tile = tiles[op.getResult()] = allocateFor(op.getResult());
  Value zero = b.f32(0), qRows = b.index(rows.q), kvRows = b.index(rows.kv);
  for (int64_t part : llvm::seq(problem.tiles.q / rowsOfTaskTile)) {
    int64_t column = part * rowsOfTaskTile;
    // Without a left side, the last of 64 rows sees what any of them sees.
    Value lastRow =
        b.add(b.mul(qTile, b.index(problem.tiles.q)), b.index(column + rowsOfTaskTile - 1));
    Value isSeen = isVisible(b, op.getMask()->getEdges(), b.min(lastRow, b.sub(qRows, b.index(1))),
                             b.mul(kvTile, b.index(rowsOfTaskTile)), qRows, kvRows);
    forEachNumber([&](Value i, Value j, Value at) {
      Value number = b.toF32(b.load(source, {b.add(first, b.index(part)), at}));
      Value shown = arith::SelectOp::create(b, isSeen, number, zero);
      b.store(shown, tile, {i, b.add(j, b.index(column))});
    });
  }
}

void ItemsLowering::lowerTask(StoreTaskOp op) {
  Value number = numberOfTask(lookup(op.getSequence()), lookup(op.getHead()), lookup(op.getTile()),
                              lookup(op.getKvTile()));
  Value target = lookup(op.getTarget()), tile = bufferOf(op.getValue());
  Type element = op.getTarget().getType().getElementType();
  forEachNumber([&](Value i, Value j, Value at) {
    b.store(b.roundTo(element, b.load(tile, {i, j})), target, {number, at});
  });
}

/// Runs `body` on a row, a column, and the place in the tile.
void ItemsLowering::forEachNumber(llvm::function_ref<void(Value, Value, Value)> body) {
  b.forEach(rowsOfTaskTile, [&](Value i) {
    b.forEach(rowsOfTaskTile,
              [&](Value j) { body(i, j, b.add(b.mul(i, b.index(rowsOfTaskTile)), j)); });
  });
}
