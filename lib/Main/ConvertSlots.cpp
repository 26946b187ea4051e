//===- ConvertSlots.cpp - slots, their barriers and contents --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slot is a number. Addresses are computed from it where they are needed, so roles carry one
// counter and no addresses.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ConvertRing : KernelPattern<RingOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(RingOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    int64_t depth = channelOf(op).getDepth();
    Value use = word(b, adaptor.getUse());
    Value slot = llvm::isPowerOf2_64(depth) ? b.bitAnd(use, depth - 1) : b.remainder(use, depth);
    Value phase = b.bitAnd(b.quotient(use, depth), 1);
    rewriter.replaceOp(op, {index(b, slot), index(b, phase)});
    return success();
  }
};

struct ConvertMbarrierWait : KernelPattern<MbarrierWaitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(MbarrierWaitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = kernel.barrier(b, channelOf(op), op.getSide(), word(b, adaptor.getSlot()));
    Value phase = word(b, adaptor.getPhase());
    // A slot that was never used is empty: its barrier counts the phase before the first as
    // complete.
    if (op.getSide() == BarrierSide::Empty)
      phase = b.bitXor(phase, b.i32(1));
    hopper::wait(b, at, phase);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertMbarrierArrive : KernelPattern<MbarrierArriveOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(MbarrierArriveOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    bool isByWarp = op.getScope() == ArriveScope::Warp;
    if (isByWarp && !consumer)
      return rewriter.notifyMatchFailure(op, "only warps of a consumer run together");
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = kernel.barrier(b, channelOf(op), op.getSide(), word(b, adaptor.getSlot()));
    if (isByWarp) {
      hopper::syncWarp(b);
      hopper::arriveIf(b, b.equal(consumer->place.lane, 0), at);
    } else {
      hopper::arrive(b, at);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertMbarrierExpect : KernelPattern<MbarrierExpectOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(MbarrierExpectOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = kernel.barrier(b, channelOf(op), BarrierSide::Full, word(b, adaptor.getSlot()));
    hopper::arriveExpecting(b, at, op.getBytes());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertWriteIndices : KernelPattern<WriteIndicesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(WriteIndicesOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    ChannelOp channel = channelOf(op);
    Value slot = word(b, adaptor.getSlot());
    unsigned first = channel.getType().getNumTiles();
    for (auto [i, value] : llvm::enumerate(adaptor.getIndices()))
      hopper::storeWord(b, word(b, value), kernel.element(b, channel, first + i, slot));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertReadIndices : KernelPattern<ReadIndicesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ReadIndicesOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    ChannelOp channel = channelOf(op);
    Value slot = word(b, adaptor.getSlot());
    unsigned first = channel.getType().getNumTiles(), count = op.getIndices().size();
    SmallVector<Value> words;
    if (areSideBySide(channel, first, count))
      words = hopper::loadWords4(b, kernel.element(b, channel, first, slot), 0);
    else
      for (unsigned i : llvm::seq(count))
        words.push_back(hopper::loadWord(b, kernel.element(b, channel, first + i, slot)));
    for (Value &value : words)
      value = index(b, b.uniform(value));
    rewriter.replaceOp(op, words);
    return success();
  }

private:
  /// Whether one 16-byte load reads all of them.
  static bool areSideBySide(ChannelOp channel, unsigned first, unsigned count) {
    ArrayRef<int64_t> offsets = *channel.getOffsets(), strides = *channel.getStrides();
    bool result = count == 4 && offsets[first] % 16 == 0;
    for (unsigned i = 0; result && i < count; ++i)
      result = offsets[first + i] == offsets[first] + 4 * i && strides[first + i] % 16 == 0;
    return result;
  }
};

struct ConvertSlotTile : KernelPattern<SlotTileOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(SlotTileOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value slot = word(b, adaptor.getSlot());
    rewriter.replaceOp(op, kernel.element(b, channelOf(op), op.getElement(), slot));
    return success();
  }
};

/// Where the warpgroup's part of sums begins in memory.
static Value memoryOffsetOf(PtxBuilder &b, const ConsumerValues &consumer, FragmentAttr layout,
                            ArrayRef<int64_t> shape) {
  return consumer.ofWarpgroup(b, [&](int64_t one) { return layout.getMemoryOffset(shape, one); });
}

/// Where the warpgroup's rows begin in a slot.
static Value rowsOffsetOf(PtxBuilder &b, const ConsumerValues &consumer, FragmentAttr layout,
                          SwizzledAttr panels, ArrayRef<int64_t> shape) {
  return consumer.ofWarpgroup(
      b, [&](int64_t one) { return panels.getOffset(shape, layout.getFirstRow(one), 0); });
}

struct ConvertLoadRow : KernelPattern<LoadRowOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(LoadRowOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only threads of a consumer hold vectors");
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = kernel.element(b, channelOf(op), op.getElement(), word(b, adaptor.getSlot()));
    int64_t columns = op.getResult().getType().getDimSize(0);
    FragmentAttr layout = fragmentOf(op.getResult().getType());
    SmallVector<Value> registers =
        layout && layout.getKind() == FragmentKind::PerRow
            ? loadRowNumbers(b, consumer->place, at, firstRowOf(b, *consumer, layout))
            : loadColumns(b, consumer->place, at, columns);
    rewriter.replaceOpWithMultiple(op, {ValueRange(registers)});
    return success();
  }
};

struct ConvertLoadFragment : KernelPattern<LoadFragmentOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(LoadFragmentOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getType());
    if (!consumer || !layout || layout.getKind() != FragmentKind::Accumulator)
      return rewriter.notifyMatchFailure(op, "only threads of a consumer hold sums");
    PtxBuilder b(op.getLoc(), rewriter);
    ArrayRef<int64_t> shape = op.getType().getShape();
    Value at = kernel.element(b, channelOf(op), op.getElement(), word(b, adaptor.getSlot()));
    SmallVector<Value> registers =
        loadFragment(b, consumer->place, b.add(at, memoryOffsetOf(b, *consumer, layout, shape)),
                     layout.getNumRegisters(shape));
    rewriter.replaceOpWithMultiple(op, {ValueRange(registers)});
    return success();
  }
};

