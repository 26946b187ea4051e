//===- Plan.cpp - sizes become grids, regions and parameters --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir::dash::launch;

static StringRef toStringRef(DashStringRef string) {
  return {string.data, string.data ? string.length : 0};
}

static Outcome evaluateShapes(const Manifest &manifest, const Values &values,
                              std::vector<Shape> &shapes) {
  for (const TensorSpec &spec : manifest.tensors) {
    Shape &shape = shapes.emplace_back(Shape{});
    for (auto [i, expression] : enumerate(spec.shape)) {
      if (Outcome wrong = expression.evaluate(values, shape[i]))
        return wrong;
      if (shape[i] < 0 || shape[i] > INT32_MAX)
        return fail(DASH_INVALID_MANIFEST,
                    expression.getPlace() + ": expected 0 to 2147483647, found " + Twine(shape[i]));
    }
  }
  return std::nullopt;
}

Outcome Plan::create(std::shared_ptr<Kernel> kernel, int device, ArrayRef<DashSize> sizes,
                     std::unique_ptr<Plan> &result, std::string &warning) {
  auto plan = std::make_unique<Plan>();
  plan->kernel = std::move(kernel);
  const Manifest &manifest = plan->kernel->getManifest();
  if (Outcome wrong = plan->bindSizes(sizes))
    return wrong;
  if (Outcome wrong = manifest.derive(plan->values))
    return wrong;
  plan->isEmpty = true;
  if (Outcome wrong = evaluateShapes(manifest, plan->values, plan->shapes))
    return wrong;
  for (auto [spec, shape] : zip_equal(manifest.tensors, plan->shapes))
    plan->isEmpty &=
        !spec.isWritten || is_contained(ArrayRef(shape).take_front(spec.shape.size()), 0);
  if (!plan->isEmpty) {
    if (Outcome wrong = plan->checkLimits())
      return wrong;
    if (Outcome wrong = plan->placeRegions())
      return wrong;
    if (plan->kernel->getDriver())
      if (Outcome wrong = plan->kernel->load(device, plan->loaded, warning))
        return wrong;
    for (const Entry &entry : manifest.entries)
      if (Outcome wrong = plan->addStep(entry))
        return wrong;
  }
  result = std::move(plan);
  return std::nullopt;
}

DashTensor Plan::getTensor(size_t index) const {
  DashTensor result = {};
  if (index >= shapes.size())
    return result;
  const TensorSpec &spec = kernel->getManifest().tensors[index];
  result.element = spec.element;
  result.rank = spec.shape.size();
  int64_t stride = 1;
  for (unsigned i = result.rank; i-- > 0;) {
    result.shape[i] = shapes[index][i];
    result.strides[i] = stride;
    stride =
        SaturatingMultiply<uint64_t>(stride, std::max<int64_t>(result.shape[i], 1)) & INT64_MAX;
  }
  return result;
}

DashRegion Plan::getRegion(size_t index) const {
  if (index >= regions.size())
    return {{"", 0}, 0, 0, 0};
  const std::string &name = kernel->getManifest().workspace[index].name;
  const Place &place = regions[index];
  return {{name.c_str(), name.size()}, place.isOrder, place.offset, place.bytes};
}

/// "'attention_bwd' serves q_rows = 4096, found 256", and how to make a table for other sizes.
static Failure refuseSize(const Manifest &manifest, const Size &size, int64_t found) {
  std::string limits = std::to_string(size.minimum);
  if (size.maximum != size.minimum)
    limits += " to " + std::to_string(size.maximum);
  std::string hint;
  if (!manifest.orderCommand.empty())
    hint = "; its order is a table for stated sizes, made for others by: " + manifest.orderCommand;
  return fail(DASH_INVALID_ARGUMENT, "'" + manifest.name + "' serves " + size.name + " = " +
                                         limits + ", found " + Twine(found) + hint);
}

