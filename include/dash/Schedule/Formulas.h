//===- Formulas.h - an order as piecewise affine functions -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_FORMULAS_H
#define DASH_SCHEDULE_FORMULAS_H

#include "dash/IR/DashAttrs.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// A function of tile coordinates. The first piece whose condition holds gives the value; the last
/// one has no condition. All inputs are symbols: a wave's width is computed, and MLIR only lets
/// symbols be multiplied and divided by each other.
using Piecewise = SmallVector<FormulaPiece, 2>;

/// An order that serves every size, as functions of tile coordinates.
///
/// A *group* is one (sequence, kv head, part) of a run of equal sequences, with parts fastest.
/// `width` is the number of workers that the order is made for: the bits may depend on it, but not
/// on `workers`. `first` and `last` bound the active tiles of the line: q tiles of `kv` in `visit`,
/// kv tiles of `q` in `turn`. `offset` is kv rows minus q rows. If items own q tiles, a group is
/// one (sequence, head), `item` gives a q tile, `visit` takes (q, step) and gives a kv tile, and
/// there is no `turn`.
struct Formulas {
  Piecewise item;   ///< (i, qTiles, kvTiles, groups, width, workers) -> (group, kv, unit)
  Piecewise worker; ///< (unit, workers) -> worker
  Piecewise visit;  ///< (kv, step, qTiles, kvTiles, width, first, last, offset) -> q
  Piecewise turn;   ///< (kv, q, qTiles, kvTiles, width, first, last, offset) -> turn
};

/// The piecewise function that is `values` everywhere.
Piecewise always(ArrayRef<AffineExpr> values, unsigned numInputs);
/// `then` if all `conditions` are >= 0, else `otherwise`.
Piecewise select(ArrayRef<AffineExpr> conditions, ArrayRef<AffineExpr> then,
                 const Piecewise &otherwise);
/// max(value, 0) for -bound <= value < bound, bound > 0. Affine expressions have no maximum: here a
/// quotient is 1 if the value is not negative, and 0 otherwise.
AffineExpr clampToZero(AffineExpr value, AffineExpr bound);

/// Evaluates a piecewise function over rows of points that differ only in some inputs. Everything
/// that does not depend on these is computed once for each row.
class RowEvaluator {
public:
  /// `varying`: the inputs that differ within a row.
  RowEvaluator(ArrayRef<FormulaPiece> pieces, ArrayRef<unsigned> varying);
  RowEvaluator(RowEvaluator &&) = delete; // nodes point into its buffers

  /// One input of a row: an array of n values if the input varies, else one value.
  struct Input {
    Input(int64_t uniform) : uniform(uniform) {}
    Input(const int64_t *varying) : varying(varying) {}
    int64_t uniform = 0;
    const int64_t *varying = nullptr;
  };

  /// Writes n values for each result. Fails if a divisor is not positive.
  LogicalResult evaluate(ArrayRef<Input> inputs, int64_t n, ArrayRef<int64_t *> results);

private:
  enum class Op { Constant, Input, Add, Mul, FloorDiv, CeilDiv, Mod };
  struct Node {
    Op op;
    bool varies;
    bool failed = false;           ///< a divisor was not positive
    unsigned lhs = 0, rhs = 0;     ///< nodes, or the input
    uint64_t stamp = 0;            ///< row or chunk of the value below
    int64_t value = 0;             ///< if it does not vary
    int64_t *buffer = nullptr;     ///< a chunk, if it varies and is computed
    const int64_t *data = nullptr; ///< the chunk's values, if it varies
  };
  struct Condition {
    unsigned node;
    bool isEquality;
  };
  struct Case {
    SmallVector<Condition, 2> conditions;
    SmallVector<unsigned, 3> values;
  };

  unsigned addNode(AffineExpr expr, ArrayRef<unsigned> varying,
                   llvm::DenseMap<AffineExpr, unsigned> &known);
  const Node &evaluate(unsigned index);
  void computeUniform(Node &node);
  void computeChunk(Node &node);
  LogicalResult selectCase(const Case &c, MutableArrayRef<int64_t *> results);

  static constexpr int64_t chunkSize = 512;
  SmallVector<Node> nodes;
  SmallVector<Case, 2> cases;
  SmallVector<int64_t, 0> buffers;
  // The current chunk.
  int64_t chunkLength = 0, numOpen = 0;
  uint64_t row = 0, chunk = 0;
  SmallVector<char, 0> open;    ///< points that no case has matched yet
  SmallVector<char, 0> matches; ///< points that the current case matches
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_FORMULAS_H
