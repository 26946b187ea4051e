//===- RunPlan.cpp - puts a plan on a stream ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The path of every call: check everything, then enqueue. It allocates nothing, waits for nothing,
// and writes nothing but its stack.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include <cfloat>
#include <cmath>

using namespace llvm;
using namespace mlir::dash::launch;

static constexpr int deviceOrdinal = 9; // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

/// Names the regions that an aborted kernel may leave dirty: no preparation resets them before the
/// next launch.
static const char *adviceAfterFailure(const Manifest &manifest) {
  bool isCleared = any_of(manifest.workspace,
                          [](const Region &region) { return region.initial == Initial::Zero; });
  return isCleared ? "; clear the workspace before it is used again" : "";
}

Outcome Plan::checkDriver() const {
  if (loaded)
    return std::nullopt;
  return fail(DASH_INVALID_ARGUMENT,
              "'" + kernel->getManifest().name +
                  "' was made without a driver: it can be planned, not launched");
}

Outcome Plan::checkMemory(DashMemory memory, uint64_t bytes, uint64_t alignment,
                          const char *what) const {
  if (bytes == 0)
    return std::nullopt;
  if (memory.address == 0)
    return fail(DASH_INVALID_ARGUMENT, Twine(what) + ": expected memory, found a null pointer");
  if (memory.address % alignment)
    return fail(DASH_INVALID_ARGUMENT,
                Twine(what) + ": expected an address that is a multiple of " + Twine(alignment) +
                    " bytes, found 0x" + utohexstr(memory.address, /*LowerCase=*/true));
  if (memory.bytes < bytes || memory.address + bytes < memory.address)
    return fail(DASH_INVALID_ARGUMENT, Twine(what) + ": expected " + Twine(bytes) +
                                           " bytes, found " + Twine(memory.bytes));
  return std::nullopt;
}

/// The device must be current.
Outcome Plan::askWhetherCapturing(void *stream, bool &result) const {
  const Driver &driver = *kernel->getDriver();
  int isCapturing = 0;
  if (Outcome wrong = driver.check(driver.streamIsCapturing(stream, &isCapturing),
                                   "ask whether a stream is captured"))
    return wrong;
  result = isCapturing != 0;
  return std::nullopt;
}

/// Explains a refusal by a stream. A stream of another context refuses everything that is loaded
/// into this one.
Outcome Plan::checkEnqueued(int code, void *stream, const Twine &doing, const Twine &more) const {
  if (code == 0)
    return std::nullopt;
  const Driver &driver = *kernel->getDriver();
  void *context = nullptr;
  if (driver.streamGetCtx(stream, &context) || context == loaded->context)
    return driver.check(code, doing, more);
  Outcome wrong =
      driver.check(code, doing,
                   "; expected a stream of the primary context of device " + Twine(loaded->device) +
                       ", found one of another context or device");
  wrong->status = DASH_INVALID_ARGUMENT;
  return wrong;
}

/// Refuses memory of another device and memory that the driver does not know. During a capture,
/// some memory does not exist yet.
Outcome Plan::checkDevice(void *stream, uint64_t address, const Twine &what) const {
  int device = loaded->device;
  bool isCapturing = false;
  const Driver &driver = *kernel->getDriver();
  if (int code = driver.pointerGetAttribute(&device, deviceOrdinal, address)) {
    if (askWhetherCapturing(stream, isCapturing) || !isCapturing) {
      Outcome wrong =
          driver.check(code, what + ": expected memory of device " + Twine(loaded->device));
      wrong->status = DASH_INVALID_ARGUMENT;
      return wrong;
    }
  } else if (device != loaded->device) {
    return fail(DASH_INVALID_ARGUMENT, what + ": expected memory of device " +
                                           Twine(loaded->device) + ", found memory of device " +
                                           Twine(device));
  }
  return std::nullopt;
}

