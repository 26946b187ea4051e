//===- Prices.h - what operations cost on a machine -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PRICES_H
#define DASH_SCHEDULE_PRICES_H

#include "dash/IR/DashOps.h"
#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Classes of masks for kernels: those of a full mask hide no element.
enum class MaskClass { Full, Masked };

/// What a function computes, as a file of costs names it.
enum class Priced {
  Whole,   ///< all gradients, or a part of them with dQ
  OfKv,    ///< "dk dv": gradients without dQ
  OfQ,     ///< "dq": dQ alone, by items that own q tiles
  OfDs,    ///< "dq of ds": the same of a given dS; dq's where there is none
  Forward, ///< "forward": O and the LSE, by items that own q tiles
};

/// What items compute. `problem` is theirs.
Priced findPriced(ItemsOp items, const Problem &problem);

/// A file of costs (dialects/dash/docs/schedules.md): a machine's prices by program, head dims and
/// class of masks.
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
  /// at the largest. Those of a part are taken from the file's own of this part, if it has them for
  /// head dims that are not below.
  Cost of(const Problem &problem, Priced program) const { return entryOf(problem, program).cost; }
  /// The head dim at which these were measured.
  int64_t headDimOf(const Problem &problem) const {
    return entryOf(problem, Priced::Whole).headDim;
  }
  /// A message if these are of another program, or of other head dims; empty if they are not.
  std::string describeUnmeasured(const Problem &problem, Priced program) const;

private:
  static FailureOr<Prices> parse(StringRef path, StringRef text, EmitError emitError);

  struct Entry {
    Priced program;
    int64_t headDim, headDimV;
    MaskClass mask;
    Cost cost;

    auto key() const { return std::tuple(program, headDim, headDimV); }
  };
  const Entry &entryOf(const Problem &problem, Priced program) const;
  std::vector<Entry> entries; ///< by program and head dims, each with both classes
};

/// Fails if a cost is not a number that a prediction can use.
LogicalResult verifyCost(const Cost &cost, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PRICES_H
