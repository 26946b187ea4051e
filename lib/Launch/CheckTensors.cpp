//===- CheckTensors.cpp - what a kernel requires of its tensors -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each run does this, so nothing is allocated unless something is wrong. Sizes are below 2^31 here.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir::dash::launch;

static Failure refuse(const TensorSpec &spec, const Twine &message) {
  return fail(DASH_INVALID_ARGUMENT, spec.name + ": " + message);
}

/// "(2, 4, 256, 128)".
static std::string spellTuple(ArrayRef<int64_t> numbers) {
  return "(" +
         join(map_range(numbers, [](int64_t number) { return std::to_string(number); }), ", ") +
         (numbers.size() == 1 ? ",)" : ")");
}

static ArrayRef<int64_t> shapeOf(const DashTensor &tensor) {
  return ArrayRef(tensor.shape, tensor.rank);
}
static ArrayRef<int64_t> stridesOf(const DashTensor &tensor) {
  return ArrayRef(tensor.strides, tensor.rank);
}
static bool isEmpty(const DashTensor &tensor) { return is_contained(shapeOf(tensor), 0); }

static Outcome checkShape(const TensorSpec &spec, const Shape &shape, const DashTensor &tensor) {
  if (tensor.element != spec.element)
    return refuse(spec, "expected elements of " + spell(spec.element) + ", found " +
                            spell(tensor.element));
  if (tensor.rank != spec.shape.size()) {
    std::string found = tensor.rank > DASH_MAX_RANK
                            ? std::to_string(tensor.rank) + " of them"
                            : "shape " + spellTuple(shapeOf(tensor)) + " with " +
                                  std::to_string(tensor.rank) + " strides";
    return refuse(spec, "expected the dimensions " + spell(spec) + ", found " + found);
  }
  for (auto [i, expression] : enumerate(spec.shape)) {
    if (tensor.shape[i] == shape[i])
      continue;
    std::string wanted = expression.getNames().empty() ? "" : expression.getText() + " = ";
    return refuse(spec, "expected " + wanted + Twine(shape[i]) + ", found " +
                            Twine(tensor.shape[i]) + " in shape " + spellTuple(shapeOf(tensor)) +
                            " of " + spell(spec));
  }
  return std::nullopt;
}

/// False if each dimension steps over everything that the finer ones reach. Strides are positive.
static bool meetsItself(const DashTensor &tensor) {
  SmallVector<std::pair<int64_t, int64_t>, DASH_MAX_RANK> steps;
  for (unsigned i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] > 1)
      steps.push_back({tensor.strides[i], tensor.shape[i]});
  llvm::sort(steps);
  __int128 reach = 1;
  for (auto [stride, size] : steps) {
    if (stride < reach)
      return true;
    reach += __int128(size - 1) * stride;
  }
  return false;
}

static Outcome checkStrides(const TensorSpec &spec, const DashTensor &tensor) {
  if (isEmpty(tensor))
    return std::nullopt;
  unsigned last = tensor.rank - 1;
  if (tensor.shape[last] > 1 && tensor.strides[last] != 1)
    return refuse(spec, "expected the innermost dimension to be contiguous, found a stride of " +
                            Twine(tensor.strides[last]) + " elements; pass a contiguous copy");
  for (unsigned i = 0; i < last; ++i)
    if (tensor.shape[i] > 1 && (tensor.strides[i] <= 0 || tensor.strides[i] % spec.strideMultiple))
      return refuse(spec, "expected strides that are positive multiples of " +
                              Twine(spec.strideMultiple) + " elements, found " +
                              spellTuple(stridesOf(tensor)) + " for shape " +
                              spellTuple(shapeOf(tensor)));
  if (spec.isWritten && meetsItself(tensor))
    return refuse(spec, "elements of an output share memory: strides " +
                            spellTuple(stridesOf(tensor)) + " for shape " +
                            spellTuple(shapeOf(tensor)));
  return std::nullopt;
}

/// Addresses from the first element to just behind the last one.
struct Range {
  uint64_t start, end;
  unsigned index;
};

