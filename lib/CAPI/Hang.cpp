//===- Hang.cpp - the C API of looks at a launch --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/Hang.h"
#include "ReportOutcome.h"
#include "Strings.h"
#include "dash/Launch/Plan.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

namespace {
/// What a handle has, with the texts that were asked for.
struct Look {
  Turns turns;
  std::vector<std::string> regions;
  std::string text, json;
};
} // namespace

static Look *lookOf(DashTurns turns) { return static_cast<Look *>(turns.ptr); }

/// What makes a look begins and ends with this.
template <typename Read>
static DashStatus make(DashPlan plan, DashTurns *turns, DashDiagnosticHandler handler,
                       void *userData, Read read) {
  if (!turns)
    return refuse("'turns' is NULL: there is no place for the result", handler, userData);
  if (!plan.ptr)
    return refuse("'plan' is NULL", handler, userData);
  auto look = std::make_unique<Look>();
  Outcome outcome = read(*static_cast<const Plan *>(plan.ptr), *look);
  if (!outcome) {
    look->json = look->turns.toJson();
    turns->ptr = look.release();
  }
  return report(outcome, handler, userData);
}

DashStatus dashPlanReadTurns(DashPlan plan, DashMemory workspace, DashMemory order,
                             DashDiagnosticHandler handler, void *userData, DashTurns *turns) {
  return make(plan, turns, handler, userData, [&](const Plan &one, Look &look) {
    return one.readTurns(workspace, order, look.regions, look.turns);
  });
}

int32_t dashPlanReadsRegion(DashPlan plan, size_t index) {
  return plan.ptr && static_cast<const Plan *>(plan.ptr)->needsRegion(index);
}

DashStatus dashPlanExplainTurns(DashPlan plan, const DashStringRef *regions, size_t numRegions,
                                DashDiagnosticHandler handler, void *userData, DashTurns *turns) {
  if (!regions && numRegions)
    return refuse("'regions' is NULL but not empty", handler, userData);
  if (!all_of(ArrayRef(regions, numRegions), isGiven))
    return refuse("a string is NULL but not empty", handler, userData);
  return make(plan, turns, handler, userData, [&](const Plan &one, Look &look) {
    auto given = map_to_vector(ArrayRef(regions, numRegions),
                               [](DashStringRef region) { return toStringRef(region); });
    return one.explainTurns(given, look.turns);
  });
}

void dashTurnsDestroy(DashTurns turns) { delete lookOf(turns); }

int64_t dashTurnsGetNumGiven(DashTurns turns) {
  return turns.ptr ? lookOf(turns)->turns.getGiven() : 0;
}

int64_t dashTurnsGetNumTurns(DashTurns turns) {
  return turns.ptr ? lookOf(turns)->turns.getTotal() : 0;
}

DashStringRef dashTurnsDescribe(DashTurns turns, DashTurns before) {
  if (!turns.ptr)
    return noString();
  Look &look = *lookOf(turns);
  look.text = look.turns.describe(before.ptr ? &lookOf(before)->turns : nullptr);
  return toC(look.text);
}

DashStringRef dashTurnsGetJson(DashTurns turns) {
  return turns.ptr ? toC(lookOf(turns)->json) : noString();
}

DashStringRef dashTurnsGetRegion(DashTurns turns, size_t index) {
  if (!turns.ptr || index >= lookOf(turns)->regions.size())
    return noString();
  return toC(lookOf(turns)->regions[index]);
}
