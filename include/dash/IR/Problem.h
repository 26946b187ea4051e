//===- Problem.h - the grid of tile tasks of a problem ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PROBLEM_H
#define DASH_IR_PROBLEM_H

#include "dash/IR/DashAttrs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dash {

/// Half-open range of tiles.
struct TileRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

/// The bounds of a union's window that show less than the band does, -1 for the others. Empty if
/// there are no such bounds: then the union hides nothing of the band.
std::optional<Band> unionWindowWithin(const Band &band, const Band &window);

/// The columns that a row sees. Row i sees column j iff -left <= j - (i + Skv - Sq) <= right, where
/// -1 means unbounded, and every rule shows (i, j). The shift by Skv - Sq aligns the last row with
/// the last column.
struct Mask {
  int64_t left = -1, right = -1;
  /// Rules that hide some of the band: whole tiles (`#dash.blocks`), or elements too
  /// (`#dash.union`).
  SmallVector<MaskRule, 1> rules = {};

  static Mask full() { return {}; }
  static Mask causal() { return {-1, 0}; }
  bool isFull() const { return left < 0 && right < 0 && rules.empty(); }
  bool isCausal() const { return left < 0 && right == 0 && rules.empty(); }
  /// Whether the active tiles of every line are contiguous.
  bool isBand() const { return rules.empty(); }
  /// The mask without its rules, and without its left bound too. Both hide no more than the mask.
  Mask band() const { return {left, right}; }
  Mask withoutLeft() const { return {-1, right}; }
  /// The edges of the band, and of what rules hide within tiles.
  Edges edges() const;
  /// The bitmap and the union among the rules, or null.
  BlocksAttr blocks() const { return rule<BlocksAttr>(); }
  UnionAttr unionRule() const { return rule<UnionAttr>(); }
  bool operator==(const Mask &other) const {
    return left == other.left && right == other.right && rules == other.rules;
  }

private:
  template <typename Rule> Rule rule() const {
    auto found = llvm::find_if(rules, llvm::IsaPred<Rule>);
    return found == rules.end() ? Rule() : cast<Rule>(*found);
  }
};

/// The active tiles of one line of the grid: the tiles of a range of which every rule leaves an
/// element. Refers to its problem's mask.
class TileSet {
public:
  /// `first` is tile 0 of the line. The next tile starts `rowStep` rows and `columnStep` columns
  /// further.
  TileSet(TileRange range, const Mask &mask, const TileElements &first, int64_t rowStep,
          int64_t columnStep)
      : range(range), rules(mask.rules), band{mask.left, mask.right}, first(first),
        rowStep(rowStep), columnStep(columnStep) {}

  bool contains(int64_t tile) const {
    return tile >= range.begin && tile < range.end && isSeen(tile);
  }
  /// Those of them that are in a range.
  TileSet within(TileRange other) const {
    TileSet set = *this;
    set.range = {std::max(range.begin, other.begin), std::min(range.end, other.end)};
    return set;
  }
  /// Number of active tiles.
  int64_t size() const;
  /// The smallest range that holds them; {0, 0} if there are none.
  TileRange hull() const;
  /// The active tiles, ascending.
  auto tiles() const {
    return llvm::make_filter_range(llvm::seq(range.begin, std::max(range.begin, range.end)),
                                   [set = *this](int64_t tile) { return set.isSeen(tile); });
  }

private:
  bool isSeen(int64_t tile) const;

  TileRange range;
  ArrayRef<MaskRule> rules;
  Band band;
  TileElements first;
  int64_t rowStep, columnStep;
};

/// Rows of the sequence in a tile of Q, dO and dQ, and in a tile of K, V, dK and dV.
struct TileShape {
  int64_t q = 64, kv = 128;
  int64_t fold = 1; ///< query heads of a tile of Q: it has so many rows for each of the sequence
  int64_t rowsOfQ() const { return q * fold; }
  bool operator==(const TileShape &other) const {
    return q == other.q && kv == other.kv && fold == other.fold;
  }
};

/// Rows of one sequence: rows attend to each other only within it.
struct SequenceLengths {
  int64_t q = 0, kv = 0;
  int64_t offset() const { return kv - q; }
  bool operator==(const SequenceLengths &other) const { return q == other.q && kv == other.kv; }
};

