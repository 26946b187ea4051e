//===- KernelAttrs.cpp - attributes that describe kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what one attribute alone determines; lib/Target/VerifyKernelModule.cpp compares attributes
// with each other.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/Support/Limits.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// A program
//===----------------------------------------------------------------------===//

LogicalResult FactsAttr::verify(EmitError emitError, Type element, int64_t headDim,
                                int64_t headDimV, MaskAttr mask, TilesAttr tiles, StringRef,
                                DeterminismLevel, bool isOrdered, int64_t parts, int64_t workers,
                                int64_t width, int64_t minWorkers, FloatAttr, Apart apart,
                                bool overlapsRounding, TensorSide own, int64_t cut) {
  if (!isa<BFloat16Type, Float16Type>(element))
    return emitError() << "'element' must be bf16 or f16, got " << element;
  for (auto [name, value] : {std::pair<StringRef, int64_t>("head_dim", headDim),
                             {"head_dim_v", headDimV},
                             {"parts", parts},
                             {"workers", workers},
                             {"width", width},
                             {"min_workers", minWorkers}})
    if (value < 1)
      return emitError() << "'" << name << "' must be at least 1, got " << value;
  for (auto [name, value] : {std::pair<StringRef, int64_t>("workers", workers), {"width", width}})
    if (value > maxWorkers)
      return emitError() << "'" << name << "' must be at most " << maxWorkers << ", got " << value;
  if (minWorkers > workers)
    return emitError() << "'min_workers' must be at most the workers, " << workers << ", got "
                       << minWorkers;
  if (apart != Apart::None && !isOrdered)
    return emitError() << "'apart' keeps contributions by their turns, and this program has none";
  if (own == TensorSide::Q && (parts > 1 || apart != Apart::None || overlapsRounding))
    return emitError() << "items that own q tiles add nothing to memory: they have no parts, keep "
                          "nothing apart, and leave no sums to round";
  if (failed(verifyCut(emitError, cut, tiles, own)) ||
      failed(verifyFold(emitError, tiles, mask, own)))
    return failure();
  if (overlapsRounding && (!isOrdered || apart != Apart::None))
    return emitError() << "'overlaps_rounding' wants sums that grow in turns, and this program has "
                          "none, or keeps contributions apart";
  return success();
}

LogicalResult SizeAttr::verify(EmitError emitError, StringRef name, int64_t min, int64_t max) {
  if (min < 1 || max < min)
    return emitError() << "size '" << name << "' must be from at least 1 to no less, got " << min
                       << " to " << max;
  return success();
}

static LogicalResult verifyAlignment(EmitError emitError, StringRef name, int64_t alignment) {
  if (alignment > 0 && llvm::isPowerOf2_64(alignment))
    return success();
  return emitError() << "alignment of '" << name << "' must be a power of two, got " << alignment;
}

LogicalResult TensorAttr::verify(EmitError emitError, TensorRoleAttr role, ArrayRef<StringAttr>,
                                 int64_t alignment, int64_t strideMultiple) {
  StringRef name = role.getName();
  if (role.getAccess() == TensorAccess::Sum)
    return emitError() << "sums of '" << name
                       << "' are in the workspace, and no launcher passes them";
  if (failed(verifyAlignment(emitError, name, alignment)))
    return failure();
  if (strideMultiple < 1)
    return emitError() << "strides of '" << name << "' must be multiples of at least 1, got "
                       << strideMultiple;
  return success();
}

LogicalResult RegionAttr::verify(EmitError emitError, StringRef name, StringRef, int64_t alignment,
                                 RegionBefore, RegionAfter) {
  return verifyAlignment(emitError, name, alignment);
}

/// A manifest is JSON and repeats the texts of a program and of its entries.
static LogicalResult verifyTexts(EmitError emitError, ArrayRef<StringRef> texts) {
  for (StringRef text : texts)
    if (!llvm::json::isUTF8(text))
      return emitError() << "texts must be UTF-8, which a manifest is written in, got '"
                         << llvm::json::fixUTF8(text) << "'";
  return success();
}