/// If products overlap, a step needs all registers. So work done once an item reads the thread's
/// place again.
static ThreadPlace placeOf(PtxBuilder &b, Operation *op, const ConsumerValues &consumer,
                           bool isOnceAnItem) {
  bool isFull = op->getParentOfType<WorkersOp>().getStructure() == WarpStructure::Overlapping;
  return isOnceAnItem && isFull ? ThreadPlace::readAnew(b) : consumer.place;
}

struct ConvertLoadFactor : KernelPattern<LoadFactorOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(LoadFactorOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getType());
    SwizzledAttr panels = swizzledOf(op.getTile().getType());
    if (!consumer || !layout || !panels)
      return rewriter.notifyMatchFailure(op, "a consumer's threads load factors that lie in slots");
    PtxBuilder b(op.getLoc(), rewriter);
    ArrayRef<int64_t> shape = op.getType().getShape();
    SmallVector<Value> words = loadRows(
        b, placeOf(b, op, *consumer, /*isOnceAnItem=*/true),
        b.add(adaptor.getTile().front(), rowsOffsetOf(b, *consumer, layout, panels, shape)), panels,
        panels.getPanelBytes(shape), layout.getNumRegisters(shape));
    rewriter.replaceOpWithMultiple(op, {ValueRange(words)});
    return success();
  }
};

struct ConvertStoreFragment : KernelPattern<StoreFragmentOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(StoreFragmentOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getValue().getType());
    if (!consumer || !layout || layout.getKind() == FragmentKind::PerColumn)
      return rewriter.notifyMatchFailure(op,
                                         "only parts of tiles that a consumer holds are stored");
    PtxBuilder b(op.getLoc(), rewriter);
    auto slot = cast<RankedTensorType>(channelOf(op).getType().getTiles()[op.getElement()]);
    ArrayRef<int64_t> shape = slot.getShape();
    // A tile that leaves may be wider than the slot, or narrower.
    size_t ofSlot = layout.getNumRegisters(shape), first = op.getSlice().value_or(0) * ofSlot;
    size_t count = std::min(ofSlot, adaptor.getValue().size() - first);
    ValueRange registers = adaptor.getValue().slice(first, count);
    Value at = kernel.element(b, channelOf(op), op.getElement(), word(b, adaptor.getSlot()));
    if (SwizzledAttr panels = swizzledOf(slot)) {
      bool isOnceAnItem = op.getSlice().has_value();
      storeRows(b, placeOf(b, op, *consumer, isOnceAnItem), registers,
                b.add(at, rowsOffsetOf(b, *consumer, layout, panels, shape)), panels,
                panels.getPanelBytes(shape));
    } else {
      storeFragment(b, consumer->place, registers,
                    b.add(at, memoryOffsetOf(b, *consumer, layout, shape)));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void dash::populateSlotPatterns(const TypeConverter &types, const MainKernel &kernel,
                                RewritePatternSet &patterns) {
  patterns.add<ConvertRing, ConvertMbarrierWait, ConvertMbarrierArrive, ConvertMbarrierExpect,
               ConvertWriteIndices, ConvertReadIndices, ConvertSlotTile, ConvertLoadRow,
               ConvertLoadFragment, ConvertLoadFactor, ConvertStoreFragment>(
      types, patterns.getContext(), kernel);
}
