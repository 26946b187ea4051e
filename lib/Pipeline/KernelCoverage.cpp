//===- KernelCoverage.cpp - which programs kernels cover ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Pipeline/KernelCoverage.h"
#include "RegisterEstimate.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

static int64_t mostHeadDim(bool isPart) { return isPart ? mostPartHeadDim : mostKernelHeadDim; }

bool dash::isKernelHeadDim(int64_t headDim, bool isPart) {
  return headDim > 0 && headDim <= mostHeadDim(isPart) && headDim % kernelHeadDimStep == 0;
}

std::string dash::describeKernelHeadDims(bool isPart) {
  return llvm::formatv("a head dim that is a multiple of {0} up to {1}", kernelHeadDimStep,
                       mostHeadDim(isPart));
}

/// A warpgroup has 64 rows of a kv tile, and one or two multiply.
static constexpr int64_t kernelKvTiles[] = {64, kernelKvTile};

TileWidths dash::kernelWidthsOf(int64_t headDim, int64_t headDimV, bool isPart) {
  auto widthOf = [](int64_t columns) {
    return *llvm::find_if(kernelWidths, [&](int64_t width) { return columns <= width; });
  };
  if (isPart)
    return {widthOf(headDim), widthOf(headDimV)};
  int64_t ofAll = widthOf(std::max(headDim, headDimV));
  return {ofAll, ofAll};
}

bool dash::canKeepDs(int64_t headDim, int64_t headDimV) {
  TileWidths widths = kernelWidthsOf(headDim, headDimV, /*isPart=*/true);
  return registersOf(FragmentAttr::rowsOfWarpgroup * (widths.ofQ + widths.ofV) * 4,
                     FragmentAttr::threadsOfWarpgroup) > mostRegistersOfSums;
}

LogicalResult dash::verifyHeadDims(int64_t headDim, int64_t headDimV, bool isPart,
                                   function_ref<InFlightDiagnostic()> emitError) {
  if (isKernelHeadDim(headDim, isPart) && isKernelHeadDim(headDimV, isPart))
    return success();
  auto error = emitError() << "kernels cover " << describeKernelHeadDims(isPart) << ", got "
                           << headDim << " of q and " << headDimV << " of v";
  if (!isPart && isKernelHeadDim(headDim, true) && isKernelHeadDim(headDimV, true))
    error.attachNote() << "up to " << mostPartHeadDim
                       << " they cover two programs, outs(dk = ..., dv = ...) and outs(dq = ...)";
  return error;
}

LogicalResult dash::verifyCovered(const KernelCase &one,
                                  function_ref<InFlightDiagnostic()> emitError) {
  auto spell = [](ArrayRef<int64_t> numbers) {
    auto texts = llvm::map_range(numbers, [](int64_t one) { return std::to_string(one); });
    return llvm::join(texts, " and ");
  };
  bool isPart = one.isPart || one.own == TensorSide::Q;
  if (failed(verifyHeadDims(one.headDim, one.headDimV, isPart, emitError)))
    return failure();
  int64_t q = one.tiles.getRowsOfQ(), kv = one.tiles.getKv();
  if (one.own == TensorSide::Q) {
    constexpr int64_t rowsOfStep = 16, mostRows = 256, mostWarpgroups = 3;
    constexpr int64_t rowsOfWarpgroup = FragmentAttr::rowsOfWarpgroup;
    if (kv % rowsOfStep == 0 && kv <= mostRows && q % rowsOfWarpgroup == 0 &&
        q <= mostWarpgroups * rowsOfWarpgroup)
      return success();
    return emitError()
           << "kernels of items that own q tiles cover q tiles of 64, 128 and 192 rows, and kv "
              "tiles of a multiple of "
           << rowsOfStep << " up to " << mostRows << ", got " << q << " and " << kv;
  }
  if (!llvm::is_contained(kernelQTiles, q) || !llvm::is_contained(kernelKvTiles, kv))
    return emitError() << "kernels cover q tiles of " << spell(kernelQTiles)
                       << " rows and kv tiles of " << spell(kernelKvTiles) << ", got " << q
                       << " and " << kv;
  return success();
}

LogicalResult dash::verifySizes(ArrayRef<int64_t> shape, bool isKeyValue,
                                function_ref<InFlightDiagnostic()> emitError) {
  std::tuple<StringRef, int64_t> limits[] = {{"batch", maxKernelHeads},
                                             {isKeyValue ? "kv_heads" : "heads", maxKernelHeads},
                                             {isKeyValue ? "kv_rows" : "q_rows", maxKernelRows}};
  for (auto [limit, size] : llvm::zip(limits, shape))
    if (auto [name, most] = limit; !ShapedType::isDynamic(size) && size > most)
      return emitError() << "kernels serve " << name << " up to " << most << ", got " << size;
  return success();
}

