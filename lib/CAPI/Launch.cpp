//===- Launch.cpp - the C API of the launcher -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles and pointers become references; lib/Launch does the work.
//
//===----------------------------------------------------------------------===//

#include "dash-c/Launch.h"
#include "Forks.h"
#include "ReportOutcome.h"
#include "Strings.h"
#include "dash/Launch/Plan.h"
#include <cmath>

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

// Handles share ownership: a kernel keeps its driver alive and a plan its kernel, whatever the
// order in which they are released.
using DriverHandle = std::shared_ptr<Driver>;
using KernelHandle = std::shared_ptr<Kernel>;

//===----------------------------------------------------------------------===//
// Drivers
//===----------------------------------------------------------------------===//

DashStatus dashDriverOpen(DashStringRef library, DashDiagnosticHandler handler, void *userData,
                          DashDriver *driver) {
  if (!driver)
    return refuse("'driver' is NULL: there is no place for the result", handler, userData);
  if (!isGiven(library))
    return refuse("a string is NULL but not empty", handler, userData);
  DriverHandle opened;
  Outcome outcome = Driver::open(toStringRef(library).str(), opened);
  if (!outcome)
    driver->ptr = new DriverHandle(std::move(opened));
  return report(outcome, handler, userData);
}

void dashDriverDestroy(DashDriver driver) { delete static_cast<DriverHandle *>(driver.ptr); }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

DashStatus dashKernelCreate(DashDriver driver, DashStringRef manifest, DashStringRef ptx,
                            DashStringRef order, DashDiagnosticHandler handler, void *userData,
                            DashKernel *kernel) {
  if (!kernel)
    return refuse("'kernel' is NULL: there is no place for the result", handler, userData);
  if (!isGiven(manifest) || !isGiven(ptx) || !isGiven(order))
    return refuse("a string is NULL but not empty", handler, userData);
  Inside inside;
  if (Outcome wrong = inside.getOutcome())
    return report(wrong, handler, userData);
  KernelHandle created;
  Outcome outcome = Kernel::create(driver.ptr ? *static_cast<DriverHandle *>(driver.ptr) : nullptr,
                                   toStringRef(manifest), toStringRef(ptx), toStringRef(order),
                                   /*cubin=*/std::nullopt, created);
  if (!outcome)
    kernel->ptr = new KernelHandle(std::move(created));
  return report(outcome, handler, userData);
}

DashStatus dashKernelOpen(DashDriver driver, DashStringRef path, DashDiagnosticHandler handler,
                          void *userData, DashKernel *kernel) {
  if (!kernel)
    return refuse("'kernel' is NULL: there is no place for the result", handler, userData);
  if (!isGiven(path))
    return refuse("a string is NULL but not empty", handler, userData);
  Inside inside;
  if (Outcome wrong = inside.getOutcome())
    return report(wrong, handler, userData);
  KernelHandle opened;
  Outcome outcome = Kernel::open(driver.ptr ? *static_cast<DriverHandle *>(driver.ptr) : nullptr,
                                 toStringRef(path), opened);
  if (!outcome)
    kernel->ptr = new KernelHandle(std::move(opened));
  return report(outcome, handler, userData);
}

void dashKernelDestroy(DashKernel kernel) { delete static_cast<KernelHandle *>(kernel.ptr); }

static const Manifest *manifestOf(DashKernel kernel) {
  return kernel.ptr ? &(*static_cast<KernelHandle *>(kernel.ptr))->getManifest() : nullptr;
}

DashStringRef dashKernelGetName(DashKernel kernel) {
  const Manifest *manifest = manifestOf(kernel);
  return manifest ? toC(manifest->name) : noString();
}

DashStringRef dashKernelGetManifest(DashKernel kernel) {
  return kernel.ptr ? toC((*static_cast<KernelHandle *>(kernel.ptr))->getManifestText())
                    : noString();
}

