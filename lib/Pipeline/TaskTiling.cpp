//===- TaskTiling.cpp - tilings of dQ whose dS is read --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product as of any two matrices. More rows of q let more products share a tile of K, and more
// slots bridge the time that copies take.
//
//===----------------------------------------------------------------------===//

#include "TaskTiling.h"
#include "RegisterEstimate.h"
#include "dash/IR/TaskTiles.h"
#include "dash/Pipeline/BufferPlan.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t bytesOfHalf = 2, bytesOfSum = 4;
static constexpr TilingChannel taskChannels[] = {TilingChannel::Ds, TilingChannel::K,
                                                 TilingChannel::Out};

int64_t TaskTiling::getWarpgroups() const { return tiles.q / FragmentAttr::rowsOfWarpgroup; }

TilingAttr TaskTiling::getAttr(MLIRContext *context) const {
  Builder b(context);
  auto split = b.getNamedAttr("dq", SplitAttr::get(context, getWarpgroups(), 1));
  SmallVector<NamedAttribute> named;
  for (TilingChannel channel : taskChannels)
    named.push_back(b.getNamedAttr(nameOf(channel), b.getI64IntegerAttr(slots.of(channel))));
  return TilingAttr::get(context, TilesAttr::get(context, tiles.q, tiles.kv), widths.ofQ,
                         widths.getOwnOfV(), structure, b.getDictionaryAttr(split),
                         b.getArrayAttr({}), b.getDictionaryAttr(named));
}

int64_t TaskTiling::countRegisters() const {
  return registersOf(FragmentAttr::rowsOfWarpgroup * widths.ofQ * bytesOfSum,
                     FragmentAttr::threadsOfWarpgroup) +
         registersForAddresses;
}

int64_t TaskTiling::getMostRegisters(const TargetDescription &target) const {
  int64_t multiplying = getWarpgroups() * warpsOfWarpgroup;
  return dealRegisters(target, warpsOfWarpgroup + multiplying, multiplying).multiplying;
}

int64_t TaskTiling::countSharedBytes() const {
  auto tile = [](int64_t rows, int64_t columns) {
    return int64_t(llvm::alignTo(rows * columns * bytesOfHalf, tileAlignment));
  };
  constexpr int64_t columnsOfPanel = SwizzledAttr::mostBytes / bytesOfHalf;
  return reservedBytes + slots.of(TilingChannel::Ds) * tile(tiles.kv, tiles.q) +
         slots.of(TilingChannel::K) * tile(tiles.kv, widths.ofQ) +
         slots.of(TilingChannel::Out) * tile(tiles.q, columnsOfPanel);
}

FailureOr<TaskTiling> dash::chooseTaskTiling(AttentionBwdOp op,
                                             const TilingConstraints &constraints,
                                             const TargetDescription &target) {
  auto emitError = [&] { return op.emitError(); };
  if (failed(constraints.verifyChannels(taskChannels, "dQ of a given dS", emitError)))
    return failure();
  TaskTiling tiling;
  tiling.widths = kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/true);
  tiling.tiles = {constraints.tiles.q ? constraints.tiles.q : 128,
                  constraints.tiles.kv ? constraints.tiles.kv : rowsOfTaskTile};
  auto tiles = TilesAttr::get(op.getContext(), tiling.tiles.q, tiling.tiles.kv);
  if (failed(verifyCovered(
          {op.getHeadDim(), op.getHeadDimV(), tiles, TensorSide::Q, /*isPart=*/true}, emitError)))
    return failure();
  if (tiling.tiles.kv != rowsOfTaskTile)
    return op.emitError() << "tiles of a given dS have " << rowsOfTaskTile << " rows of k, got "
                          << tiling.tiles.kv;
  if (constraints.structure == StructureChoice::Overlapping)
    return op.emitError("has one product in a step, so no others to overlap: drop 'structure'");
  std::string reason;
  for (auto [ds, k, out] :
       {std::array<int64_t, 3>{4, 4, 2}, {3, 3, 2}, {3, 3, 1}, {2, 2, 1}, {1, 1, 1}}) {
    tiling.slots = {};
    tiling.slots.of(TilingChannel::Ds) = ds;
    tiling.slots.of(TilingChannel::K) = k;
    tiling.slots.of(TilingChannel::Out) = out;
    for (TilingChannel channel : taskChannels)
      if (int64_t asked = constraints.slots.of(channel))
        tiling.slots.of(channel) = asked;
    reason = refusalOfRoom(tiling.countSharedBytes(), tiling.countRegisters(),
                           tiling.getMostRegisters(target), "fewer rows of tiles", target);
    if (reason.empty())
      return tiling;
  }
  return op.emitError() << "has no tiling that the options leave and that fits: " << reason;
}
