//===- TileSplits.h - which warpgroup has which part of a tile -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products say how warpgroups split them; every other tile of a role follows.
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_TILESPLITS_H
#define DASH_IR_TILESPLITS_H

#include "dash/IR/DashOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// Whether a factor that a role computes in the split `made` has to cross from warpgroup to
/// warpgroup, through slots, before a product that is split as `product` can read it.
bool needsExchange(SplitAttr made, SplitAttr product, bool isLeft, bool isTransposed);

/// The splits of the tiles that threads of a role hold. Element-wise work leaves a tile where it
/// is, and so do loops and branches; what a channel holds is split as what is put there.
class TileSplits {
public:
  /// Reads the products of `root`, a role or what is not yet split among roles; an error where one
  /// has no split.
  static FailureOr<TileSplits> read(Operation *root);

  /// Null for a tile that no product has to do with.
  SplitAttr lookup(Value tile) const { return splits.lookup(find(tile)); }
  /// Whether a factor of a product has to cross: it is computed by the role, and not where it is
  /// read.
  bool needsExchange(MatmulOp product, OpOperand &factor) const;

private:
  Value find(Value tile) const;
  void join(Value one, Value other);
  void join(Operation *op);
  void split(Value tile, SplitAttr split);
  LogicalResult split(MatmulOp product);

  llvm::DenseMap<Value, Value> parents;    // looked up only
  llvm::DenseMap<Value, SplitAttr> splits; // looked up only
};

} // namespace mlir::dash

#endif // DASH_IR_TILESPLITS_H