/// What is computed, in which tiles, and which of them an item owns. Heads are absolute; tiles
/// count from their sequence's start.
struct Problem {
  TileShape tiles;
  Mask mask;
  int64_t heads = 1, kvHeads = 1;
  int64_t headDim = 128, headDimV = 128;
  std::vector<SequenceLengths> sequences;
  TensorSide own = TensorSide::KV; ///< an item is a tile of it, and walks tiles of the other
  bool chains = true;              ///< false: items that own kv tiles have no dQ to add to
  /// Rows of the pieces into which the keys of each sequence are cut, from its start: an item that
  /// owns a q tile walks one piece. 0: they are not cut.
  int64_t cut = 0;

  /// The mask's band over tiles and elements, without its rules.
  TileBand band() const { return {{mask.left, mask.right}, tiles.q, tiles.kv}; }

  int64_t groupSize() const { return heads / kvHeads; }
  /// The query heads as items count them: those that a q tile folds are one.
  int64_t itemHeads() const { return heads / tiles.fold; }
  int64_t numSequences() const { return sequences.size(); }
  int64_t numQTiles(int64_t sequence) const {
    return llvm::divideCeil(sequences[sequence].q, tiles.q);
  }
  int64_t numKvTiles(int64_t sequence) const {
    return llvm::divideCeil(sequences[sequence].kv, tiles.kv);
  }

  /// The q tiles that have a row that sees a column of kv tile `kv`.
  TileSet activeQ(int64_t sequence, int64_t kv) const;
  /// The kv tiles that have a column that a row of q tile `q` sees.
  TileSet activeKv(int64_t sequence, int64_t q) const;

  bool ownsQ() const { return own == TensorSide::Q; }
  /// Whether something is summed across items: dQ, if items own kv tiles and compute it.
  bool hasChains() const { return !ownsQ() && chains; }
  /// How messages call items that differ in what serves them.
  std::string describeItems() const {
    return "items that own " + ownTile() + "s" + (ownsQ() || chains ? "" : " and have no dQ");
  }
  /// How messages call the tiles and heads of either side: "kv tile", "kv head", "head".
  std::string ownTile() const { return (stringifyTensorSide(own) + " tile").str(); }
  std::string walkedTile() const { return (stringifyTensorSide(otherSide(own)) + " tile").str(); }
  StringRef ownHead() const { return ownsQ() ? "head" : "kv head"; }
  StringRef walkedHead() const { return ownsQ() ? "kv head" : "head"; }
  int64_t ownHeads() const { return ownsQ() ? itemHeads() : kvHeads; }
  int64_t walkedHeads() const { return ownsQ() ? kvHeads : itemHeads(); }
  int64_t numOwnTiles(int64_t sequence) const {
    return ownsQ() ? numQTiles(sequence) : numKvTiles(sequence);
  }
  int64_t numWalkedTiles(int64_t sequence) const {
    return ownsQ() ? numKvTiles(sequence) : numQTiles(sequence);
  }
  /// The tiles that an item of tile `tile` walks, in one head.
  TileSet activeWalked(int64_t sequence, int64_t tile) const {
    return ownsQ() ? activeKv(sequence, tile) : activeQ(sequence, tile);
  }
  bool isCut() const { return cut > 0; }
  /// The pieces of a sequence's keys; 1 if they are not cut.
  int64_t numKeyPieces(int64_t sequence) const {
    return isCut() ? llvm::divideCeil(sequences[sequence].kv, cut) : 1;
  }
  TileRange tilesOfPiece(int64_t piece) const {
    return {piece * (cut / tiles.kv), (piece + 1) * (cut / tiles.kv)};
  }
  /// The same of a piece of the keys, if they are cut.
  TileSet activeWalked(int64_t sequence, int64_t tile, int64_t piece) const {
    TileSet all = activeWalked(sequence, tile);
    return isCut() ? all.within(tilesOfPiece(piece)) : all;
  }
  /// The tiles whose items walk tile `tile`.
  TileSet activeOwn(int64_t sequence, int64_t tile) const {
    return ownsQ() ? activeQ(sequence, tile) : activeKv(sequence, tile);
  }

  /// The number of (kv, q) pairs that the mask leaves active in one head of `sequence`.
  int64_t numTasksPerHead(int64_t sequence) const;
  /// The same over all heads and sequences.
  int64_t numTasks() const;
};

/// The sizes of a tensor; empty for a number, and for tensors whose sizes the problem does not
/// determine. A list of sequences has a batch of 1.
SmallVector<int64_t> shapeOfTensor(TensorRoleAttr role, const Problem &problem, bool isList);

TileShape toTileShape(TilesAttr attr);
Mask toMask(MaskAttr attr);
MaskAttr toMaskAttr(const Mask &mask, MLIRContext *context);
Problem toProblem(ProblemAttr attr);

} // namespace mlir::dash

#endif // DASH_IR_PROBLEM_H