DashStringRef dashKernelGetCertificate(DashKernel kernel) {
  const Manifest *manifest = manifestOf(kernel);
  return manifest ? toC(manifest->certificate) : noString();
}

/// The name of one entry of a list in a manifest, such as its sizes.
template <typename T>
static DashStringRef getName(DashKernel kernel, std::vector<T> Manifest::*list, size_t index) {
  const Manifest *manifest = manifestOf(kernel);
  return manifest && index < (manifest->*list).size() ? toC((manifest->*list)[index].name)
                                                      : noString();
}

size_t dashKernelGetNumSizes(DashKernel kernel) {
  return kernel.ptr ? manifestOf(kernel)->sizes.size() : 0;
}

DashStringRef dashKernelGetSizeName(DashKernel kernel, size_t index) {
  return getName(kernel, &Manifest::sizes, index);
}

size_t dashKernelGetNumTensors(DashKernel kernel) {
  return kernel.ptr ? manifestOf(kernel)->tensors.size() : 0;
}

DashStringRef dashKernelGetTensorName(DashKernel kernel, size_t index) {
  return getName(kernel, &Manifest::tensors, index);
}

int32_t dashKernelIsTensorWritten(DashKernel kernel, size_t index) {
  const Manifest *manifest = manifestOf(kernel);
  return manifest && index < manifest->tensors.size() && manifest->tensors[index].isWritten;
}

DashStatus dashKernelFindSizes(DashKernel kernel, const DashTensor *tensors, size_t numTensors,
                               DashDiagnosticHandler handler, void *userData, int64_t *sizes,
                               size_t numSizes) {
  if (!kernel.ptr)
    return refuse("'kernel' is NULL", handler, userData);
  if ((!tensors && numTensors) || (!sizes && numSizes))
    return refuse("'tensors' or 'sizes' is NULL but not empty", handler, userData);
  return report(findSizes(*manifestOf(kernel), ArrayRef(tensors, numTensors),
                          MutableArrayRef(sizes, numSizes)),
                handler, userData);
}

float dashKernelGetDefaultScale(DashKernel kernel) {
  if (!kernel.ptr)
    return 0;
  const Kernel &one = **static_cast<KernelHandle *>(kernel.ptr);
  return one.takesScale()
             ? static_cast<float>(std::pow(static_cast<double>(one.getManifest().headDim), -0.5))
             : 1;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

DashStatus dashPlanCreate(DashKernel kernel, int32_t device, const DashSize *sizes, size_t numSizes,
                          DashDiagnosticHandler handler, void *userData, DashPlan *plan) {
  if (!plan)
    return refuse("'plan' is NULL: there is no place for the result", handler, userData);
  if (!kernel.ptr)
    return refuse("'kernel' is NULL", handler, userData);
  if (Outcome wrong = checkGiven(sizes, numSizes))
    return report(wrong, handler, userData);
  Inside inside;
  if (Outcome wrong = inside.getOutcome())
    return report(wrong, handler, userData);
  std::unique_ptr<Plan> created;
  std::string warning;
  Outcome outcome = Plan::create(*static_cast<KernelHandle *>(kernel.ptr), device,
                                 ArrayRef(sizes, numSizes), created, warning);
  if (!outcome)
    plan->ptr = created.release();
  if (!warning.empty())
    say(DASH_WARNING, warning, handler, userData);
  return report(outcome, handler, userData);
}

void dashPlanDestroy(DashPlan plan) { delete static_cast<Plan *>(plan.ptr); }

size_t dashPlanGetWorkspaceBytes(DashPlan plan) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getWorkspaceBytes() : 0;
}

size_t dashPlanGetOrderBytes(DashPlan plan) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getOrderBytes() : 0;
}

DashTensor dashPlanGetTensor(DashPlan plan, size_t index) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getTensor(index) : DashTensor{};
}

size_t dashPlanGetNumRegions(DashPlan plan) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getNumRegions() : 0;
}

DashRegion dashPlanGetRegion(DashPlan plan, size_t index) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getRegion(index)
                  : DashRegion{noString(), 0, 0, 0};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