bool dash::addsSums(Operation *root) {
  return root
      ->walk([](Operation *op) {
        bool adds = isa<ReduceOp, OrderedReduceOp>(op) && op->getParentOfType<WalkOp>();
        return adds ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult dash::verifyWidths(ItemsOp items) {
  auto columnsOf = [](Value tensor) {
    return cast<MemRefType>(tensor.getType()).getShape().back();
  };
  bool isPart = items.ownsQ() || !addsSums(items);
  int64_t headDim = columnsOf(items.getQ()), headDimV = columnsOf(items.getV());
  TileWidths widths = kernelWidthsOf(headDim, headDimV, isPart);
  auto check = [&](Operation *op, RankedTensorType tile, MemRefType tensor) {
    if (tile.getRank() == 1)
      return WalkResult::advance();
    bool isOfV = tensor.getShape().back() == headDimV && headDimV != headDim;
    int64_t expected = isOfV ? widths.ofV : widths.ofQ;
    if (tile.getShape().back() == expected)
      return WalkResult::advance();
    auto isOfSide = [&](int64_t width) { return width <= mostHeadDim(isPart); };
    auto all = llvm::map_range(llvm::make_filter_range(kernelWidths, isOfSide),
                               [](int64_t one) { return std::to_string(one); });
    auto error = op->emitError() << "kernels take tiles of " << expected
                                 << " columns at these head dims, got " << tile.getShape().back()
                                 << " of a tensor with " << tensor.getShape().back() << ": ";
    if (widths.ofQ == widths.ofV)
      error << "tile with 'widths=" << llvm::join(all, ",") << "' (--dash-tile)";
    else
      error << "choose a tiling first (--dash-choose-tiling)";
    return WalkResult::interrupt();
  };
  WalkResult result = items.walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<LoadOp>(op); load && load.getOther().empty())
      return check(op, load.getType(), load.getSource().getType());
    if (auto store = dyn_cast<StoreOp>(op))
      return check(op, store.getValue().getType(), store.getTarget().getType());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult dash::verifyOneProblem(ArrayRef<ItemsOp> found) {
  ItemsOp last;
  llvm::SmallDenseSet<Value, 4> written; // looked up only
  for (ItemsOp items : found) {
    auto function = items->getParentOfType<FunctionOpInterface>();
    if (!function)
      return items.emitError() << "kernels are made of functions, and this stands in none";
    bool isFirst = !last || last->getParentOfType<FunctionOpInterface>() != function;
    if (isFirst)
      written.clear();
    bool isAnother = !isFirst && items.getOrderAttr() != last.getOrderAttr();
    items.walk([&](Operation *op) {
      if (auto store = dyn_cast<StoreOp>(op))
        isAnother |= !written.insert(store.getTarget()).second;
    });
    if (isAnother)
      return items.emitError() << "kernels cover one problem a function, and this is the second";
    last = items;
  }
  return success();
}

LogicalResult dash::verifyIsKernel(ItemsOp items) {
  auto function = items->getParentOfType<FunctionOpInterface>();
  bool hasOthers = false;
  if (items.ownsQ() && function)
    function.walk([&](ItemsOp other) { hasOthers |= !other.ownsQ(); });
  if (!hasOthers)
    return success();
  return items.emitError()
         << "kernels of items that own q tiles have a program of their own, and this one has items "
            "that own kv tiles too: run it on the CPU (--dash-lower-to-loops, dash-run), or write "
            "two programs, outs(dk = ..., dv = ...) and outs(dq = ...)";
}

bool dash::isForward(ItemsOp items) {
  return items.walk([](FinishOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

LogicalResult dash::verifyPart(ItemsOp items, ScheduleOp schedule) {
  bool hasSink = false;
  items->getParentOfType<FunctionOpInterface>().walk([&](SinkGradientOp) { hasSink = true; });
  if (hasSink)
    return items.emitError() << "kernels make a sink's gradient beside dq, dk and dv: write a "
                                "program of all gradients, or one without the sink";
  if (schedule.getParts() > 1)
    return items.emitError() << "kernels of a part of the gradients cover 1 part, got "
                             << schedule.getParts() << ": order the problem with parts=1";
  return success();
}

LogicalResult dash::verifyForward(ItemsOp items) {
  WalkResult result = items.walk([&](RunningMaxOp op) {
    Value scale = op.getScale();
    FloatAttr number;
    bool isNumber = scale && matchPattern(scale, m_Constant(&number));
    if (!scale || isa<BlockArgument>(scale) || (isNumber && number.getValueAsDouble() > 0))
      return WalkResult::advance();
    auto error = op.emitError() << "the scale must be an argument of the function, or a constant "
                                   "above 0";
    SmallString<16> text;
    if (isNumber) {
      number.getValue().toString(text);
      error << ", got " << text;
    }
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult dash::verifyProven(ScheduleOp schedule,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (schedule.getMinWorkers())
    return success();
  return emitError() << "order '@" << schedule.getSymName()
                     << "' is not proven: it has no min_workers; run --dash-verify-schedule first";
}
