//===- Sizes.h - the problem that a tiled op states ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_SIZES_H
#define DASH_SCHEDULE_SIZES_H

#include "dash/IR/DashOps.h"
#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// The sizes of `sizes=q:1000+3000,kv:1000+3000,batch:1,heads:16,kv-heads:4`.
struct StatedSizes {
  SmallVector<int64_t> q, kv; ///< rows; several numbers are a list of sequences
  std::optional<int64_t> batch, heads, kvHeads;

  bool isSequenceList() const { return q.size() > 1 || kv.size() > 1; }
};

FailureOr<StatedSizes> parseSizes(StringRef text, EmitError emitError);

/// A size that nothing states, and its assumed value.
struct AssumedSize {
  StringRef key;
  int64_t value;
};

/// Adds to `sizes` what neither they nor the types of `items` state: 4096 query rows, as many key
/// rows, one sequence (an example, if lengths are known at run time only), 16 heads (or the next
/// multiple of the kv heads), as many kv heads. Returns what it added.
SmallVector<AssumedSize> assumeSizes(ItemsOp items, StatedSizes &sizes);

/// The problem of `items`: from its types and sequences if they state it, else from `sizes`. If
/// both state a size, they must agree.
FailureOr<Problem> resolveProblem(ItemsOp items, const StatedSizes &sizes, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_SIZES_H
