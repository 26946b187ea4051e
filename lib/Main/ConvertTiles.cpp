//===- ConvertTiles.cpp - products and element-wise ops on tiles ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile's layout alone defines what a warpgroup holds of it.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/Hopper/PtxAssembly.h"
#include "dash/Hopper/Wgmma.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static FloatType elementOf(Value tile) { return cast<FloatType>(getElementTypeOrSelf(tile)); }

static SharedFactor sharedFactor(Value address, RankedTensorType type, bool outerIsRow) {
  SharedFactor factor;
  factor.tile = {address, type.getShape(), swizzledOf(type)};
  factor.outerIsRow = outerIsRow;
  return factor;
}

/// Begins a factor at the warpgroup's part. In code of one warpgroup that is in the descriptors of
/// its steps, and costs nothing.
static void beginPart(PtxBuilder &b, const ConsumerValues &consumer, SharedFactor &factor,
                      llvm::function_ref<int64_t(int64_t)> firstOuter) {
  if (std::optional<int64_t> one = consumer.getOnlyWarpgroup()) {
    factor.firstOuter = firstOuter(*one);
    return;
  }
  const SharedTile &tile = factor.tile;
  Value offset = consumer.ofWarpgroup(b, [&](int64_t one) {
    int64_t outer = firstOuter(one);
    return factor.outerIsRow ? tile.layout.getOffset(tile.shape, outer, 0)
                             : tile.layout.getOffset(tile.shape, 0, outer);
  });
  factor.tile.address = b.add(tile.address, offset);
}

namespace {

struct ConvertMatmul : KernelPattern<MatmulOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(MatmulOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's warpgroup multiplies");
    if (!op.getAsync())
      return rewriter.notifyMatchFailure(
          op, "wgmma is asynchronous: make the product async, and wait for it");
    auto typeA = cast<RankedTensorType>(op.getA().getType());
    auto typeB = cast<RankedTensorType>(op.getB().getType());
    auto sums = cast<RankedTensorType>(op.getResult().getType());
    FragmentAttr layout = fragmentOf(sums);
    if (!layout || !swizzledOf(typeB) || (fragmentOf(typeA) && op.getTransposeA()))
      return rewriter.notifyMatchFailure(
          op, "wgmma gives fragments, and takes B in shared memory, A there or as it is");

    PtxBuilder b(op.getLoc(), rewriter);
    Product product;
    product.element = elementOf(op.getB());
    product.columns = layout.getColumns(sums.getShape());
    product.depth = typeA.getDimSize(op.getTransposeA() ? 0 : 1);
    auto firstColumn = [&](int64_t one) { return layout.getFirstColumn(sums.getShape(), one); };
    auto firstRow = [&](int64_t one) { return layout.getFirstRow(one); };
    product.b = sharedFactor(adaptor.getB().front(), typeB, /*outerIsRow=*/op.getTransposeB());
    beginPart(b, *consumer, product.b, firstColumn);
    if (swizzledOf(typeA)) {
      product.sharedA =
          sharedFactor(adaptor.getA().front(), typeA, /*outerIsRow=*/!op.getTransposeA());
      beginPart(b, *consumer, *product.sharedA, firstRow);
    } else {
      product.registersA = llvm::to_vector(adaptor.getA());
    }
    ValueRange accumulators = op.getAccumulate() ? adaptor.getAccumulate() : ValueRange();
    SmallVector<Value> registers = issueProduct(b, product, accumulators);
    rewriter.replaceOpWithMultiple(op, {ValueRange(registers)});
    return success();
  }
};

