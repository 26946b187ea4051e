//===- Planner.cpp - the C API of the planner -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/Planner.h"
#include "Forks.h"
#include "Replan.h"
#include "ReportOutcome.h"
#include <mutex>
#include <utility>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The next call that ends reports a planner's warnings.
class PlannerHandle {
public:
  PlannerHandle() : planner(makeOptions()) {}

  void passWarning(DashDiagnosticHandler handler, void *userData) {
    std::unique_lock<std::mutex> lock(mutex);
    std::string message = std::exchange(warning, "");
    lock.unlock();
    if (!message.empty())
      say(DASH_WARNING, message, handler, userData);
  }

private:
  PlannerOptions makeOptions() {
    PlannerOptions options;
    options.warn = [this](StringRef message) {
      std::lock_guard<std::mutex> lock(mutex);
      warning = message.str();
    };
    return options;
  }

  std::mutex mutex;
  std::string warning;

public:
  OrderPlanner planner;
};

} // namespace

DashStatus dashPlannerCreate(DashDiagnosticHandler handler, void *userData, DashPlanner *planner) {
  if (!planner)
    return refuse("'planner' is NULL: there is no place for the result", handler, userData);
  planner->ptr = new PlannerHandle;
  return DASH_SUCCESS;
}

void dashPlannerDestroy(DashPlanner planner) { delete static_cast<PlannerHandle *>(planner.ptr); }

static launch::Outcome checkAsked(const Inside &inside, DashPlanner planner, DashStringRef manifest,
                                  const DashSize *sizes, size_t numSizes) {
  if (launch::Outcome wrong = inside.getOutcome())
    return wrong;
  if (!planner.ptr)
    return launch::fail(DASH_INVALID_ARGUMENT, "'planner' is NULL");
  if (launch::Outcome wrong = checkGiven(sizes, numSizes))
    return wrong;
  if (!isGiven(manifest))
    return launch::fail(DASH_INVALID_ARGUMENT, "a string is NULL but not empty");
  return std::nullopt;
}

DashStatus dashPlannerChoose(DashPlanner planner, DashStringRef manifest, const DashSize *sizes,
                             size_t numSizes, int64_t parts, DashDiagnosticHandler handler,
                             void *userData, DashChoice *choice) {
  if (!choice)
    return refuse("'choice' is NULL: there is no place for the result", handler, userData);
  Inside inside;
  if (launch::Outcome wrong = checkAsked(inside, planner, manifest, sizes, numSizes))
    return report(wrong, handler, userData);
  PlannerHandle &one = *static_cast<PlannerHandle *>(planner.ptr);
  launch::Outcome outcome =
      choose(one.planner, toStringRef(manifest), ArrayRef(sizes, numSizes), parts, *choice);
  one.passWarning(handler, userData);
  return report(outcome, handler, userData);
}

DashStatus dashPlannerPlan(DashPlanner planner, DashStringRef manifest, const DashSize *sizes,
                           size_t numSizes, DashDiagnosticHandler handler, void *userData,
                           DashOrder *order) {
  if (!order)
    return refuse("'order' is NULL: there is no place for the result", handler, userData);
  Inside inside;
  if (launch::Outcome wrong = checkAsked(inside, planner, manifest, sizes, numSizes))
    return report(wrong, handler, userData);
  PlannerHandle &one = *static_cast<PlannerHandle *>(planner.ptr);
  auto files = std::make_unique<PlannedFiles>();
  launch::Outcome outcome =
      replan(one.planner, toStringRef(manifest), ArrayRef(sizes, numSizes), *files);
  one.passWarning(handler, userData);
  if (!outcome)
    order->ptr = files.release();
  return report(outcome, handler, userData);
}

void dashOrderDestroy(DashOrder order) { delete static_cast<PlannedFiles *>(order.ptr); }

static DashStringRef get(DashOrder order, std::string PlannedFiles::*text) {
  return order.ptr ? toC(static_cast<const PlannedFiles *>(order.ptr)->*text) : noString();
}

DashStringRef dashOrderGetManifest(DashOrder order) { return get(order, &PlannedFiles::manifest); }
DashStringRef dashOrderGetBytes(DashOrder order) { return get(order, &PlannedFiles::order); }
DashStringRef dashOrderGetCertificate(DashOrder order) {
  return get(order, &PlannedFiles::certificate);
}
