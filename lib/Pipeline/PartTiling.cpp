//===- PartTiling.cpp - tilings of a part of the gradients ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PartTiling.h"
#include "RegisterEstimate.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/KernelCoverage.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t bytesOfHalf = 2, bytesOfSum = 4;

/// The channels that a part has. Where products of steps overlap, Q and dO of a step share slots.
static constexpr TilingChannel partChannels[] = {TilingChannel::K, TilingChannel::V,
                                                 TilingChannel::Q, TilingChannel::DOut};

static int64_t registersOfTile(int64_t columns, int64_t bytes) {
  return registersOf(FragmentAttr::rowsOfWarpgroup * columns * bytes,
                     FragmentAttr::threadsOfWarpgroup);
}

int64_t PartTiling::getWarpgroups() const {
  return (ownsQ ? tiles.q : tiles.kv) / FragmentAttr::rowsOfWarpgroup;
}

int64_t PartTiling::countConsumers() const {
  return !ownsQ && 2 * registersOfTile(columns, bytesOfSum) > mostRegistersOfSums ? 2 : 1;
}

TilingAttr PartTiling::getAttr(MLIRContext *context) const {
  Builder b(context);
  auto split = SplitAttr::get(context, getWarpgroups(), 1);
  SmallVector<NamedAttribute> splits, named;
  for (StringRef product : ownsQ ? SmallVector<StringRef>{"dp", "dq", "s"}
                                 : SmallVector<StringRef>{"dk", "dp", "dv", "s"})
    splits.push_back(b.getNamedAttr(product, split));
  bool sharesSlots = !ownsQ && structure == WarpStructure::Overlapping;
  for (TilingChannel channel : partChannels) {
    bool isShared = channel == TilingChannel::Q || channel == TilingChannel::DOut;
    if (!sharesSlots || !isShared)
      named.push_back(
          b.getNamedAttr(tilingChannels[size_t(channel)], b.getI64IntegerAttr(slots.of(channel))));
  }
  if (sharesSlots)
    named.push_back(b.getNamedAttr(sharedChannel, b.getI64IntegerAttr(slots.of(TilingChannel::Q))));
  named.push_back(b.getNamedAttr("out", b.getI64IntegerAttr(slotsOut)));
  return TilingAttr::get(context, TilesAttr::get(context, tiles.q, tiles.kv), columns, structure,
                         b.getDictionaryAttr(splits), b.getArrayAttr({}),
                         b.getDictionaryAttr(named));
}

int64_t PartTiling::countRegisters() const {
  int64_t walked = ownsQ ? tiles.kv : tiles.q;
  int64_t sums = (ownsQ || countConsumers() == 2 ? 1 : 2) * registersOfTile(columns, bytesOfSum);
  // S and dP; beside them what is rounded, of the step before where products overlap.
  int64_t inFlight = 2 * registersOfTile(walked, bytesOfSum);
  int64_t rows =
      ownsQ ? 2 * FragmentAttr::registersPerRow : 2 * registersOfRows(walked * bytesOfSum);
  if (structure == WarpStructure::Overlapping)
    inFlight += (ownsQ || countConsumers() == 2 ? 1 : 2) * registersOfTile(walked, bytesOfHalf);
  return sums + inFlight + rows + registersForAddresses;
}

int64_t PartTiling::getMostRegisters(const TargetDescription &target) const {
  int64_t multiplying = countConsumers() * getWarpgroups() * warpsOfWarpgroup;
  return dealRegisters(target, warpsOfWarpgroup + multiplying, multiplying).multiplying;
}

int64_t PartTiling::countSharedBytes() const {
  auto tile = [](int64_t rows, int64_t columns) {
    return int64_t(llvm::alignTo(rows * columns * bytesOfHalf, tileAlignment));
  };
  int64_t ofQ = tile(tiles.q, columns) + llvm::alignTo(tiles.q * bytesOfSum, rowAlignment);
  // Results leave by panels: those of q rows as wide as a panel, those of kv rows as a factor of q.
  constexpr int64_t columnsOfPanel = SwizzledAttr::mostBytes / bytesOfHalf;
  int64_t ofOut = ownsQ ? tile(tiles.q, columnsOfPanel) : tile(tiles.kv, tiles.q);
  return reservedBytes + (slots.of(TilingChannel::Q) + slots.of(TilingChannel::DOut)) * ofQ +
         (slots.of(TilingChannel::K) + slots.of(TilingChannel::V)) * tile(tiles.kv, columns) +
         countConsumers() * slotsOut * ofOut;
}