struct ConvertWgmmaWait : KernelPattern<WgmmaWaitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(WgmmaWaitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> values;
    for (ValueRange sums : adaptor.getInputs())
      llvm::append_range(values, sums);
    SmallVector<Value> factors;
    for (ValueRange factor : adaptor.getFactors())
      llvm::append_range(factors, factor);
    if (op.getPinned())
      ptx::neverBranch(b, kernel.qRows);
    values = waitProducts(b, op.getPending(), values, factors);
    SmallVector<SmallVector<Value>> results;
    ArrayRef<Value> left = values;
    for (ValueRange sums : adaptor.getInputs()) {
      results.emplace_back(left.take_front(sums.size()));
      left = left.drop_front(sums.size());
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// tanh x = 1 - 2 / (1 + e^2x): the error is 2^-21 everywhere, and the cap multiplies it. The
/// instruction `tanh.approx` has an error of 2^-11 (docs/kernels.md).
struct ConvertSoftcap : KernelPattern<SoftcapOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(SoftcapOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value factor = b.f32(2 * llvm::numbers::log2e / op.getCap().convertToDouble());
    if (op.getScale())
      factor = b.mul(adaptor.getScale().front(), factor);
    Value one = b.f32(1), minusTwo = b.f32(-2);
    auto capped = llvm::map_to_vector(adaptor.getValue(), [&](Value score) {
      Value power = hopper::exp2(b, b.mul(score, factor));
      return b.fma(minusTwo, hopper::reciprocal(b, b.add(one, power)), one);
    });
    rewriter.replaceOpWithMultiple(op, {ValueRange(capped)});
    return success();
  }
};

struct ConvertDamp : KernelPattern<DampOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(DampOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value one = b.f32(1), least = b.f32(-1);
    SmallVector<Value> damped;
    for (auto [p, capped] : llvm::zip_equal(adaptor.getProbability(), adaptor.getCapped())) {
      Value tanh = arith::MaxNumFOp::create(b, capped, least);
      damped.push_back(b.mul(p, b.fma(b.negate(tanh), tanh, one)));
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(damped)});
    return success();
  }
};

/// Which of a thread's numbers of q rows goes with an element: that of its column, or of its row.
static size_t numberOf(TypedValue<RankedTensorType> rows, size_t element) {
  return fragmentOf(rows.getType()).getKind() == FragmentKind::PerRow
             ? FragmentAttr::getRowRegister(element)
             : FragmentAttr::getColumnRegister(element);
}

struct ConvertLogProbability : KernelPattern<LogProbabilityOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(LogProbabilityOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's threads hold scores");
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> logs;
    for (auto [i, score] : llvm::enumerate(adaptor.getScores())) {
      Value lse = adaptor.getLse()[numberOf(op.getLse(), i)];
      logs.push_back(b.fma(score, consumer->exponentScale, b.negate(lse)));
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(logs)});
    return success();
  }
};

struct ConvertHide : KernelPattern<HideOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(HideOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getType());
    if (!consumer || !layout || op.getQRows())
      return rewriter.notifyMatchFailure(op, "only a consumer's threads hold logarithms");
    if (kernel.isList() && !op.getSequence())
      return rewriter.notifyMatchFailure(op, "sequences of a list have kv rows of their own");
    PtxBuilder b(op.getLoc(), rewriter);
    // Few tiles have hidden elements: those at the mask's edges, and at the end of the kv rows.
    // Values that only these tiles need are read again there: while all sums are in registers, none
    // is left to keep the values.
    int64_t rows = op.getType().getDimSize(0);
    Value lead = word(b, adaptor.getLead());
    Value kvRows = kvRowsOf(b, adaptor.getSequence()), kvTile = word(b, adaptor.getKvTile());
    Value isCut = b.below(b.sub(kvRows, b.mul(kvTile, rows)), rows);
    LeadEdges edges(op.getMask() ? op.getMask()->getEdges() : Edges());
    Value hides = b.bitOr(isCutByEdge(b, op, edges, lead, kvTile), isCut);
    SmallVector<Value> shown = b.ifElse(
        hides,
        [&] {
          ThreadPlace place = ThreadPlace::readAnew(b);
          Value end = kvRowsAgain(b, op, adaptor);
          Value firstRow = b.mul(kvTileAgain(b, op, adaptor), rows);
          return hide(b, place, firstRowOf(b, *consumer, layout), adaptor.getValue(), lead, edges,
                      firstRow, b.sub(end, firstRow));
        },
        [&] { return llvm::to_vector_of<Value>(adaptor.getValue()); });
    rewriter.replaceOpWithMultiple(op, {ValueRange(shown)});
    return success();
  }

