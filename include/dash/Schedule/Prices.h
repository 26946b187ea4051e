//===- Prices.h - what a machine takes for what -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PRICES_H
#define DASH_SCHEDULE_PRICES_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Kernels by what their masks ask of them: those of a full mask hide no element.
enum class MaskClass { Full, Masked };

/// A file of costs (dialects/dash/docs/schedules.md): a machine's prices by head dim and class of masks.
class Prices {
public:
  /// Those of an H200, in microseconds, which come with the library.
  static const Prices &shipped();
  /// Of a file. Fails with a message that names the place in it.
  static FailureOr<Prices> read(StringRef path, EmitError emitError);

  /// The costs of a problem's tasks, by the least head dim that is not below its own, or else the largest.
  Cost of(const Problem &problem) const { return find(problem).cost; }
  /// The head dim that those were measured with.
  int64_t headDimOf(const Problem &problem) const { return find(problem).headDim; }
  /// Says so where that is not the problem's; empty where it is.
  std::string describeUnmeasured(const Problem &problem) const;

private:
  static FailureOr<Prices> parse(StringRef path, StringRef text, EmitError emitError);

  struct Entry {
    int64_t headDim;
    MaskClass mask;
    Cost cost;
  };
  const Entry &find(const Problem &problem) const;
  std::vector<Entry> entries; ///< by head dim, of each both classes
};

/// Fails where a cost is no number that a prediction could be made with.
LogicalResult verifyCost(const Cost &cost, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PRICES_H
