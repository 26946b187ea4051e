//===- Kinds.cpp - the schedules that can be built ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Kinds.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

namespace mlir::dash::kinds {
// One line per file in Kinds/, written by CMake, in alphabetical order.
#define DASH_SCHEDULE_KIND(Name) extern const ScheduleKind Name;
#include "ScheduleKinds.inc"
#undef DASH_SCHEDULE_KIND
} // namespace mlir::dash::kinds

ArrayRef<const ScheduleKind *> dash::scheduleKinds() {
  static const ScheduleKind *const all[] = {
#define DASH_SCHEDULE_KIND(Name) &kinds::Name,
#include "ScheduleKinds.inc"
#undef DASH_SCHEDULE_KIND
  };
  return all;
}

std::string dash::namesOfKinds(const Problem &problem) {
  std::string names;
  for (const ScheduleKind *kind : scheduleKinds())
    if (kind->serves(problem))
      names += (names.empty() ? "" : ", ") + kind->name.str();
  return names;
}

const ScheduleKind *dash::findScheduleKind(StringRef name) {
  auto *found = llvm::find_if(scheduleKinds(), [&](auto *kind) { return kind->name == name; });
  return found == scheduleKinds().end() ? nullptr : *found;
}

SmallVector<StringRef> dash::kindsWithFormulas(ScheduleHeader header, MLIRContext *context) {
  // What a kind cannot do is not an error of the caller.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  SmallVector<StringRef> found;
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (kind->isSearched || !kind->isChosen(header.problem))
      continue;
    header.kind = kind->name.str();
    FailureOr<Order> order = kind->build(header, context, emitError);
    if (succeeded(order) && std::holds_alternative<Formulas>(*order))
      found.push_back(kind->name);
  }
  return found;
}
