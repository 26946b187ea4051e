//===- Problem.cpp - the grid of tile tasks of a problem ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A band leaves one range of a line's tiles active; rules leave some of these.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/Problem.h"
#include "dash/IR/TaskTiles.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

Edges Mask::edges() const {
  Edges edges;
  edges.band = {left, right};
  for (MaskRule rule : rules)
    rule.narrow(edges);
  return edges;
}

bool TileSet::isSeen(int64_t tile) const {
  TileElements elements = first;
  elements.row += tile * rowStep;
  elements.column += tile * columnStep;
  return llvm::all_of(rules, [&](MaskRule rule) { return rule.leaves(band, elements); });
}

int64_t TileSet::size() const {
  return rules.empty() ? range.size() : llvm::count_if(tiles(), [](int64_t) { return true; });
}

TileRange TileSet::hull() const {
  TileRange hull = range;
  while (hull.size() > 0 && !isSeen(hull.begin))
    ++hull.begin;
  while (hull.size() > 0 && !isSeen(hull.end - 1))
    --hull.end;
  return hull.size() > 0 ? hull : TileRange();
}

/// The tiles of a line within bounds.
static TileRange tilesWithin(const Bounds<int64_t> &bounds, int64_t numTiles) {
  TileRange range;
  range.begin = std::max<int64_t>(bounds.first.value_or(0), 0);
  range.end = std::min(bounds.last.value_or(numTiles - 1) + 1, numTiles);
  return range.size() > 0 ? range : TileRange();
}

TileSet Problem::activeQ(int64_t sequence, int64_t kv) const {
  int64_t offset = sequences[sequence].offset();
  return TileSet(tilesWithin(band().activeQ(kv, offset), numQTiles(sequence)), mask,
                 {/*row=*/0, tiles.q, kv * tiles.kv, tiles.kv, offset}, /*rowStep=*/tiles.q,
                 /*columnStep=*/0);
}

TileSet Problem::activeKv(int64_t sequence, int64_t q) const {
  int64_t offset = sequences[sequence].offset();
  return TileSet(tilesWithin(band().activeKv(q, offset), numKvTiles(sequence)), mask,
                 {q * tiles.q, tiles.q, /*column=*/0, tiles.kv, offset}, /*rowStep=*/0,
                 /*columnStep=*/tiles.kv);
}

int64_t Problem::numTasksPerHead(int64_t sequence) const {
  int64_t tasks = 0;
  for (int64_t kv = 0, e = numKvTiles(sequence); kv < e; ++kv)
    tasks += activeQ(sequence, kv).size();
  return tasks;
}

int64_t Problem::numTasks() const {
  int64_t tasks = 0, perHead = 0;
  for (int64_t s = 0, e = numSequences(); s < e; ++s) {
    // A batch is a run of equal sequences: count one of them.
    if (s == 0 || !(sequences[s] == sequences[s - 1]))
      perHead = numTasksPerHead(s);
    tasks += perHead * itemHeads();
  }
  return tasks;
}

SmallVector<int64_t> dash::shapeOfTensor(TensorRoleAttr role, const Problem &problem, bool isList) {
  bool isKv = role.isKeyValue();
  int64_t heads = isKv ? problem.kvHeads : problem.heads;
  if (role.getKind() == TensorKind::Head)
    return {heads};
  if (role.getKind() == TensorKind::SequenceHead)
    return {problem.numSequences(), heads};
  if (role.getKind() == TensorKind::Tasks && !isList) {
    SequenceLengths rows = problem.sequences.front();
    return {countTaskTiles(problem.numSequences(), problem.heads, rows.q, rows.kv),
            numbersOfTaskTile};
  }
  if (!role.isTile() && !role.isPerRow())
    return {};
  int64_t batch = isList ? 1 : problem.numSequences(), rows = 0;
  for (const SequenceLengths &lengths : problem.sequences) {
    int64_t sequenceRows = isKv ? lengths.kv : lengths.q;
    rows = isList ? rows + sequenceRows : sequenceRows;
  }
  SmallVector<int64_t> shape = {batch, heads, rows};
  if (role.isTile())
    shape.push_back(role.getColumns());
  return shape;
}

//===----------------------------------------------------------------------===//
// In and out of attributes
//===----------------------------------------------------------------------===//

MaskAttr dash::toMaskAttr(const Mask &mask, MLIRContext *context) {
  return MaskAttr::get(context, mask.left, mask.right, mask.rules);
}

Mask dash::toMask(MaskAttr attr) {
  return {attr.getLeft(), attr.getRight(), llvm::to_vector<1>(attr.getRules())};
}

TileShape dash::toTileShape(TilesAttr attr) { return {attr.getQ(), attr.getKv(), attr.getFold()}; }

Problem dash::toProblem(ProblemAttr attr) {
  Problem problem;
  problem.tiles = toTileShape(attr.getTiles());
  problem.mask = toMask(attr.getMask());
  problem.heads = attr.getHeads();
  problem.kvHeads = attr.getKvHeads();
  problem.headDim = attr.getHeadDim();
  problem.headDimV = attr.getHeadDimV();
  problem.own = attr.getOwn();
  problem.chains = attr.getChains();
  problem.cut = attr.getCut();
  SequencesAttr sequences = attr.getSequences();
  for (auto [q, kv] : llvm::zip_equal(sequences.getQ(), sequences.getKv()))
    problem.sequences.push_back({q, kv});
  return problem;
}
