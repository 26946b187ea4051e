//===- ConvertMemory.cpp - copies, the ordered add, and turns -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread executes these ops: the only one of a producer or a reducer, or an elected one of a
// warpgroup.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/Entries/MaskEmitter.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/TaskTiles.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The coordinates of a panel, from those of its tile: panels are a dimension of the tensor, or
/// ranges of its columns.
static SmallVector<Value> panelAt(PtxBuilder &b, TensorMapAttr map, SmallVector<Value> tile,
                                  int64_t panel) {
  if (map.fillsPanels())
    tile[2] = b.i32(panel);
  else
    tile[0] = b.i32(panel * map.getLayout().getColumnsOfPanel());
  return tile;
}

static constexpr int64_t bytesOfHalf = 2;

/// Where a tile of a task begins: behind that of zeros.
static Value taskAt(PtxBuilder &b, const MainKernel &kernel, TensorRoleAttr tasks, Value number) {
  Value stride = kernel.parameter((tasks.getName() + ".stride." + strideOfTasks).str());
  return b.offset(kernel.parameter(tasks.getName()),
                  b.mul(b.mul(b.toI64(number), stride), int64_t(bytesOfHalf)));
}

/// The number of the first of a q tile's tiles with a kv tile.
static Value numberOfTask(PtxBuilder &b, const MainKernel &kernel, Value sequence, Value head,
                          Value firstQ, Value kvTile) {
  Value kvTiles = b.ceilDiv(kernel.kvRows, rowsOfTaskTile);
  Value qTiles = b.mul(b.ceilDiv(kernel.qRows, qTilesOfTasks * rowsOfTaskTile), qTilesOfTasks);
  Value row = b.add(b.mul(b.add(b.mul(sequence, kernel.heads), head), kvTiles), kvTile);
  return b.add(b.add(b.mul(row, qTiles), firstQ), 1);
}

