//===- KernelCoverage.h - which programs kernels cover ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list for the pass that refuses a program early, for the lowerings that rely on it, and for
// front ends that ask before they begin (dash-c/Coverage.h).
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PIPELINE_KERNELCOVERAGE_H
#define DASH_PIPELINE_KERNELCOVERAGE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The head dims of q and k, and of v: multiples of the step up to the maximum, so that a row of
/// memory is whole 16-byte chunks.
constexpr int64_t kernelHeadDimStep = 8, mostKernelHeadDim = 128, mostPartHeadDim = 256;
/// Columns of tiles, ascending. Those behind the maximum are of forwards, and of parts of the
/// gradients: dK and dV, or dQ.
constexpr int64_t kernelWidths[] = {64, 96, mostKernelHeadDim, 192, mostPartHeadDim};
/// Rows of tiles.
constexpr int64_t kernelQTiles[] = {64, 128}, kernelKvTile = 128;
/// The fewest rows of a kv tile that a program of a part of the gradients takes by itself.
constexpr int64_t leastPartKvTile = 48;

/// Alignment of a tensor: its address in bytes, and all strides except the innermost, which is 1,
/// in elements.
struct TensorPlace {
  int64_t alignment, strideMultiple;
};
/// Rows of half precision move in 16-byte pieces, f32 and i32 numbers one by one.
constexpr TensorPlace matrixPlace = {16, 8}, numberPlace = {4, 1};

/// The properties that must be among the cases that kernels cover. Elements and masks are not
/// listed: kernels support all of the dialect's.
struct KernelCase {
  int64_t headDim, headDimV;
  TilesAttr tiles;
  TensorSide own = TensorSide::KV; ///< q: a forward, or dQ
  bool isPart = false;             ///< dK and dV alone
};

/// The most rows of a sequence: with more, an index of an order buffer's words might not fit 32
/// bits.
constexpr int64_t maxKernelRows = int64_t(1) << 21;
/// The most heads of a sequence, and sequences of a batch or a list: the limit of a grid's
/// dimensions except the first.
constexpr int64_t maxKernelHeads = (int64_t(1) << 16) - 1;

/// All items of a function are loops of one problem: they have one order, and gradients of their
/// own.
LogicalResult verifyOneProblem(ArrayRef<ItemsOp> found);

/// Fails, naming the head dims that kernels have, if these are others. A forward, and a part of the
/// gradients, have more than a program of all gradients.
LogicalResult verifyHeadDims(int64_t headDim, int64_t headDimV, bool isPart,
                             llvm::function_ref<InFlightDiagnostic()> emitError);
/// Fails, stating what kernels cover, if `one` is not covered.
LogicalResult verifyCovered(const KernelCase &one,
                            llvm::function_ref<InFlightDiagnostic()> emitError);
/// Fails, naming the size, if a stated size of a tensor (batch, heads, rows, …) is more than
/// kernels serve.
LogicalResult verifySizes(llvm::ArrayRef<int64_t> shape, bool isKeyValue,
                          llvm::function_ref<InFlightDiagnostic()> emitError);
/// Whether kernels have this head dim, for q and k or for v.
bool isKernelHeadDim(int64_t headDim, bool isPart = false);
/// The head dims of kernels, for messages.
std::string describeKernelHeadDims(bool isPart = false);
/// Columns of tiles of Q, K and their gradients, and of those of V, O and theirs.
struct TileWidths {
  int64_t ofQ, ofV;
  /// As `columns_v` of `#dash.tiling`: 0 where they are those of Q.
  int64_t getOwnOfV() const { return ofV == ofQ ? 0 : ofV; }
};
/// The columns of tiles at these head dims: the least width with room. A program of all gradients
/// has one for all tensors. Forwards and parts of the gradients have one for each head dim.
TileWidths kernelWidthsOf(int64_t headDim, int64_t headDimV, bool isPart);
/// Whether a program of dK and dV can keep dS for one of dQ: its gradients have a warpgroup each.
bool canKeepDs(int64_t headDim, int64_t headDimV);
/// Whether items are those of a forward.
bool isForward(ItemsOp items);
/// Fails, stating what kernels cover, if a program of a part of the gradients has more: it adds
/// nothing in memory.
LogicalResult verifyPart(ItemsOp items, ScheduleOp schedule);
/// Whether steps of items add to sums in memory, as those of a program with dQ among others do.
bool addsSums(Operation *root);
/// Fails, naming the tile, if a tile has other columns than kernels have for its tensor.
LogicalResult verifyWidths(ItemsOp items);
/// Fails, stating what runs them, if items own q tiles and are no forward: no kernel does.
LogicalResult verifyIsKernel(ItemsOp items);
/// Fails, stating what kernels cover, if a forward's scale is neither an argument nor above 0: only
/// then are hidden scores, -inf, the lowest.
LogicalResult verifyForward(ItemsOp items);
/// Fails, stating what to run, if the order is not proven.
LogicalResult verifyProven(ScheduleOp schedule, llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_PIPELINE_KERNELCOVERAGE_H
