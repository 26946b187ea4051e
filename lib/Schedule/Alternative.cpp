//===- Alternative.cpp - another order of a problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Alternative.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/Verify.h"

using namespace mlir;
using namespace mlir::dash;

std::optional<Alternative> dash::buildAlternative(ScheduleHeader header, MLIRContext *context,
                                                  Location loc) {
  // What another order cannot do is its own affair, and no error of this module.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(loc); };
  FailureOr<Schedule> built =
      buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
  if (failed(built))
    return std::nullopt;
  FailureOr<ScheduleFacts> proof = verify(*built, emitError);
  if (failed(proof))
    return std::nullopt;
  return Alternative{built->kind, proof->makespan};
}