static auto valuesOf(ArrayRef<StringAttr> attrs) {
  return llvm::map_range(attrs, [](StringAttr attr) { return attr.getValue(); });
}

LogicalResult OrderSourceAttr::verify(EmitError emitError, OrderSource source, StringRef text,
                                      SearchAttr search, CostAttr cost) {
  if (!search != !cost || (search && source == OrderSource::Entry))
    return emitError()
           << "an order that was searched for is a file, and has both a search and its costs";
  if (!text.empty())
    return success();
  if (source == OrderSource::Entry)
    return emitError() << "the order's entry must have a name";
  return emitError() << "the order's file must have a command that makes it";
}

template <typename... Lists>
static LogicalResult verifyNames(EmitError emitError, StringRef what, Lists... lists) {
  llvm::StringSet<> names;
  auto verify = [&](auto attr) {
    if (names.insert(attr.getName()).second)
      return true;
    emitError() << "two " << what << " are called '" << attr.getName() << "'";
    return false;
  };
  return success((llvm::all_of(lists, verify) && ...));
}

LogicalResult ProgramAttr::verify(EmitError emitError, StringRef name, FactsAttr facts,
                                  ArrayRef<SizeAttr> sizes, ArrayRef<ConstraintAttr> constraints,
                                  ArrayRef<DerivedAttr> derived, ArrayRef<TensorAttr> tensors,
                                  ArrayRef<TensorMapAttr>, ArrayRef<RegionAttr> workspace,
                                  OrderSourceAttr order, TraceAttr trace) {
  if (name.empty())
    return emitError() << "a program must have a name";
  SmallVector<StringRef> texts = {name, facts.getKind(), order.getText()};
  for (SizeAttr size : sizes)
    texts.push_back(size.getName());
  for (ConstraintAttr constraint : constraints)
    texts.append({constraint.getExpression(), constraint.getMessage()});
  for (DerivedAttr size : derived)
    texts.append({size.getName(), size.getExpression()});
  for (TensorAttr tensor : tensors) {
    texts.push_back(tensor.getName());
    llvm::append_range(texts, valuesOf(tensor.getShape()));
  }
  for (RegionAttr region : workspace)
    texts.append({region.getName(), region.getBytes()});
  if (trace) {
    llvm::append_range(texts, valuesOf(trace.getLanes()));
    llvm::append_range(texts, valuesOf(trace.getNames()));
  }
  if (failed(verifyTexts(emitError, texts)))
    return failure();
  return failure(failed(verifyNames(emitError, "sizes", sizes, derived)) ||
                 failed(verifyNames(emitError, "tensors", tensors)) ||
                 failed(verifyNames(emitError, "regions", workspace)));
}

bool ProgramAttr::isParameterName(StringRef name) const {
  auto isCalledSo = [&](auto attr) { return attr.getName() == name; };
  if (name == "workers" || name == "width" || name == "scale" ||
      llvm::any_of(getSizes(), isCalledSo) || llvm::any_of(getDerived(), isCalledSo))
    return true;
  if (name.consume_front("workspace."))
    return llvm::any_of(getWorkspace(), isCalledSo);
  for (StringRef stride : {".stride.batch", ".stride.head", ".stride.row"})
    if (name.consume_back(stride))
      break;
  return llvm::any_of(getTensors(), isCalledSo);
}

bool ProgramAttr::isList() const {
  return llvm::any_of(getDerived(), [](DerivedAttr size) { return size.getName() == "sequences"; });
}

ProgramAttr ProgramAttr::withRegion(RegionAttr region) const {
  SmallVector<RegionAttr> regions(getWorkspace());
  regions.push_back(region);
  return get(getContext(), getName(), getFacts(), getSizes(), getConstraints(), getDerived(),
             getTensors(), getMaps(), regions, getOrder(), getTrace());
}

TensorRoleAttr ProgramAttr::findTensor(TensorKind kind) const {
  for (TensorAttr tensor : getTensors())
    if (tensor.getRole().getKind() == kind)
      return tensor.getRole();
  return nullptr;
}