namespace {
/// Slots of K, V, Q and dO, and those through which results leave.
struct SlotsOfPart {
  int64_t k, v, q, dOut, out;
};
} // namespace

FailureOr<PartTiling> dash::choosePartTiling(AttentionBwdOp op,
                                             const TilingConstraints &constraints,
                                             const TargetDescription &target) {
  if (failed(constraints.verifyChannels(partChannels, "a part of the gradients",
                                        [&] { return op.emitError(); })))
    return failure();
  auto orAll = [](int64_t asked, ArrayRef<int64_t> all) -> SmallVector<int64_t> {
    return asked ? SmallVector<int64_t>{asked} : llvm::to_vector(all);
  };
  // What stays is loaded once an item. What is walked has a slot more where there is room: dQ reads
  // K a step behind S.
  constexpr SlotsOfPart ofQ[] = {
      {3, 3, 1, 1, 2}, {2, 2, 1, 1, 2}, {2, 1, 1, 1, 2}, {2, 1, 1, 1, 1}};
  constexpr SlotsOfPart ofKv[] = {
      {2, 2, 4, 4, 2}, {1, 1, 4, 4, 2}, {1, 1, 3, 3, 2}, {1, 1, 2, 2, 2}};
  PartTiling tiling;
  tiling.ownsQ = op.ownsQ();
  tiling.columns = kernelWidthOf(op.getHeadDim(), op.getHeadDimV());
  // Warpgroups of one role hide each other's element-wise work where they alternate. Roles of dK
  // and dV take no turns, so the products of each run beside its own.
  SmallVector<WarpStructure> structures = {WarpStructure::Overlapping, WarpStructure::Alternating};
  if (tiling.countConsumers() == 1)
    std::swap(structures[0], structures[1]);
  if (constraints.structure != StructureChoice::Fitting)
    structures = {constraints.structure == StructureChoice::Overlapping
                      ? WarpStructure::Overlapping
                      : WarpStructure::Alternating};
  SmallVector<int64_t> rowsOfQ = orAll(constraints.tiles.q, tiling.ownsQ ? 128 : 64);
  SmallVector<int64_t> rowsOfKv =
      tiling.ownsQ
          ? orAll(constraints.tiles.kv, {64, leastPartKvTile})
          : orAll(constraints.tiles.kv,
                  tiling.countConsumers() == 2 ? FragmentAttr::rowsOfWarpgroup : kernelKvTile);
  std::string reason;
  for (int64_t kv : rowsOfKv)
    for (WarpStructure structure : structures)
      for (const SlotsOfPart &wanted : tiling.ownsQ ? ArrayRef(ofQ) : ArrayRef(ofKv)) {
        tiling.tiles = {rowsOfQ.front(), kv};
        tiling.structure = structure;
        auto tiles = TilesAttr::get(op.getContext(), tiling.tiles.q, tiling.tiles.kv);
        if (failed(verifyCovered({op.getHeadDim(), op.getHeadDimV(), tiles,
                                  tiling.ownsQ ? TensorSide::Q : TensorSide::KV, /*isPart=*/true},
                                 [&] { return op.emitError(); })))
          return failure();
        tiling.slots = {{wanted.k, wanted.v, wanted.q, wanted.dOut, 0, 0}};
        tiling.slotsOut = wanted.out;
        for (TilingChannel channel : partChannels)
          if (int64_t asked = constraints.slots.of(channel))
            tiling.slots.of(channel) = asked;
        if (!tiling.ownsQ && structure == WarpStructure::Overlapping)
          tiling.slots.of(TilingChannel::DOut) = tiling.slots.of(TilingChannel::Q);
        reason = refusalOfRoom(tiling.countSharedBytes(), tiling.countRegisters(),
                               tiling.getMostRegisters(target),
                               "another structure, or fewer rows of tiles", target);
        if (reason.empty())
          return tiling;
      }
  return op.emitError() << "has no tiling that the options leave and that fits: " << reason;
}