/// The first dimension with a size's name defines it; all other dimensions are checked against it.
Outcome mlir::dash::launch::findSizes(const Manifest &manifest, ArrayRef<DashTensor> tensors,
                                      MutableArrayRef<int64_t> sizes) {
  if (sizes.size() != manifest.sizes.size())
    return fail(DASH_INVALID_ARGUMENT, "expected room for " + Twine(manifest.sizes.size()) +
                                           " sizes, found " + Twine(sizes.size()));
  // A mistaken tensor gets its own message, so shapes that do not define a size count as 0 here.
  Values values;
  for (auto [spec, tensor] : zip(manifest.tensors, tensors))
    for (auto [i, expression] : enumerate(spec.shape))
      values.try_emplace(expression.getText(), i < tensor.rank ? tensor.shape[i] : 0);
  Values found;
  for (const Size &size : manifest.sizes) {
    int64_t value = found[size.name] = values.lookup(size.name);
    if (value < 0 || value > INT32_MAX)
      return refuseSize(manifest, size, value);
  }
  if (Outcome wrong = manifest.derive(found))
    return wrong;
  std::vector<Shape> shapes;
  if (Outcome wrong = evaluateShapes(manifest, found, shapes))
    return wrong;
  if (Outcome wrong = checkShapes(manifest, shapes, tensors))
    return wrong;
  for (auto [size, value] : zip_equal(manifest.sizes, sizes))
    value = found[size.name];
  return std::nullopt;
}

Outcome Plan::bindSizes(ArrayRef<DashSize> sizes) {
  const Manifest &manifest = kernel->getManifest();
  for (const DashSize &given : sizes) {
    StringRef name = toStringRef(given.name);
    auto size = find_if(manifest.sizes, [&](const Size &size) { return size.name == name; });
    if (size == manifest.sizes.end() || !values.try_emplace(name, given.value).second)
      return fail(
          DASH_INVALID_ARGUMENT,
          "'" + name.take_front(64) + "' is no size of '" + manifest.name +
              "', or is given twice: expected " +
              join(map_range(manifest.sizes, [](const Size &size) { return StringRef(size.name); }),
                   ", "));
    if (given.value < 0 || given.value > INT32_MAX)
      return refuseSize(manifest, *size, given.value);
  }
  for (const Size &size : manifest.sizes)
    if (!values.contains(size.name))
      return fail(DASH_INVALID_ARGUMENT, "expected a value for the size '" + size.name + "' of '" +
                                             manifest.name + "', found none");
  return std::nullopt;
}

Outcome Plan::checkLimits() const {
  const Manifest &manifest = kernel->getManifest();
  for (const Size &size : manifest.sizes)
    if (int64_t value = values.lookup(size.name); value < size.minimum || value > size.maximum)
      return refuseSize(manifest, size, value);
  for (const Constraint &constraint : manifest.constraints) {
    int64_t value = 0;
    if (Outcome wrong = constraint.expression.evaluate(values, value))
      return wrong;
    if (value == constraint.equals)
      continue;
    std::vector<std::string> names = constraint.expression.getNames();
    llvm::sort(names);
    for (std::string &name : names)
      name += " = " + std::to_string(values.lookup(name));
    return fail(DASH_INVALID_ARGUMENT, constraint.message + "; found " + join(names, ", "));
  }
  return std::nullopt;
}

/// Regions follow each other in two blocks: the order's and the workspace.
Outcome Plan::placeRegions() {
  for (const Region &region : kernel->getManifest().workspace) {
    int64_t bytes = 0;
    if (Outcome wrong = region.bytes.evaluate(values, bytes))
      return wrong;
    uint64_t &total = region.isOrder() ? orderBytes : workspaceBytes;
    if (region.isOrder())
      orderAlignment = std::max<uint64_t>(orderAlignment, region.alignment);
    uint64_t offset = alignTo(total, region.alignment);
    if (bytes < 0 || bytes > INT64_MAX / 4 || offset > INT64_MAX / 4)
      return fail(DASH_INVALID_MANIFEST,
                  region.bytes.getPlace() + ": expected bytes of a region, found " + Twine(bytes));
    if (region.initial == Initial::File && bytes != kernel->getManifest().orderBytes)
      return fail(DASH_INVALID_MANIFEST, region.bytes.getPlace() + ": expected the " +
                                             Twine(kernel->getManifest().orderBytes) +
                                             " bytes of the table, found " + Twine(bytes));
    regions.push_back({offset, static_cast<uint64_t>(bytes), region.isOrder()});
    total = offset + bytes;
  }
  return std::nullopt;
}

