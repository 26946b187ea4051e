//===- ProvenOrder.cpp - a schedule and its proof -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/ProvenOrder.h"
#include "Search/PackItems.h"
#include "dash/Schedule/Kinds.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::verifyApart(const ScheduleHeader &header, EmitError emitError) {
  if (header.apart != Apart::None && !header.problem.hasChains())
    return emitError() << "apart=" << stringifyApart(header.apart)
                       << " keeps what is summed across items, and items that own "
                       << header.problem.ownTile() << "s sum nothing: take apart=none";
  if (header.apart != Apart::None && header.unordered)
    return emitError() << "kind '" << header.kind
                       << "' adds in no order, so a contribution has no turn to be kept apart by: "
                          "take another kind, or apart=none";
  if (header.apart == Apart::Parts && header.parts == 1)
    return emitError() << "apart=parts keeps what parts add to dK and dV, and the order is in one "
                          "part: take more parts, or apart=all";
  return success();
}

FailureOr<ProvenOrder> dash::prove(FailureOr<Schedule> schedule, EmitError emitError) {
  if (failed(schedule) || failed(verifyApart(*schedule, emitError)))
    return failure();
  FailureOr<ScheduleFacts> facts = verify(*schedule, emitError);
  if (failed(facts))
    return failure();
  return ProvenOrder{std::move(*schedule), *facts};
}

FailureOr<ProvenOrder> dash::asTable(ProvenOrder order, EmitError emitError) {
  const Schedule &schedule = order.schedule;
  const ScheduleKind *kind = findScheduleKind(schedule.kind);
  if (kind && kind->isByLength && !schedule.problem.hasChains()) {
    Table dealt = writeOut(schedule);
    dealToFirstFree(dealt, schedule.paidCost(), schedule.workers);
    FailureOr<ProvenOrder> proven =
        prove(Schedule::get(schedule, std::move(dealt), emitError), emitError);
    if (failed(proven) || proven->facts.makespan < order.facts.makespan)
      return proven;
  }
  if (schedule.isTable())
    return order;
  FailureOr<Schedule> written = Schedule::get(schedule, writeOut(schedule), emitError);
  if (failed(written))
    return failure();
  return ProvenOrder{std::move(*written), order.facts};
}
