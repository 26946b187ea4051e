//===- BuildSchedule.cpp - the requested schedule -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/ChooseParts.h"

using namespace mlir;
using namespace mlir::dash;

FailureOr<ProvenOrder> dash::buildSchedule(ScheduleHeader header, bool asFormulas,
                                           MLIRContext *context, EmitError emitError) {
  if (failed(verifyWithinLimits(header, emitError)))
    return failure();
  const ScheduleKind *kind = findScheduleKind(header.kind);
  bool looksAtSizes = header.kind == autoKind || (kind && kind->isSearched);
  if (asFormulas || !looksAtSizes || !header.problem.hasChains())
    header.parts = std::max<int64_t>(header.parts, 1);
  header.choosesApart &= header.problem.hasChains() && !asFormulas &&
                         !(kind && kind->isUnordered); // the choice depends on sizes
  if (header.parts == 0 || header.choosesApart)
    return buildBest(std::move(header), context, emitError);
  return buildOfKind(std::move(header), asFormulas, context, emitError);
}
