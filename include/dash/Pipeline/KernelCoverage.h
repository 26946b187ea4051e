//===- KernelCoverage.h - which programs kernels cover ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list for the pass that refuses a program early, for the lowerings, which build on it, and for front ends, which ask
// before they begin (dash-c/Coverage.h).
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PIPELINE_KERNELCOVERAGE_H
#define DASH_PIPELINE_KERNELCOVERAGE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Columns of q and k, and of v, each a multiple of so many up to the most: a row of memory then is whole chunks of 16 bytes.
constexpr int64_t kernelHeadDimStep = 8, mostKernelHeadDim = 128;
/// Columns of tiles, in ascending order: those of all tensors of a problem are the least that have room for each.
constexpr int64_t kernelWidths[] = {64, 96, mostKernelHeadDim};
/// Rows of tiles.
constexpr int64_t kernelQTiles[] = {64, 128}, kernelKvTile = 128;

/// How a tensor must lie: its address a multiple of so many bytes, and all strides but the innermost, 1, of so many elements.
struct TensorPlace {
  int64_t alignment, strideMultiple;
};
/// Rows of half precision move in pieces of 16 bytes, numbers of f32 and i32 one by one.
constexpr TensorPlace matrixPlace = {16, 8}, numberPlace = {4, 1};

/// What has to be among the cases that kernels are made for. Elements and masks are not: kernels have what the dialect has.
struct KernelCase {
  int64_t headDim, headDimV;
  TilesAttr tiles;
};

/// Rows of a sequence; of more an index of an order buffer's words might not fit 32 bits.
constexpr int64_t maxKernelRows = int64_t(1) << 21;
/// Heads of a sequence, and sequences of a batch or of a list: a grid has so many blocks in each dimension but the first.
constexpr int64_t maxKernelHeads = (int64_t(1) << 16) - 1;

/// Says which head dims kernels have where these are others.
LogicalResult verifyHeadDims(int64_t headDim, int64_t headDimV,
                             llvm::function_ref<InFlightDiagnostic()> emitError);
/// Says what kernels cover where `one` is something else.
LogicalResult verifyCovered(const KernelCase &one,
                            llvm::function_ref<InFlightDiagnostic()> emitError);
/// Says which stated size of a tensor (batch, heads, rows, …) is more than kernels serve.
LogicalResult verifySizes(llvm::ArrayRef<int64_t> shape, bool isKeyValue,
                          llvm::function_ref<InFlightDiagnostic()> emitError);
/// Whether kernels have a head dim, of q and k or of v.
bool isKernelHeadDim(int64_t headDim);
/// What the head dims of kernels are, for messages.
std::string describeKernelHeadDims();
/// Columns of tiles at head dims of kernels.
int64_t kernelWidthOf(int64_t headDim, int64_t headDimV);
/// Says which tile has other columns than kernels have for its tensor.
LogicalResult verifyWidths(ItemsOp items);
/// Says what to run where nobody has proven an order.
LogicalResult verifyProven(ScheduleOp schedule, llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_PIPELINE_KERNELCOVERAGE_H