int64_t ProgramAttr::rowsOfTile(TensorRoleAttr tensor) const {
  TilesAttr tiles = getFacts().getTiles();
  return tensor.isKeyValue() ? tiles.getKv() : tiles.getQ();
}

bool ProgramAttr::isApart(TensorRoleAttr tensor) const {
  Apart apart = getFacts().getApart();
  return apart == Apart::All || (apart == Apart::Parts && tensor.isKeyValue());
}

SmallVector<TensorRoleAttr> ProgramAttr::getSummed() const {
  SmallVector<TensorRoleAttr> summed;
  if (getFacts().ownsQ())
    return summed;
  for (TensorAttr tensor : getTensors())
    if (TensorRoleAttr role = tensor.getRole();
        role.isTile() && role.isWritten() && (!role.isKeyValue() || getFacts().getParts() > 1))
      summed.push_back(role);
  return summed;
}

std::optional<int64_t> ProgramAttr::findMap(TensorRoleAttr tensor) const {
  for (auto [number, map] : llvm::enumerate(getMaps()))
    if (map.getTensor() == tensor)
      return number;
  return std::nullopt;
}

ProgramAttr ProgramAttr::withMaps(ArrayRef<TensorMapAttr> maps) const {
  return get(getContext(), getName(), getFacts(), getSizes(), getConstraints(), getDerived(),
             getTensors(), maps, getWorkspace(), getOrder(), getTrace());
}

ProgramAttr ProgramAttr::withTrace(TraceAttr trace) const {
  ProgramAttr all =
      withRegion(RegionAttr::get(getContext(), "trace", trace.getBytes(),
                                 /*alignment=*/128, RegionBefore::Any, RegionAfter::Any));
  return get(getContext(), getName(), getFacts(), getSizes(), getConstraints(), getDerived(),
             getTensors(), getMaps(), all.getWorkspace(), getOrder(), trace);
}

//===----------------------------------------------------------------------===//
// A trace
//===----------------------------------------------------------------------===//

LogicalResult TraceAttr::verify(EmitError emitError, TraceLevel, int64_t every, int64_t records,
                                ArrayRef<StringAttr> lanes, ArrayRef<StringAttr> names) {
  if (every < 1 || every > maxEvery)
    return emitError() << "a trace has one item in 1 to " << maxEvery << ", got one in " << every;
  if (records <= headRecords || records > maxRecords)
    return emitError() << "a lane of a trace has from " << headRecords + 1 << " to " << maxRecords
                       << " records, got " << records;
  if (lanes.empty() || lanes.size() > maxNames)
    return emitError() << "a trace has from 1 to " << maxNames << " lanes, got " << lanes.size();
  if (names.size() > maxNames)
    return emitError() << "a trace has up to " << maxNames << " names, got " << names.size();
  return success();
}

std::string TraceAttr::getBytes() const {
  return std::to_string(recordBytes * getRecords() * getLanes().size()) + "*workers";
}

//===----------------------------------------------------------------------===//
// An entry
//===----------------------------------------------------------------------===//

LogicalResult EntryAttr::verify(EmitError emitError, EntryRole, EntryWhen,
                                ArrayRef<StringAttr> grid, ArrayRef<int32_t> block,
                                ArrayRef<int32_t> cluster, int64_t sharedBytes, bool, bool) {
  if (grid.size() != 3)
    return emitError() << "a grid must have three expressions, got " << grid.size();
  for (auto [name, extent] :
       {std::pair<StringRef, ArrayRef<int32_t>>("block", block), {"cluster", cluster}})
    if (extent.size() != 3 || llvm::any_of(extent, [](int32_t n) { return n < 1; })) {
      InFlightDiagnostic error = emitError()
                                 << "'" << name << "' must be three numbers of at least 1, got [";
      llvm::interleaveComma(extent, error);
      return error << "]";
    }
  if (sharedBytes < 0)
    return emitError() << "'shared_bytes' must be at least 0, got " << sharedBytes;
  return verifyTexts(emitError, llvm::to_vector(valuesOf(grid)));
}