static Outcome checkAddress(const TensorSpec &spec, const DashTensor &tensor, Range &range) {
  if (tensor.address == 0)
    return refuse(spec, "expected memory, found a null pointer");
  if (tensor.address % spec.alignment)
    return refuse(spec, "expected an address that is a multiple of " + Twine(spec.alignment) +
                            " bytes, found 0x" + utohexstr(tensor.address, /*LowerCase=*/true));
  __int128 elements = 1;
  for (unsigned i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] > 1)
      elements += __int128(tensor.shape[i] - 1) * tensor.strides[i];
  if (elements > (__int128(UINT64_MAX) - tensor.address) / bytesOf(tensor.element))
    return refuse(spec, "expected memory below 2^64, found strides " +
                            spellTuple(stridesOf(tensor)) + " for shape " +
                            spellTuple(shapeOf(tensor)));
  range.start = tensor.address;
  range.end = tensor.address + static_cast<uint64_t>(elements) * bytesOf(tensor.element);
  return std::nullopt;
}

/// Bytes that the tensor needs in each period: those of all dimensions that do not step by whole
/// periods.
static uint64_t windowIn(const DashTensor &tensor, uint64_t period) {
  uint64_t itemBytes = bytesOf(tensor.element), bytes = itemBytes;
  for (unsigned i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] > 1 && tensor.strides[i] * itemBytes % period)
      bytes += (tensor.shape[i] - 1) * tensor.strides[i] * itemBytes;
  return bytes;
}

/// True if two tensors with overlapping ranges provably share no byte: they interleave, like slices
/// of one packed tensor. For some period, a's bytes repeat with it and stay in one window of it,
/// and b's bytes stay in another window.
static bool interleave(const DashTensor &a, const DashTensor &b) {
  for (const DashTensor *tensor : {&a, &b})
    for (unsigned i = 0; i < tensor->rank; ++i) {
      if (tensor->shape[i] <= 1)
        continue;
      uint64_t period = tensor->strides[i] * uint64_t(bytesOf(tensor->element));
      uint64_t windowA = windowIn(a, period), windowB = windowIn(b, period);
      uint64_t distance = b.address >= a.address
                              ? (b.address - a.address) % period
                              : (period - (a.address - b.address) % period) % period;
      if (windowA <= distance && windowB <= period - distance)
        return true;
    }
  return false;
}

static Outcome checkOverlap(const Manifest &manifest, ArrayRef<DashTensor> tensors,
                            MutableArrayRef<Range> ranges) {
  // Sorts by first address: a tensor can only overlap those that begin before it ends.
  llvm::sort(ranges, [&](const Range &a, const Range &b) {
    return a.start != b.start ? a.start < b.start
                              : manifest.tensors[a.index].name < manifest.tensors[b.index].name;
  });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].start < ranges[i].end; ++j) {
      const TensorSpec *one = &manifest.tensors[ranges[i].index],
                       *other = &manifest.tensors[ranges[j].index];
      if (!one->isWritten)
        std::swap(one, other);
      if (one->isWritten && !interleave(tensors[ranges[i].index], tensors[ranges[j].index]))
        return refuse(*one, "this output shares memory with " + other->name);
    }
  return std::nullopt;
}

Outcome mlir::dash::launch::checkShapes(const Manifest &manifest, ArrayRef<Shape> shapes,
                                        ArrayRef<DashTensor> tensors) {
  if (tensors.size() != manifest.tensors.size())
    return fail(DASH_INVALID_ARGUMENT, "expected " + Twine(manifest.tensors.size()) +
                                           " tensors, found " + Twine(tensors.size()));
  for (auto [i, spec] : enumerate(manifest.tensors))
    if (Outcome wrong = checkShape(spec, shapes[i], tensors[i]))
      return wrong;
  return std::nullopt;
}

Outcome mlir::dash::launch::checkTensors(const Manifest &manifest, ArrayRef<Shape> shapes,
                                         ArrayRef<DashTensor> tensors,
                                         ArrayRef<std::pair<const char *, DashMemory>> blocks) {
  if (Outcome wrong = checkShapes(manifest, shapes, tensors))
    return wrong;
  for (auto [i, spec] : enumerate(manifest.tensors))
    if (Outcome wrong = checkStrides(spec, tensors[i]))
      return wrong;
  SmallVector<Range, 16> ranges;
  for (auto [i, spec] : enumerate(manifest.tensors)) {
    if (isEmpty(tensors[i]))
      continue;
    ranges.push_back({0, 0, static_cast<unsigned>(i)});
    if (Outcome wrong = checkAddress(spec, tensors[i], ranges.back()))
      return wrong;
    for (const auto &[name, block] : blocks)
      if (ranges.back().start < block.address + block.bytes && block.address < ranges.back().end)
        return refuse(spec, Twine("this tensor shares memory with the ") + name);
  }
  return checkOverlap(manifest, tensors, ranges);
}
