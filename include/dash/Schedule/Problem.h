//===- Problem.h - the grid of tile tasks that a schedule orders -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PROBLEM_H
#define DASH_SCHEDULE_PROBLEM_H

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace mlir::dash {

/// Half-open range of tiles.
struct TileRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

/// Which columns a row sees: row i sees column j iff -left <= j - (i + Skv - Sq) <= right, where -1
/// means unbounded. The shift by Skv - Sq aligns the last row with the last column.
struct Mask {
  int64_t left = -1, right = -1;

  static Mask full() { return {-1, -1}; }
  static Mask causal() { return {-1, 0}; }
  bool isFull() const { return left < 0 && right < 0; }
  bool isCausal() const { return left < 0 && right == 0; }
  bool operator==(const Mask &other) const { return left == other.left && right == other.right; }
};

/// Rows of one tile of Q, dO, dQ and of K, V, dK, dV.
struct TileShape {
  int64_t q = 64, kv = 128;
  bool operator==(const TileShape &other) const { return q == other.q && kv == other.kv; }
};

/// Rows of one sequence: rows attend to each other only within it.
struct SequenceLengths {
  int64_t q = 0, kv = 0;
  bool operator==(const SequenceLengths &other) const { return q == other.q && kv == other.kv; }
};

/// What a schedule is made for. Heads are absolute; tiles count from their sequence's start.
struct Problem {
  TileShape tiles;
  Mask mask;
  int64_t heads = 1, kvHeads = 1;
  int64_t headDim = 128, headDimV = 128;
  std::vector<SequenceLengths> sequences;

  int64_t groupSize() const { return heads / kvHeads; }
  int64_t numSequences() const { return sequences.size(); }
  int64_t numQTiles(int64_t sequence) const {
    return llvm::divideCeil(sequences[sequence].q, tiles.q);
  }
  int64_t numKvTiles(int64_t sequence) const {
    return llvm::divideCeil(sequences[sequence].kv, tiles.kv);
  }

  /// The q tiles of which at least one row sees a column of kv tile `kv`.
  TileRange activeQ(int64_t sequence, int64_t kv) const;
  /// The kv tiles of which at least one column is seen by a row of q tile `q`.
  TileRange activeKv(int64_t sequence, int64_t q) const;

  /// Number of (kv, q) pairs that the mask leaves active in one head of `sequence`.
  int64_t numTasksPerHead(int64_t sequence) const;
  /// The same over all heads and sequences.
  int64_t numTasks() const;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PROBLEM_H