private:
  /// Whether a number is outside 0 to `last`: one comparison of unsigned numbers.
  static Value isOutside(PtxBuilder &b, Value number, Value last) {
    return b.compare(arith::CmpIPredicate::ugt, number, last);
  }

  /// Whether an edge of a band crosses the tile. It does not if rows - 1 <= lead <= width -
  /// (columns - 1).
  static Value isOnEdge(PtxBuilder &b, HideOp op, Value lead, std::optional<int64_t> width) {
    int64_t rows = op.getType().getDimSize(0), columns = op.getType().getDimSize(1);
    if (!width)
      return b.below(lead, rows - 1);
    int64_t leads = *width - (columns - 1) - (rows - 1);
    // A narrow band cuts every tile. The branch remains: without it, ptxas mixes comparisons with
    // operands of products in flight, and serializes the products.
    return leads < 0 ? b.below(lead, LeadEdges::hidesNothing)
                     : isOutside(b, b.add(lead, 1 - rows), b.i32(leads));
  }

  /// Whether an edge of the mask crosses the tile; for a tile with first columns only, whether
  /// theirs does.
  static Value isCutByEdge(PtxBuilder &b, HideOp op, const LeadEdges &edges, Value lead,
                           Value kvTile) {
    Value isOnBand = isOnEdge(b, op, lead, edges.width);
    int64_t firstTiles = edges.firstColumns / op.getType().getDimSize(0);
    if (firstTiles == 0)
      return isOnBand;
    Value isOnWide = edges.isFirstFull
                         ? b.i1(false)
                         : isOnEdge(b, op, b.add(lead, edges.further), edges.firstWidth);
    return b.choose(b.below(kvTile, firstTiles), isOnWide, isOnBand);
  }

  Value kvRowsAgain(PtxBuilder &b, HideOp op, Adaptor adaptor) const {
    if (!kernel.isList())
      return kernel.kvRows;
    Value sequence = op.getChannel() ? readIndex(b, op, adaptor, op.getSequenceIndex())
                                     : word(b, adaptor.getSequence());
    return kernel.readSequence(b, sequence, /*isKeyValue=*/true).rows;
  }
  Value kvTileAgain(PtxBuilder &b, HideOp op, Adaptor adaptor) const {
    return op.getChannel() ? readIndex(b, op, adaptor, op.getKvTileIndex())
                           : word(b, adaptor.getKvTile());
  }

  /// An index out of the slot, which is still held: --dash-verify-waits and --dash-verify-protocol
  /// prove that.
  Value readIndex(PtxBuilder &b, HideOp op, Adaptor adaptor, int64_t index) const {
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    Value slot = word(b, adaptor.getSlot());
    return b.uniform(hopper::loadWord(
        b, kernel.element(b, channel, channel.getType().getNumTiles() + index, slot)));
  }

  /// Row j is hidden from column i iff i + lead < j or j < i + lead - width; everything past the
  /// end is hidden. The first rows of a sequence may have a larger lead, and another width or none;
  /// none is the largest width.
  static SmallVector<Value> hide(PtxBuilder &b, const ThreadPlace &place, Value firstRow,
                                 ValueRange logs, Value lead, const LeadEdges &edges,
                                 Value rowsBefore, Value rowsHere) {
    SmallVector<Value> visible(logs);
    Value logOfZero = b.f32(-std::numeric_limits<double>::infinity());
    Value toDiagonal = b.sub(b.sub(place.row, place.column), lead);
    Value toEnd = b.sub(rowsHere, place.row);
    for (int64_t offset : {FragmentAttr::getRowOffset(0), FragmentAttr::getRowOffset(2)}) {
      Value row = b.add(firstRow, offset);
      Value isPast = b.below(toEnd, b.add(row, 1));
      Value firstShown = b.add(toDiagonal, row);
      Value width = edges.width ? b.i32(*edges.width) : Value();
      if (edges.firstColumns > 0) {
        Value toLast = b.sub(b.sub(b.i32(edges.firstColumns), rowsBefore), place.row);
        Value isFirst = b.compare(arith::CmpIPredicate::sgt, toLast, row);
        firstShown = b.choose(isFirst, b.add(firstShown, -edges.further), firstShown);
        constexpr int64_t none = std::numeric_limits<int32_t>::max();
        if (width)
          width = b.choose(isFirst, b.i32(edges.firstWidth.value_or(none)), width);
      }
      firstShown = b.choose(isPast, b.i32(LeadEdges::hidesNothing), firstShown);
      for (auto [i, value] : llvm::enumerate(visible)) {
        if (FragmentAttr::getRowOffset(i) != offset)
          continue;
        Value column = b.i32(FragmentAttr::getColumnOffset(i));
        Value isHidden =
            width ? isOutside(b, b.sub(column, firstShown), width) : b.below(column, firstShown);
        value = b.choose(isHidden, logOfZero, value);
      }
    }
    return visible;
  }
};

