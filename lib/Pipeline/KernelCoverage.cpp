//===- KernelCoverage.cpp - which programs kernels cover ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Pipeline/KernelCoverage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::verifyCovered(const KernelCase &one,
                                  function_ref<InFlightDiagnostic()> emitError) {
  auto spell = [](ArrayRef<int64_t> numbers) {
    auto texts = llvm::map_range(numbers, [](int64_t one) { return std::to_string(one); });
    return llvm::join(texts, " and ");
  };
  if (!llvm::is_contained(kernelHeadDims, one.headDim) || one.headDimV != one.headDim)
    return emitError() << "kernels cover head dims " << spell(kernelHeadDims)
                       << ", the same for q and v, got " << one.headDim << " and " << one.headDimV;
  int64_t q = one.tiles.getQ(), kv = one.tiles.getKv();
  if (!llvm::is_contained(kernelQTiles, q) || kv != kernelKvTile)
    return emitError() << "kernels cover q tiles of " << spell(kernelQTiles)
                       << " rows and kv tiles of " << kernelKvTile << ", got " << q << " and "
                       << kv;
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

LogicalResult dash::verifyWidths(ItemsOp items) {
  auto check = [](Operation *op, RankedTensorType tile, MemRefType tensor) {
    if (tile.getRank() == 1 || tile.getShape().back() == tensor.getShape().back())
      return WalkResult::advance();
    op->emitError() << "kernels take tiles with the columns of their tensors, "
                    << tensor.getShape().back() << ", got " << tile.getShape().back()
                    << ": tile without 'widths' (--dash-tile)";
    return WalkResult::interrupt();
  };
  WalkResult result = items.walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<LoadOp>(op))
      return check(op, load.getType(), load.getSource().getType());
    if (auto store = dyn_cast<StoreOp>(op))
      return check(op, store.getValue().getType(), store.getTarget().getType());
    return WalkResult::advance();
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
