//===- PlanBuffers.cpp - registers, and places in shared memory -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on the tiles of channels only. This pass refuses nothing: dash-check-resources alone
// compares what a plan needs with what there is.
//
//===----------------------------------------------------------------------===//

#include "RegisterEstimate.h"
#include "dash/IR/Consumers.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {
#define GEN_PASS_DEF_PLANBUFFERS
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Places tiles one after the other.
class Layout {
public:
  /// Returns an aligned start, and moves the end `bytes` beyond it.
  int64_t add(int64_t bytes, int64_t alignment) {
    int64_t start = llvm::alignTo(end, alignment);
    end = start + bytes;
    return start;
  }
  int64_t getEnd() const { return end; }

private:
  int64_t end = reservedBytes;
};

struct Place {
  int64_t offset = 0, stride = 0;
};

/// Places the slots of all channels. Records the place of each tile by channel and position in the
/// slot.
class Placement {
public:
  explicit Placement(WorkersOp workers) {
    // Ordered by the first channel of each depth, so that an item's tiles come first.
    for (ChannelOp channel : workers.getChannels()) {
      byDepth[channel.getDepth()].push_back(channel);
      places[channel].resize(channel.getType().getElements().size());
    }
    placeBarriers();
    for (auto &[depth, channels] : byDepth)
      placeTiles(depth, channels);
    for (auto &[channel, tiles] : places)
      placeRows(channel);
  }

  int64_t getBytes() const { return layout.getEnd(); }

  /// Writes the places to the IR.
  void apply() {
    Builder b(places.front().first->getContext());
    for (auto &[channel, tiles] : places) {
      auto offsets = llvm::map_to_vector(tiles, [](Place place) { return place.offset; });
      auto strides = llvm::map_to_vector(tiles, [](Place place) { return place.stride; });
      ChannelOp op = channel;
      op.setOffsets(offsets);
      op.setStrides(strides);
      op.setBarriers(barriers[channel]);
    }
  }

private:
  static int64_t rankOf(ChannelOp channel, unsigned element) {
    auto tile = dyn_cast<RankedTensorType>(channel.getType().getElements()[element]);
    return tile ? tile.getRank() : 0;
  }

  /// In the reserved bytes: the barriers of all channels, full and empty, then the slots' headers,
  /// 16 bytes each.
  void placeBarriers() {
    int64_t next = 0;
    for (auto &[channel, elements] : places) {
      int64_t bytes = channel.getDepth() * barrierBytes;
      barriers[channel] = {next, next + bytes};
      next += 2 * bytes;
    }
    next = llvm::alignTo(next, indexBytesOfSlot);
    for (auto &[channel, elements] : places) {
      unsigned first = channel.getType().getNumTiles();
      for (unsigned i = first; i < elements.size(); ++i)
        elements[i] = {next + 4 * (i - first), indexBytesOfSlot};
      if (first < elements.size())
        next += channel.getDepth() * indexBytesOfSlot;
    }
  }

  /// Slot s of all these channels, then slot s + 1 of all: one number addresses a stage. With one
  /// slot there is no stage, and the stride is the tile's size.
  void placeTiles(int64_t depth, ArrayRef<ChannelOp> channels) {
    int64_t start = layout.add(0, tileAlignment);
    for (ChannelOp channel : channels)
      for (unsigned i = 0; i < places[channel].size(); ++i)
        if (int64_t bytes = channel.getType().getElementBytes(i); rankOf(channel, i) == 2)
          places[channel][i] = {layout.add(bytes, tileAlignment),
                                int64_t(llvm::alignTo(bytes, tileAlignment))};
    int64_t period = llvm::alignTo(layout.getEnd() - start, tileAlignment);
    layout.add(start + depth * period - layout.getEnd(), 1);
    if (depth == 1)
      return;
    for (ChannelOp channel : channels)
      for (auto [i, place] : llvm::enumerate(places[channel]))
        if (rankOf(channel, i) == 2)
          place.stride = period;
  }

  void placeRows(ChannelOp channel) {
    for (unsigned i = 0; i < places[channel].size(); ++i) {
      if (rankOf(channel, i) != 1)
        continue;
      int64_t stride = llvm::alignTo(channel.getType().getElementBytes(i), rowAlignment);
      places[channel][i] = {layout.add(channel.getDepth() * stride, rowAlignment), stride};
    }
  }

  Layout layout;
  llvm::MapVector<int64_t, SmallVector<ChannelOp>> byDepth;
  llvm::MapVector<ChannelOp, SmallVector<Place, 2>> places;
  llvm::DenseMap<Value, SmallVector<int64_t, 2>> barriers; // looked up only
};

struct PlanBuffers : public dash::impl::PlanBuffersBase<PlanBuffers> {
  using PlanBuffersBase::PlanBuffersBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) { all.push_back(workers); });
    if (all.empty())
      getOperation()->emitWarning() << "no 'dash.workers' to plan; run --dash-assign-roles first";
    const TargetDescription *described =
        findTarget(target, [&] { return getOperation()->emitError(); });
    if (!described)
      return signalPassFailure();
    for (WorkersOp workers : all) {
      planWarps(workers);
      planRegisters(workers, *described);
      Placement placement(workers);
      if (!workers.getChannels().empty())
        placement.apply();
      workers.setSharedBytes(placement.getBytes());
      numBytes += placement.getBytes();
    }
  }

private:
  /// A warp of the role that adds serves one slot.
  static void planWarps(WorkersOp workers) {
    for (ChannelOp channel : workers.getChannels())
      if (channel.isPerStep())
        for (RoleOp reader : getReaders(channel))
          if (!reader.isConsumer())
            reader.setWarps(channel.getDepth());
  }

  static void planRegisters(WorkersOp workers, const TargetDescription &target) {
    int64_t multiplying = 0;
    for (RoleOp role : workers.getRoles())
      multiplying += role.isConsumer() ? role.getWarps() : 0;
    DealtRegisters dealt = dealRegisters(target, workers.getNumWarps(), multiplying);
    workers.setRegisters(dealt.atLaunch);
    for (RoleOp role : workers.getRoles())
      role.setRegisters(role.isConsumer() ? dealt.multiplying : dealt.moving);
  }
};

} // namespace