struct ConvertExp2 : KernelPattern<Exp2Op> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(Exp2Op op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    auto powers = llvm::map_to_vector(adaptor.getValue(),
                                      [&](Value exponent) { return hopper::exp2(b, exponent); });
    rewriter.replaceOpWithMultiple(op, {ValueRange(powers)});
    return success();
  }
};

struct ConvertRound : KernelPattern<RoundOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(RoundOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> sums(adaptor.getValue());
    if (op.getScale())
      for (Value &sum : sums)
        sum = b.mul(sum, adaptor.getScale().front());
    SmallVector<Value> words = packFactor(b, elementOf(op.getResult()), sums);
    rewriter.replaceOpWithMultiple(op, {ValueRange(words)});
    return success();
  }
};

/// The columns of a piece are consecutive registers.
struct ConvertPiece : KernelPattern<PieceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(PieceOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    FragmentAttr layout = fragmentOf(op.getType());
    if (!layout)
      return rewriter.notifyMatchFailure(op, "only pieces that threads hold are cut");
    size_t count = layout.getNumRegisters(op.getType().getShape());
    rewriter.replaceOpWithMultiple(op, {adaptor.getTile().slice(op.getPiece() * count, count)});
    return success();
  }
};

struct ConvertScoreGradient : KernelPattern<ScoreGradientOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ScoreGradientOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> gradients;
    for (auto [i, p, gradient] : llvm::enumerate(adaptor.getProbability(), adaptor.getGradient())) {
      Value delta = adaptor.getDelta()[numberOf(op.getDelta(), i)];
      gradients.push_back(b.mul(p, b.sub(gradient, delta)));
    }
    if (!op.getType().getElementType().isF32())
      gradients = packFactor(b, elementOf(op.getResult()), gradients);
    rewriter.replaceOpWithMultiple(op, {ValueRange(gradients)});
    return success();
  }
};

/// Sums start from one constant.
struct ConvertConstant : KernelPattern<arith::ConstantOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(arith::ConstantOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto elements = dyn_cast<DenseFPElementsAttr>(op.getValue());
    FragmentAttr layout = fragmentOf(op.getType());
    Type element = elements ? elements.getElementType() : Type();
    bool isPair = element && element.getIntOrFloatBitWidth() == 16; // two numbers a register
    if (!elements || !elements.isSplat() || !layout || (!isPair && !element.isF32()))
      return rewriter.notifyMatchFailure(op, "threads hold tiles of one number, f32 or of 16 bits");
    PtxBuilder b(op.getLoc(), rewriter);
    APFloat splat = elements.getSplatValue<APFloat>();
    int64_t bits = splat.bitcastToAPInt().getZExtValue();
    Value number = isPair ? b.i32(bits << 16 | bits) : b.f32(splat.convertToFloat());
    SmallVector<Value> registers(layout.getNumRegisters(elements.getType().getShape()), number);
    rewriter.replaceOpWithMultiple(op, {ValueRange(registers)});
    return success();
  }
};

} // namespace

void dash::populateTilePatterns(const TypeConverter &types, const MainKernel &kernel,
                                RewritePatternSet &patterns) {
  patterns.add<ConvertMatmul, ConvertWgmmaWait, ConvertSoftcap, ConvertDamp, ConvertLogProbability,
               ConvertHide, ConvertExp2, ConvertRound, ConvertPiece, ConvertScoreGradient,
               ConvertConstant>(types, patterns.getContext(), kernel);
}