DashStatus dashPlanClear(DashPlan plan, void *stream, DashMemory workspace,
                         DashDiagnosticHandler handler, void *userData) {
  if (!plan.ptr)
    return refuse("'plan' is NULL", handler, userData);
  return report(static_cast<const Plan *>(plan.ptr)->clear(stream, workspace), handler, userData);
}

DashStatus dashPlanMakeOrder(DashPlan plan, void *stream, DashMemory order,
                             DashDiagnosticHandler handler, void *userData) {
  if (!plan.ptr)
    return refuse("'plan' is NULL", handler, userData);
  return report(static_cast<const Plan *>(plan.ptr)->makeOrder(stream, order), handler, userData);
}

/// Every function that takes a plan and arguments begins with this check.
static Outcome checkGiven(DashPlan plan, const DashArguments *arguments) {
  if (!plan.ptr)
    return fail(DASH_INVALID_ARGUMENT, "'plan' is NULL");
  if (!arguments || (!arguments->tensors && arguments->numTensors))
    return fail(DASH_INVALID_ARGUMENT, "'arguments' is NULL, or its tensors are");
  return std::nullopt;
}

DashStatus dashPlanCheck(DashPlan plan, void *stream, const DashArguments *arguments,
                         DashDiagnosticHandler handler, void *userData) {
  if (Outcome wrong = checkGiven(plan, arguments))
    return report(wrong, handler, userData);
  return report(static_cast<const Plan *>(plan.ptr)->check(stream, *arguments), handler, userData);
}

DashStatus dashPlanRun(DashPlan plan, void *stream, const DashArguments *arguments,
                       DashDiagnosticHandler handler, void *userData) {
  if (Outcome wrong = checkGiven(plan, arguments))
    return report(wrong, handler, userData);
  return report(static_cast<const Plan *>(plan.ptr)->run(stream, *arguments), handler, userData);
}

DashStatus dashPlanRunAnew(DashPlan plan, void *stream, const DashArguments *arguments,
                           DashDiagnosticHandler handler, void *userData) {
  if (Outcome wrong = checkGiven(plan, arguments))
    return report(wrong, handler, userData);
  return report(static_cast<const Plan *>(plan.ptr)->runAnew(stream, *arguments), handler,
                userData);
}

DashStatus dashPlanIsCapturing(DashPlan plan, void *stream, DashDiagnosticHandler handler,
                               void *userData, int32_t *isCapturing) {
  if (!isCapturing)
    return refuse("'isCapturing' is NULL: there is no place for the result", handler, userData);
  if (!plan.ptr)
    return refuse("'plan' is NULL", handler, userData);
  bool found = false;
  Outcome outcome = static_cast<const Plan *>(plan.ptr)->isCapturing(stream, found);
  if (!outcome)
    *isCapturing = found;
  return report(outcome, handler, userData);
}

size_t dashPlanGetNumSteps(DashPlan plan) {
  return plan.ptr ? static_cast<const Plan *>(plan.ptr)->getNumSteps() : 0;
}

DashStringRef dashPlanGetStepRole(DashPlan plan, size_t index) {
  return index < dashPlanGetNumSteps(plan)
             ? toC(static_cast<const Plan *>(plan.ptr)->getStepRole(index))
             : noString();
}

DashStatus dashPlanRunStep(DashPlan plan, size_t index, void *stream,
                           const DashArguments *arguments, DashDiagnosticHandler handler,
                           void *userData) {
  if (Outcome wrong = checkGiven(plan, arguments))
    return report(wrong, handler, userData);
  const Plan &all = *static_cast<const Plan *>(plan.ptr);
  if (index >= all.getNumSteps())
    return report(fail(DASH_INVALID_ARGUMENT, "expected a step below " + Twine(all.getNumSteps()) +
                                                  ", found " + Twine(index)),
                  handler, userData);
  return report(all.runStep(index, stream, *arguments), handler, userData);
}
