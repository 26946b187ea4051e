//===- ConvertOrder.cpp - reads of the order ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the list of this block's worker in the order buffer (for its format see OrderBuffer.h).
// Each item reads the starts of the buffer's sections again: roles that load and add have time, but
// few registers.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/Entries/MaskEmitter.h"
#include "dash/Entries/OrderTable.h"
#include "dash/Entries/Regions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t itemBytes = 4 * orderItemWords, visitBytes = 4 * orderVisitWords;

/// The start of the section to which a header word points.
static Value section(PtxBuilder &b, Value order, int64_t word) {
  return b.offset(order, b.mul(b.toI64(hopper::loadWordGlobal(b, order, 4 * word)), 4));
}

/// Two words: the list's first item, and the one after its last.
static Value listBounds(PtxBuilder &b, const MainKernel &kernel) {
  Value lists = section(b, kernel.region("order"), OrderFirstList);
  return b.offset(lists, b.mul(b.toI64(kernel.list(b)), 4));
}

namespace {

struct ConvertNumItems : KernelPattern<NumItemsOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(NumItemsOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value bounds = listBounds(b, kernel);
    Value begin = hopper::loadWordGlobal(b, bounds, 0), end = hopper::loadWordGlobal(b, bounds, 4);
    rewriter.replaceOp(op, index(b, b.sub(end, begin)));
    return success();
  }
};

struct ConvertDrawItem : KernelPattern<DrawItemOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(DrawItemOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value place = op.getFirst()
                      ? b.special("ctaid.x")
                      : b.add(b.special("nctaid.x"),
                              hopper::drawTicket(b, kernel.region(drawnRegion), b.i32(-1)));
    rewriter.replaceOp(op, index(b, place));
    return success();
  }
};

/// The record of the item at a position of the list.
static Value recordOf(PtxBuilder &b, const MainKernel &kernel, llvm::function_ref<Value()> place) {
  Value first = hopper::loadWordGlobal(b, listBounds(b, kernel), 0);
  Value number = b.add(first, place());
  return b.offset(section(b, kernel.region("order"), OrderFirstItem),
                  b.mul(b.toI64(number), itemBytes));
}

struct ConvertReadItem : KernelPattern<ReadItemOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ReadItemOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value order = kernel.region("order");
    Value at = recordOf(b, kernel, [&] { return word(b, adaptor.getPlace()); });
    SmallVector<Value> head = hopper::loadWords4Global(b, at, 0);
    SmallVector<Value> tail = hopper::loadWords4Global(b, at, 16);
    Value visits =
        b.offset(section(b, order, OrderFirstVisit), b.mul(b.toI64(tail[0]), visitBytes));
    rewriter.replaceOp(op,
                       {index(b, head[0]), index(b, head[1]), index(b, head[2]), index(b, head[3]),
                        b.address(visits), index(b, tail[1]), index(b, tail[2])});
    return success();
  }
};

struct ConvertReadPart : KernelPattern<ReadPartOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ReadPartOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value at = recordOf(b, kernel, [&] { return word(b, adaptor.getPlace()); });
    Value turn = hopper::loadWordGlobal(b, at, 4 * (orderItemWords - 1));
    Value isLast = b.choose(b.equal(turn, kernel.numParts() - 1), b.i32(1), b.i32(0));
    rewriter.replaceOp(op, {index(b, turn), index(b, isLast)});
    return success();
  }
};

struct ConvertReadVisit : KernelPattern<ReadVisitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ReadVisitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value first = LLVM::IntToPtrOp::create(b, kernel.region("order").getType(),
                                           adaptor.getFirstVisit().front());
    Value at = b.offset(first, b.mul(b.toI64(word(b, adaptor.getVisit())), visitBytes));
    SmallVector<Value> words = hopper::loadWords4Global(b, at, 0);
    Value head =
        b.add(b.add(word(b, adaptor.getFirstHead()), words[0]), word(b, adaptor.getRound()));
    rewriter.replaceOp(
        op, {index(b, head), index(b, words[1]), index(b, words[2]), index(b, words[3])});
    return success();
  }
};

struct ConvertBandLead : KernelPattern<BandLeadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(BandLeadOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    TileBand band = {LeadEdges(op.getMask().getEdges()).band, op.getTiles().getQ(),
                     op.getTiles().getKv()};
    Value offset;
    if (kernel.isList() && !band.band.isFull())
      offset = kernel.readSequence(b, sequenceWord(b, adaptor.getSequence()), /*isKeyValue=*/false)
                   .extra;
    else
      offset = b.sub(kernel.kvRows, kernel.qRows);
    MaskEmitter mask(b, band, offset);
    Value last = mask.lastVisible(word(b, adaptor.getQTile()), word(b, adaptor.getKvTile()));
    rewriter.replaceOp(op, index(b, last ? last : b.i32(LeadEdges::hidesNothing)));
    return success();
  }
};

struct ConvertVisibleSteps : KernelPattern<VisibleStepsOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(VisibleStepsOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's warpgroups have rows");
    PtxBuilder b(op.getLoc(), rewriter);
    int64_t rows = op.getRowsOfWarpgroup();
    Value lastRow = consumer->ofWarpgroup(b, [&](int64_t one) { return one * rows + rows - 1; });
    Value lastColumn = b.max(b.add(word(b, adaptor.getLead()), lastRow), b.i32(0));
    Value seen = b.add(arith::DivUIOp::create(b, lastColumn, b.i32(op.getTiles().getKv())), 1);
    Value steps = word(b, adaptor.getSteps());
    Value least = b.add(steps, -int64_t(op.getHidden()));
    rewriter.replaceOp(op, index(b, b.min(steps, b.max(seen, least))));
    return success();
  }
};

} // namespace

void dash::populateOrderPatterns(const TypeConverter &types, const MainKernel &kernel,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertDrawItem, ConvertNumItems, ConvertReadItem, ConvertReadPart, ConvertReadVisit,
               ConvertBandLead, ConvertVisibleSteps>(types, patterns.getContext(), kernel);
}