Outcome Plan::clear(void *stream, DashMemory workspace) const {
  if (isEmpty)
    return std::nullopt;
  if (Outcome wrong = checkDriver())
    return wrong;
  if (Outcome wrong = checkMemory(workspace, workspaceBytes, DASH_ALIGNMENT, "workspace"))
    return wrong;
  const Driver &driver = *kernel->getDriver();
  CurrentContext current(driver, loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  if (workspaceBytes)
    if (Outcome wrong = checkDevice(stream, workspace.address, "workspace"))
      return wrong;
  for (auto [region, place] : zip_equal(kernel->getManifest().workspace, regions))
    if (region.initial == Initial::Zero && place.bytes)
      if (Outcome wrong = checkEnqueued(
              driver.memsetAsync(workspace.address + place.offset, 0, place.bytes, stream), stream,
              "fill " + Twine(place.bytes) + " bytes"))
        return wrong;
  return std::nullopt;
}

Outcome Plan::makeOrder(void *stream, DashMemory order) const {
  if (isEmpty)
    return std::nullopt;
  if (Outcome wrong = checkDriver())
    return wrong;
  if (Outcome wrong = checkMemory(order, orderBytes, orderAlignment, "order"))
    return wrong;
  const Driver &driver = *kernel->getDriver();
  CurrentContext current(driver, loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  if (orderBytes)
    if (Outcome wrong = checkDevice(stream, order.address, "order"))
      return wrong;
  const std::string &table = kernel->getOrder();
  if (!table.empty()) {
    bool isCapturing = false;
    if (Outcome wrong = askWhetherCapturing(stream, isCapturing))
      return wrong;
    if (isCapturing)
      return fail(DASH_INVALID_ARGUMENT, "the stream is being captured, and the order is a table "
                                         "that comes from the host: copy it before the capture");
    for (auto [region, place] : zip_equal(kernel->getManifest().workspace, regions))
      if (region.initial == Initial::File)
        if (Outcome wrong =
                checkEnqueued(driver.copyToDeviceAsync(order.address + place.offset, table.data(),
                                                       table.size(), stream),
                              stream, "copy " + Twine(table.size()) + " bytes to the device"))
          return wrong;
  }
  Slots values;
  for (auto [i, source] : enumerate(sources))
    values[i] = source.kind == Source::Order ? order.address + source.number : source.number;
  for (const Step &step : orderSteps)
    if (Outcome wrong = launch(step, stream, values))
      return wrong;
  return std::nullopt;
}

Outcome Plan::checkArguments(const DashArguments &arguments, Blocks blocks) const {
  const Manifest &manifest = kernel->getManifest();
  if (Outcome wrong =
          checkTensors(manifest, shapes, ArrayRef(arguments.tensors, arguments.numTensors), blocks))
    return wrong;
  if (!std::isfinite(arguments.scale))
    return fail(DASH_INVALID_ARGUMENT,
                "scale: expected a number of f32, found " + Twine(std::to_string(arguments.scale)));
  if (!kernel->takesScale() && arguments.scale != 1)
    return fail(DASH_INVALID_ARGUMENT, "scale: '" + manifest.name +
                                           "' was compiled without a scale, found " +
                                           Twine(std::to_string(arguments.scale)));
  // Programs of lists whose lengths come with a run have the size 'bounds'.
  if (arguments.clearsRows && values.contains("bounds") &&
      none_of(steps, [](const Step &step) { return step.entry->isAsked; }))
    return fail(DASH_INVALID_ARGUMENT, "clearsRows: '" + manifest.name +
                                           "' has no entry that clears rows; compile it anew");
  return std::nullopt;
}

/// The device must be current.
Outcome Plan::checkDevices(void *stream, const DashArguments &arguments, Blocks blocks) const {
  for (auto [i, spec] : enumerate(kernel->getManifest().tensors)) {
    const DashTensor &tensor = arguments.tensors[i];
    if (!is_contained(ArrayRef(tensor.shape, tensor.rank), 0))
      if (Outcome wrong = checkDevice(stream, tensor.address, spec.name))
        return wrong;
  }
  for (const auto &[name, block] : blocks)
    if (block.bytes)
      if (Outcome wrong = checkDevice(stream, block.address, name))
        return wrong;
  return std::nullopt;
}

Outcome Plan::isCapturing(void *stream, bool &result) const {
  result = false;
  if (isEmpty)
    return std::nullopt;
  if (Outcome wrong = checkDriver())
    return wrong;
  CurrentContext current(*kernel->getDriver(), loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  return askWhetherCapturing(stream, result);
}

Outcome Plan::check(void *stream, const DashArguments &arguments) const {
  if (isEmpty)
    return std::nullopt;
  if (Outcome wrong = checkDriver())
    return wrong;
  if (Outcome wrong = checkArguments(arguments, {}))
    return wrong;
  CurrentContext current(*kernel->getDriver(), loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  return checkDevices(stream, arguments, {});
}

Outcome Plan::run(void *stream, const DashArguments &arguments) const {
  return run(steps, stream, arguments, /*runsAsked=*/arguments.clearsRows != 0);
}

Outcome Plan::runAnew(void *stream, const DashArguments &arguments) const {
  if (Outcome wrong = clear(stream, arguments.workspace))
    return wrong;
  if (!orderSteps.empty())
    if (Outcome wrong = makeOrder(stream, arguments.order))
      return wrong;
  return run(stream, arguments);
}

Outcome Plan::runStep(size_t index, void *stream, const DashArguments &arguments) const {
  return run(ArrayRef(steps).slice(index, 1), stream, arguments, /*runsAsked=*/true);
}

Outcome Plan::run(ArrayRef<Step> steps, void *stream, const DashArguments &arguments,
                  bool runsAsked) const {
  if (isEmpty)
    return std::nullopt;
  if (Outcome wrong = checkDriver())
    return wrong;
  DashMemory workspace{arguments.workspace.address, workspaceBytes},
      order{arguments.order.address, orderBytes};
  const std::pair<const char *, DashMemory> blocks[] = {{"workspace", workspace}, {"order", order}};
  if (Outcome wrong = checkMemory(arguments.workspace, workspaceBytes, DASH_ALIGNMENT, "workspace"))
    return wrong;
  if (Outcome wrong = checkMemory(arguments.order, orderBytes, orderAlignment, "order"))
    return wrong;
  if (Outcome wrong = checkArguments(arguments, blocks))
    return wrong;
  if (workspace.address < order.address + order.bytes &&
      order.address < workspace.address + workspace.bytes)
    return fail(DASH_INVALID_ARGUMENT, "order: this memory is also that of the workspace");

  CurrentContext current(*kernel->getDriver(), loaded->context);
  if (Outcome wrong = current.getOutcome())
    return wrong;
  if (Outcome wrong = checkDevices(stream, arguments, blocks))
    return wrong;

  ArrayRef<DashTensor> tensors(arguments.tensors, arguments.numTensors);
  Slots values;
  for (auto [i, source] : enumerate(sources)) {
    switch (source.kind) {
    case Source::Value:
      values[i] = source.number;
      break;
    case Source::Address:
      values[i] = tensors[source.number].address;
      break;
    case Source::Stride:
      values[i] = tensors[source.number].strides[source.dimension];
      break;
    case Source::Scale:
      values[i] = bit_cast<uint32_t>(arguments.scale);
      break;
    case Source::Workspace:
      values[i] = workspace.address + source.number;
      break;
    case Source::Order:
      values[i] = order.address + source.number;
      break;
    }
  }
  for (const Step &step : steps)
    if (!step.entry->isAsked || runsAsked)
      if (Outcome wrong = launch(step, stream, values))
        return wrong;
  return std::nullopt;
}

/// Launches one entry. Each parameter's value is in the low bytes of its slot.
Outcome Plan::launch(const Step &step, void *stream, Slots &values) const {
  const Entry &entry = *step.entry;
  void *parameters[mostSlots];
  for (auto [i, slot] : enumerate(step.slots))
    parameters[i] = &values[slot];
  LaunchAttribute attributes[3] = {};
  LaunchConfig config{{step.grid[0], step.grid[1], step.grid[2]},
                      {entry.block[0], entry.block[1], entry.block[2]},
                      entry.sharedBytes,
                      stream,
                      attributes,
                      0};
  if (entry.isCooperative) {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = LaunchAttribute::Cooperative;
    attribute.value[0] = 1;
  }
  if (entry.overlaps) {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = LaunchAttribute::ProgrammaticStreamSerialization;
    attribute.value[0] = 1;
  }
  if (entry.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = LaunchAttribute::ClusterDimension;
    llvm::copy(entry.cluster, attribute.value);
  }
  int code = kernel->getDriver()->launchKernelEx(&config, step.function, parameters, nullptr);
  if (code == 0)
    return std::nullopt;
  return checkEnqueued(code, stream,
                       "launch '" + entry.name + "' with a grid of " + Twine(step.grid[0]) + " x " +
                           Twine(step.grid[1]) + " x " + Twine(step.grid[2]) + " blocks, " +
                           Twine(entry.block[0]) + " threads each, " + Twine(entry.sharedBytes) +
                           " bytes of shared memory",
                       entry.makesOrder ? "" : adviceAfterFailure(kernel->getManifest()));
}