namespace {

struct ConvertCopyIn : KernelPattern<CopyInOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(CopyInOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    ChannelOp channel = channelOf(op);
    Value slot = word(b, adaptor.getSlot());
    Value to = kernel.element(b, channel, op.getElement(), slot);
    Value full = kernel.barrier(b, channel, BarrierSide::Full, slot);
    Value sequence = sequenceWord(b, adaptor.getSequence()), head = word(b, adaptor.getHead());
    Value tile = word(b, adaptor.getTile());
    TensorRoleAttr tensor = roleOf(op.getSource());
    auto type = cast<RankedTensorType>(channel.getType().getElements()[op.getElement()]);
    if (tensor.getKind() == TensorKind::Tasks) {
      copyTask(b, op, type, sequence, head, tile, word(b, adaptor.getOther()[1]), to, full);
    } else if (type.getRank() == 2) {
      Value row = b.mul(tile, type.getDimSize(0) / (tensor.isKeyValue() ? 1 : kernel.fold()));
      SmallVector<Value> at =
          kernel.coordinates(b, tensor.isKeyValue(), sequence, head, row, b.i32(0));
      Value descriptor = kernel.descriptor(b, tensor);
      TensorMapAttr map = kernel.map(tensor);
      SwizzledAttr layout = map.getLayout();
      int64_t panels = type.getDimSize(1) / layout.getColumnsOfPanel();
      int64_t bytes = layout.getPanelBytes(type.getShape());
      for (int64_t panel = 0; panel < panels; panel += map.getPanels())
        hopper::copyTile(b, descriptor, panelAt(b, map, at, panel),
                         panel ? b.add(to, panel * bytes) : to, full);
    } else {
      Value rows = kernel.region(rowsRegion(tensor));
      int64_t bytes = channel.getType().getElementBytes(op.getElement());
      Value number = kernel.tileIndex(b, sequence, head, tile);
      hopper::copyBytes(b, b.offset(rows, b.mul(b.toI64(number), bytes)), bytes, to, full);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// 64 rows of q at a time: what the mask hides whole is copied from the tile of zeros.
  void copyTask(PtxBuilder &b, CopyInOp op, RankedTensorType type, Value sequence, Value head,
                Value qTile, Value kvTile, Value to, Value full) const {
    TensorRoleAttr tasks = roleOf(op.getSource());
    int64_t kvRows = type.getDimSize(0), qRows = type.getDimSize(1);
    int64_t count = qRows / rowsOfTaskTile;
    Value first = numberOfTask(b, kernel, sequence, head, b.mul(qTile, count), kvTile);
    TileBand band = {LeadEdges(op.getMask()->getEdges()).band, qRows, kvRows};
    MaskEmitter mask(b, band, b.sub(kernel.kvRows, kernel.qRows));
    Value lead = mask.lastVisible(qTile, kvTile);
    for (int64_t part : llvm::seq(count)) {
      Value number = b.add(first, part);
      if (lead) {
        Value lastColumn = b.add(lead, (part + 1) * rowsOfTaskTile - 1);
        number = b.choose(b.below(lastColumn, 0), b.i32(0), number);
      }
      hopper::copyBytes(b, taskAt(b, kernel, tasks, number), bytesOfTaskTile,
                        b.add(to, part * bytesOfTaskTile), full);
    }
  }
};

struct ConvertCopyTaskOut : KernelPattern<CopyTaskOutOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(CopyTaskOutOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value number =
        numberOfTask(b, kernel, word(b, adaptor.getSequence()), word(b, adaptor.getHead()),
                     word(b, adaptor.getTile()), word(b, adaptor.getKvTile()));
    Value from = kernel.element(b, channelOf(op), 0, word(b, adaptor.getSlot()));
    hopper::storeBytes(b, from, taskAt(b, kernel, roleOf(op.getTarget()), number), bytesOfTaskTile,
                       /*evictLast=*/false);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertCopyOut : KernelPattern<CopyOutOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(CopyOutOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's warpgroup has rows of a slot");
    PtxBuilder b(op.getLoc(), rewriter);
    ChannelOp channel = channelOf(op);
    auto shape =
        cast<RankedTensorType>(channel.getType().getElements()[op.getElement()]).getShape();
    constexpr int64_t rowsOfOne = FragmentAttr::rowsOfWarpgroup;
    Value at = kernel.element(b, channel, op.getElement(), word(b, adaptor.getSlot()));
    Value tile = word(b, adaptor.getTile()), head = word(b, adaptor.getHead());
    Value sequence = word(b, adaptor.getSequence());
    b.ifThen(b.equal(consumer->place.vector, 0), [&] {
      TensorRoleAttr tensor = roleOf(op.getTarget());
      Value descriptor = kernel.descriptor(b, tensor);
      int64_t fold = tensor.isKeyValue() ? 1 : kernel.fold();
      Value firstRow =
          consumer->ofWarpgroup(b, [&](int64_t one) { return rowsOfOne / fold * one; });
      Value row = b.add(b.mul(tile, shape[0] / fold), firstRow);
      SmallVector<Value> at5 =
          kernel.coordinates(b, tensor.isKeyValue(), sequence, head, row, b.i32(0));
      TensorMapAttr map = kernel.map(tensor);
      SwizzledAttr layout = map.getLayout();
      int64_t ofPanel = layout.getColumnsOfPanel(), firstColumn = op.getSlice() * shape[1];
      // The last slice may be narrower than the slot, and its last panel than a panel: the map ends
      // where the tensor does.
      int64_t columns = std::min(shape[1], tensor.getTileColumns() - firstColumn);
      for (int64_t column = 0; column < columns; column += ofPanel) {
        int64_t panel = (firstColumn + column) / ofPanel;
        Value offset = consumer->ofWarpgroup(
            b, [&](int64_t one) { return layout.getOffset(shape, rowsOfOne * one, column); });
        hopper::storeTile(b, b.add(at, offset), descriptor, panelAt(b, map, at5, panel));
      }
      hopper::commitCopies(b);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The ordered add
//===----------------------------------------------------------------------===//

/// An op on sums of tiles: those of queries and, with parts, those of keys.
template <typename OpT> struct SumPattern : KernelPattern<OpT> {
  using KernelPattern<OpT>::KernelPattern;
  using typename KernelPattern<OpT>::Adaptor;

  static TensorRoleAttr tensor(OpT op) { return roleOf(op.getSums()); }
  Value number(PtxBuilder &b, OpT op, Adaptor adaptor) const {
    Value sequence = this->sequenceWord(b, adaptor.getSequence());
    Value head = this->word(b, adaptor.getHead());
    Value tile = this->word(b, adaptor.getTile());
    return tensor(op).isKeyValue() ? this->kernel.pieceIndex(b, sequence, head, tile)
                                   : this->kernel.tileIndex(b, sequence, head, tile);
  }
  Value counter(PtxBuilder &b, OpT op, Adaptor adaptor) const {
    Value tile = number(b, op, adaptor);
    return b.offset(this->kernel.region(turnsRegion(tensor(op))), b.mul(b.toI64(tile), 4));
  }
  static int64_t bytes(ChannelOp channel) { return channel.getType().getElementBytes(0); }
  Value source(PtxBuilder &b, OpT op, Adaptor adaptor) const {
    Value slot = this->word(b, adaptor.getSlot());
    return this->kernel.element(b, this->channelOf(op), 0, slot);
  }
  Value sums(PtxBuilder &b, OpT op, Adaptor adaptor) const {
    Value tile = number(b, op, adaptor);
    return b.offset(this->kernel.region(sumsRegion(tensor(op))),
                    b.mul(b.toI64(tile), bytes(this->channelOf(op))));
  }
};

struct ConvertAcquireTurn : SumPattern<AcquireTurnOp> {
  using SumPattern::SumPattern;

  LogicalResult matchAndRewrite(AcquireTurnOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    hopper::waitAcquire(b, counter(b, op, adaptor), word(b, adaptor.getTurn()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertReleaseTurn : SumPattern<ReleaseTurnOp> {
  using SumPattern::SumPattern;

  LogicalResult matchAndRewrite(ReleaseTurnOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = counter(b, op, adaptor);
    b.ifElse(
        b.equal(word(b, adaptor.getIsLast()), 0),
        [&] {
          hopper::addRelease(b, at);
          return SmallVector<Value>{};
        },
        [&] {
          if (op.getSignalsCompletion())
            hopper::storeRelease(b, at, b.i32(sumIsComplete));
          else
            hopper::storeRelaxed(b, at, b.i32(sumIsComplete));
          return SmallVector<Value>{};
        });
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertCountTurns : SumPattern<CountTurnsOp> {
  using SumPattern::SumPattern;

  LogicalResult matchAndRewrite(CountTurnsOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value isLast = b.equal(word(b, adaptor.getIsLast()), 1);
    b.ifThen(isLast, [&] {
      Value count = b.add(word(b, adaptor.getTurn()), 1);
      hopper::storeRelaxed(b, counter(b, op, adaptor), count);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertBulkAdd : SumPattern<BulkAddOp> {
  using SumPattern::SumPattern;

  LogicalResult matchAndRewrite(BulkAddOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value from = source(b, op, adaptor);
    hopper::addFloats(b, from, sums(b, op, adaptor), bytes(channelOf(op)), op.getEvictLast());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertBulkStore : SumPattern<BulkStoreOp> {
  using SumPattern::SumPattern;

  LogicalResult matchAndRewrite(BulkStoreOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value from = source(b, op, adaptor);
    Value to = op.getTurn() ? contribution(b, op, adaptor) : sums(b, op, adaptor);
    hopper::storeBytes(b, from, to, bytes(channelOf(op)), op.getEvictLast());
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The slot of the turn. Each tile has as many slots as there are kv tiles, or parts.
  Value contribution(PtxBuilder &b, BulkStoreOp op, Adaptor adaptor) const {
    Value turns = tensor(op).isKeyValue()
                      ? b.i64(kernel.numParts())
                      : b.toI64(b.ceilDiv(kernel.kvRows, kernel.rowsOfKvTile()));
    Value first = b.mul(b.toI64(number(b, op, adaptor)), turns);
    Value slot = b.add(first, b.toI64(word(b, adaptor.getTurn())));
    Value slots = kernel.region(contributionsRegion(tensor(op)));
    return b.offset(slots, b.mul(slot, bytes(channelOf(op))));
  }
};

struct ConvertDelay : KernelPattern<DelayOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(DelayOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    hopper::sleepSometime(b);
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Between warpgroups: each consumer has two named barriers for each of its n warpgroups, and they
// begin with barrier 1. Barrier i of a consumer passes the tensor core to its warpgroup i. Barrier
// n + i is for the threads of warpgroup i alone.
//===----------------------------------------------------------------------===//

/// An op of a consumer that becomes a barrier only.
template <typename OpT> struct BarrierPattern : KernelPattern<OpT> {
  using KernelPattern<OpT>::KernelPattern;
  using typename KernelPattern<OpT>::Adaptor;

  LogicalResult matchAndRewrite(OpT op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = this->kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's warpgroups have barriers");
    PtxBuilder b(op.getLoc(), rewriter);
    emit(b, op, *consumer);
    rewriter.eraseOp(op);
    return success();
  }

private:
  static constexpr int64_t threads = FragmentAttr::threadsOfWarpgroup;

  static Value barrier(PtxBuilder &b, const ConsumerValues &of,
                       llvm::function_ref<int64_t(int64_t)> number) {
    return of.ofWarpgroup(b, [&](int64_t one) { return of.firstBarrier + number(one); });
  }
  static void emit(PtxBuilder &b, TakeTensorCoreOp, const ConsumerValues &of) {
    if (of.warpgroups > 1)
      hopper::syncNamed(b, barrier(b, of, [](int64_t one) { return one; }), 2 * threads);
  }
  static void emit(PtxBuilder &b, GiveTensorCoreOp, const ConsumerValues &of) {
    auto next = [&](int64_t one) { return (one + 1) % of.warpgroups; };
    if (of.warpgroups > 1)
      hopper::arriveNamed(b, barrier(b, of, next), 2 * threads);
  }
  static void emit(PtxBuilder &b, SyncWarpgroupOp, const ConsumerValues &of) {
    auto own = [&](int64_t one) { return of.warpgroups + one; };
    hopper::syncNamed(b, barrier(b, of, own), threads);
  }
};

} // namespace

void dash::populateMemoryPatterns(const TypeConverter &types, const MainKernel &kernel,
                                  RewritePatternSet &patterns) {
  patterns.add<ConvertCopyIn, ConvertCopyTaskOut, ConvertCopyOut, ConvertAcquireTurn,
               ConvertReleaseTurn, ConvertCountTurns, ConvertBulkAdd, ConvertBulkStore,
               ConvertDelay, BarrierPattern<TakeTensorCoreOp>, BarrierPattern<GiveTensorCoreOp>,
               BarrierPattern<SyncWarpgroupOp>>(types, patterns.getContext(), kernel);
}