Outcome Plan::addStep(const Entry &entry) {
  size_t index = &entry - kernel->getManifest().entries.data();
  Step step{&entry, loaded ? loaded->functions[index] : nullptr, {}, {}};
  uint64_t blocks = 1;
  for (auto [i, expression] : enumerate(entry.grid)) {
    int64_t extent = 0, most = i == 0 ? INT32_MAX : UINT16_MAX;
    if (Outcome wrong = expression.evaluate(values, extent))
      return wrong;
    if (extent < 1 || extent > most)
      return fail(DASH_INVALID_MANIFEST, expression.getPlace() + ": expected 1 to " + Twine(most) +
                                             " blocks, found " + Twine(extent));
    step.grid[i] = extent;
    blocks *= extent; // below 2^63
  }
  if (Outcome wrong = checkCapacity(entry, index, blocks))
    return wrong;
  for (const Parameter &parameter : entry.parameters) {
    size_t slot = llvm::find(slotNames, parameter.name) - slotNames.begin();
    if (slot == slotNames.size()) {
      if (slot == mostSlots)
        return fail(DASH_INVALID_MANIFEST,
                    "expected at most " + Twine(mostSlots) + " different parameters");
      Source source{Source::Value, 0, 0};
      if (Outcome wrong = findSource(parameter.name, source))
        return wrong;
      slotNames.push_back(parameter.name);
      sources.push_back(source);
    }
    step.slots.push_back(slot);
  }
  (entry.makesOrder ? orderSteps : steps).push_back(std::move(step));
  return std::nullopt;
}

/// All blocks of a cooperative entry must be resident at once; for other entries, as many as wait
/// for each other.
Outcome Plan::checkCapacity(const Entry &entry, size_t index, uint64_t blocks) const {
  if (!loaded)
    return std::nullopt;
  uint64_t needed = entry.isCooperative ? blocks : 0, resident = loaded->resident[index];
  if (entry.role == "main")
    needed = std::max(needed, std::min<uint64_t>(kernel->getManifest().minWorkers, blocks));
  if (needed <= resident)
    return std::nullopt;
  return fail(DASH_NO_CAPACITY,
              "'" + entry.name + "' needs " + Twine(needed) + " resident blocks, found room for " +
                  Twine(resident) + " on " + loaded->deviceName + ": " +
                  Twine(loaded->multiprocessors > 0 ? resident / loaded->multiprocessors : 0) +
                  " on each of " + Twine(loaded->multiprocessors) +
                  " multiprocessors; compile it with workers=" + Twine(resident));
}

Outcome Plan::findSource(StringRef name, Source &source) const {
  const Manifest &manifest = kernel->getManifest();
  if (name == "scale") {
    source = {Source::Scale, 0, 0};
    return std::nullopt;
  }
  if (auto found = values.find(name); found != values.end()) {
    if (found->second < INT32_MIN || found->second > INT32_MAX)
      return fail(DASH_INVALID_ARGUMENT, "'" + name + "' of " + Twine(found->second) +
                                             " is no i32, as the kernel takes it");
    source = {Source::Value, static_cast<uint32_t>(found->second), 0};
    return std::nullopt;
  }
  for (auto [i, region] : enumerate(manifest.workspace))
    if (name == ("workspace." + Twine(region.name)).str())
      source = {regions[i].isOrder ? Source::Order : Source::Workspace, regions[i].offset, 0};
  for (auto [i, tensor] : enumerate(manifest.tensors)) {
    StringRef rest = name;
    if (name == tensor.name)
      source = {Source::Address, i, 0};
    else if (rest.consume_front(tensor.name) && rest.consume_front(".stride."))
      source = {Source::Stride, i,
                static_cast<unsigned>(llvm::find(strideNames, rest) - strideNames.begin())};
  }
  return std::nullopt; // readManifest refused all others
}
