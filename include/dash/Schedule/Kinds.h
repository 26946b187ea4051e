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
  /// Makes the order. Serves every problem that `header` can state, or says why not, with a note on
  /// what would; the caller verifies what it gets.
  FailureOr<Order> (*build)(const ScheduleHeader &header, MLIRContext *context,
                            EmitError emitError);
  /// What it does well, or badly, on a mask: one sentence for --dash-explain. May be null.
  StringRef (*purpose)(const Mask &mask) = nullptr;
  /// It searches, which takes time: --dash-explain names it, and builds it only to say what
  /// the level of an order of this kind costs.
  bool isSearched = false;
  /// Its orders are not deterministic: nobody is given or advised one without asking for it.
  bool isUnordered = false;
};

/// All kinds, by name.
ArrayRef<const ScheduleKind *> scheduleKinds();

/// The kind called `name`, or null.
const ScheduleKind *findScheduleKind(StringRef name);

/// Those that are formulas on the mask of `header`, and deterministic. Its kind does not matter. Says nothing of errors.
SmallVector<StringRef> kindsWithFormulas(ScheduleHeader header, MLIRContext *context);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_KINDS_H
