//===- ForwardTiling.cpp - how a forward is cut into tiles ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ForwardTiling.h"
#include "RegisterEstimate.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Schedule/ForwardRows.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t bytesOfHalf = 2, bytesOfSum = 4;

int64_t ForwardTiling::getWarpgroups() const { return tiles.q / FragmentAttr::rowsOfWarpgroup; }

/// The channels that a forward has.
static constexpr TilingChannel forwardChannels[] = {TilingChannel::K, TilingChannel::V,
                                                    TilingChannel::Q};

TilingAttr ForwardTiling::getAttr(MLIRContext *context) const {
  Builder b(context);
  auto split = SplitAttr::get(context, getWarpgroups(), 1);
  SmallVector<NamedAttribute> splits, named;
  for (StringRef product : {"o", "s"})
    splits.push_back(b.getNamedAttr(product, split));
  for (TilingChannel channel : forwardChannels)
    named.push_back(b.getNamedAttr(nameOf(channel), b.getI64IntegerAttr(slots.of(channel))));
  SmallVector<Attribute> hold;
  if (holdsQ)
    hold.push_back(b.getStringAttr(nameOf(TilingChannel::Q)));
  return TilingAttr::get(context, TilesAttr::get(context, tiles.q, tiles.kv), widths.ofQ,
                         widths.getOwnOfV(), structure, b.getDictionaryAttr(splits),
                         b.getArrayAttr(hold), b.getDictionaryAttr(named));
}

int64_t ForwardTiling::countRegisters() const {
  constexpr int64_t threads = FragmentAttr::threadsOfWarpgroup,
                    rows = FragmentAttr::rowsOfWarpgroup;
  auto ofTile = [&](int64_t columns, int64_t bytes) {
    return registersOf(rows * columns * bytes, threads);
  };
  // O; S, and P rounded beside it; Q; references, sums and factors of two rows.
  return ofTile(widths.ofV, bytesOfSum) + ofTile(tiles.kv, bytesOfSum) +
         ofTile(tiles.kv, bytesOfHalf) + (holdsQ ? ofTile(widths.ofQ, bytesOfHalf) : 0) +
         3 * FragmentAttr::registersPerRow + registersForAddresses;
}

int64_t ForwardTiling::getMostRegisters(const TargetDescription &target) const {
  int64_t multiplying = getWarpgroups() * warpsOfWarpgroup;
  return dealRegisters(target, warpsOfWarpgroup + multiplying, multiplying).multiplying;
}

int64_t ForwardTiling::countSharedBytes() const {
  auto tile = [](int64_t rows, int64_t columns) {
    return int64_t(llvm::alignTo(rows * columns * bytesOfHalf, tileAlignment));
  };
  // O leaves by panels.
  constexpr int64_t mostColumnsOfPanel = SwizzledAttr::mostBytes / bytesOfHalf;
  return reservedBytes + slots.of(TilingChannel::Q) * tile(tiles.q, widths.ofQ) +
         slots.of(TilingChannel::K) * tile(tiles.kv, widths.ofQ) +
         slots.of(TilingChannel::V) * tile(tiles.kv, widths.ofV) +
         slotsOfWayOut * tile(tiles.q, mostColumnsOfPanel);
}

/// Three warpgroups hide exponentials better than two, where registers hold their tiles, and read K
/// and V less often. Blocks of a bitmap are rarely multiples of 192 rows.
static int64_t rowsOfQ(AttentionFwdOp op, const TileWidths &widths) {
  constexpr int64_t mostColumnsOfThree = 96, rowsOfThree = 3 * FragmentAttr::rowsOfWarpgroup;
  if (std::max(widths.ofQ, widths.ofV) <= mostColumnsOfThree && !op.getMask().getBlocks())
    return rowsOfThree;
  return rowsOfForward(op.getHeadDim(), op.getHeadDimV()).q;
}

/// Whether registers hold Q, so that the tensor core reads it from shared memory once an item, and
/// not in each step. Below 128 columns that gains nothing: exponentials bind. Items of lists do not
/// begin ahead, and would wait for the registers. ptxas serializes products if it has few registers
/// beside Q, as at head dim 192.
static bool holdsQ(AttentionFwdOp op, ForwardTiling tiling, const TargetDescription &target) {
  constexpr int64_t leastColumns = 128;
  tiling.holdsQ = true;
  return !op.getSequencesAttr() && tiling.widths.ofQ >= leastColumns &&
         tiling.countRegisters() + registersForAddresses <= tiling.getMostRegisters(target);
}

FailureOr<ForwardTiling> dash::chooseForwardTiling(AttentionFwdOp op,
                                                   const TilingConstraints &constraints,
                                                   const TargetDescription &target) {
  if (failed(
          constraints.verifyChannels(forwardChannels, "a forward", [&] { return op.emitError(); })))
    return failure();
  auto orElse = [](int64_t asked, int64_t otherwise) { return asked ? asked : otherwise; };
  ForwardTiling tiling;
  tiling.widths = kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/true);
  tiling.tiles = {
      orElse(constraints.tiles.q, rowsOfQ(op, tiling.widths)),
      orElse(constraints.tiles.kv, rowsOfForward(op.getHeadDim(), op.getHeadDimV()).kv)};
  tiling.structure = constraints.structure == StructureChoice::Alternating
                         ? WarpStructure::Alternating
                         : WarpStructure::Overlapping;
  auto tiles = TilesAttr::get(op.getContext(), tiling.tiles.q, tiling.tiles.kv);
  if (failed(verifyCovered({op.getHeadDim(), op.getHeadDimV(), tiles, TensorSide::Q},
                           [&] { return op.emitError(); })))
    return failure();
  tiling.holdsQ = holdsQ(op, tiling, target);
  std::string reason;
  // Slots of K, V and Q. A second slot of Q hides the load of the next item's, unless registers
  // hold Q, and leave its slot. A third slot of K or V costs up to 2 % (history.md, "Q in
  // registers"). One slot is missed least by K: S gives it back before the softmax.
  constexpr int64_t candidates[][3] = {{2, 2, 2}, {2, 2, 1}, {1, 2, 1}};
  for (auto [k, v, q] : ArrayRef(candidates).drop_front(tiling.holdsQ ? 1 : 0)) {
    SlotCounts wanted = {{k, v, q}};
    for (TilingChannel channel : forwardChannels)
      tiling.slots.of(channel) = orElse(constraints.slots.of(channel), wanted.of(channel));
    reason = refusalOfRoom(tiling.countSharedBytes(), tiling.countRegisters(),
                           tiling.getMostRegisters(target), "fewer rows of tiles", target);
    if (reason.empty())
      return tiling;
  }
  return op.emitError() << "has no tiling that the options leave and that fits: " << reason;
}
