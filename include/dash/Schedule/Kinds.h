//===- Kinds.h - the schedules that can be built ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_KINDS_H
#define DASH_SCHEDULE_KINDS_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// A way to order any problem. Each file in lib/Schedule/Kinds defines one; the build finds it by
/// its file name (dialects/dash/docs/add-a-schedule.md).
struct ScheduleKind {
  StringRef name;    ///< as `kind=` spells it
  StringRef summary; ///< one sentence, for error messages and reports
  /// Makes the order. Serves every problem that `header` can state and whose side it serves, or
  /// fails with the reason and a note on what would work. The caller verifies the result.
  FailureOr<Order> (*build)(const ScheduleHeader &header, MLIRContext *context,
                            EmitError emitError);
  /// One sentence for --dash-explain: how well the kind suits a mask. May be null.
  StringRef (*purpose)(const Mask &mask) = nullptr;
  /// It searches, which takes time. --dash-explain names it, and builds it only to state the cost
  /// of this order's level.
  bool isSearched = false;
  /// Its orders are not deterministic: they are neither chosen nor recommended unless requested.
  bool isUnordered = false;
  /// The summary where items own q tiles. A kind without one refuses them.
  StringRef summaryOfQ = {};
  /// `auto` may take it, and reports compare with it, where something is summed across items.
  bool isChosenWithChains = true;
  /// Its items come by their lengths. Where nothing is summed across them, a table deals each to
  /// the worker that is free first, which no formula says.
  bool isByLength = false;
  /// Whatever the sizes, its items wait for none but those that are issued earlier, and within a
  /// sequence their issue order balances. So lists of it may be dealt by work
  /// (`--dash-deal-items`).
  bool isDealt = false;

  bool serves(const Problem &problem) const {
    return problem.ownsQ() ? !summaryOfQ.empty() : problem.chains || !isUnordered;
  }
  /// Where no name is given. Without chains, kinds that serve both sides walk first to last, so the
  /// bits follow from none of them.
  bool isChosen(const Problem &problem) const {
    return !isUnordered && (problem.hasChains() ? isChosenWithChains : !summaryOfQ.empty());
  }
  StringRef summaryOf(TensorSide own) const { return own == TensorSide::Q ? summaryOfQ : summary; }
};

/// All kinds, by name.
ArrayRef<const ScheduleKind *> scheduleKinds();

/// The names of those that serve the problem's items, as a message lists them.
std::string namesOfKinds(const Problem &problem);

/// The kind called `name`, or null.
const ScheduleKind *findScheduleKind(StringRef name);

/// The deterministic kinds with formulas for the mask of `header`, whatever its kind. Emits no
/// errors.
SmallVector<StringRef> kindsWithFormulas(ScheduleHeader header, MLIRContext *context);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_KINDS_H
