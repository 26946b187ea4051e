//===- PlanTurns.cpp - looks at a launch that is under way ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy on a stream of its own waits for no kernel, so that a launch that never ends can be looked
// at. Nothing is allocated on the device or pinned on the host: both may wait for kernels.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;
using namespace mlir::dash::launch;

static constexpr unsigned nonBlocking = 1; // CU_STREAM_NON_BLOCKING
static constexpr int relaxed = 2;          // CU_STREAM_CAPTURE_MODE_RELAXED

bool Plan::needsRegion(size_t index) const {
  const Manifest &manifest = kernel->getManifest();
  return index < regions.size() && Turns::needs(manifest, manifest.workspace[index]);
}

static Failure failEmpty(const Manifest &manifest) {
  return fail(DASH_INVALID_ARGUMENT,
              "'" + manifest.name + "' has no output for these sizes, so nothing is launched");
}

Outcome Plan::explainTurns(ArrayRef<StringRef> given, Turns &turns) const {
  if (isEmpty)
    return failEmpty(kernel->getManifest());
  return Turns::read(kernel->getManifest(), values, given, turns);
}

Outcome Plan::readTurns(DashMemory workspace, DashMemory order, std::vector<std::string> &found,
                        Turns &turns) const {
  if (isEmpty)
    return failEmpty(kernel->getManifest());
  if (Outcome wrong = checkDriver())
    return wrong;
  if (Outcome wrong = checkMemory(workspace, workspaceBytes, DASH_ALIGNMENT, "workspace"))
    return wrong;
  if (Outcome wrong = checkMemory(order, orderBytes, orderAlignment, "order"))
    return wrong;
  const Driver &driver = *kernel->getDriver();
  CurrentContext current(driver, loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  int mode = relaxed; // what this thread does ends no capture of others
  if (Outcome wrong = driver.check(driver.exchangeCaptureMode(&mode), "leave captures alone"))
    return wrong;
  scope_exit putBack([&] { driver.exchangeCaptureMode(&mode); });
  void *stream = nullptr;
  if (Outcome wrong = driver.check(driver.streamCreate(&stream, nonBlocking), "make a stream"))
    return wrong;
  scope_exit destroy([&] { driver.streamDestroy(stream); });
  found.assign(regions.size(), "");
  for (auto [index, place] : enumerate(regions)) {
    if (!needsRegion(index) || place.bytes == 0)
      continue;
    found[index].resize(place.bytes);
    uint64_t from = (place.isOrder ? order.address : workspace.address) + place.offset;
    if (Outcome wrong =
            driver.check(driver.copyFromDeviceAsync(found[index].data(), from, place.bytes, stream),
                         "copy " + Twine(place.bytes) + " bytes from the device"))
      return wrong;
  }
  if (Outcome wrong = driver.check(driver.streamSynchronize(stream), "wait for copies"))
    return wrong;
  return explainTurns(SmallVector<StringRef>(found.begin(), found.end()), turns);
}
