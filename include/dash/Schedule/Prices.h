//===- Prices.h - what operations cost on a machine -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PRICES_H
#define DASH_SCHEDULE_PRICES_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Classes of masks for kernels: those of a full mask hide no element.
enum class MaskClass { Full, Masked };

/// A file of costs (dialects/dash/docs/schedules.md): a machine's prices by head dim and class of
/// masks.
class Prices {
public:
  /// The card whose prices are taken where none is named.
  static constexpr llvm::StringLiteral defaultCard = "h200";
  /// Its prices, in microseconds, which come with the library.
  static const Prices &shipped();
  /// Those of a card that come with the library, such as h100, or null.
  static const Prices *shippedFor(StringRef card);
  /// The prices of a file, of a card, or shipped(), whichever is named. Fails with a message if
  /// both are, or if there are none of the card, or if the level is for all cards.
  static FailureOr<Prices> find(StringRef path, StringRef card, DeterminismLevel level,
                                EmitError emitError);
  /// Reads a file. Fails with a message that names the place in it.
  static FailureOr<Prices> read(StringRef path, EmitError emitError);

  /// The costs of a problem's tasks, at the least head dim that is not below the problem's, or else
  /// at the largest.
  Cost of(const Problem &problem) const { return entryOf(problem).cost; }
  /// The head dim at which these were measured.
  int64_t headDimOf(const Problem &problem) const { return entryOf(problem).headDim; }
  /// A message if that head dim is not the problem's; empty if it is.
  std::string describeUnmeasured(const Problem &problem) const;

private:
  static FailureOr<Prices> parse(StringRef path, StringRef text, EmitError emitError);

  struct Entry {
    int64_t headDim;
    MaskClass mask;
    Cost cost;
  };
  const Entry &entryOf(const Problem &problem) const;
  std::vector<Entry> entries; ///< by head dim, each with both classes
};

/// Fails if a cost is not a number that a prediction can use.
LogicalResult verifyCost(const Cost &cost, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PRICES_H
