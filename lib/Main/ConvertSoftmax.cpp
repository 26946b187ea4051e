//===- ConvertSoftmax.cpp - the online softmax of a forward ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread holds two rows of an accumulator, and three other threads hold the rest of these rows:
// the lanes whose numbers differ in the two low bits. The ops' descriptions give each operation in
// its order. Two numbers are approximations of the machine, of powers and of logarithms.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t rowsOfThread = FragmentAttr::registersPerRow;

static Value infinity(PtxBuilder &b, bool isNegative) {
  double number = std::numeric_limits<double>::infinity();
  return b.f32(isNegative ? -number : number);
}
static Value compare(PtxBuilder &b, arith::CmpFPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}
static Value greater(PtxBuilder &b, Value lhs, Value rhs) {
  return arith::MaxNumFOp::create(b, lhs, rhs);
}

/// Combines what the four threads of a row have: pairs, then pairs of pairs, so that all four get
/// the same bits where the operation commutes.
static Value overRow(PtxBuilder &b, Value number, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t lanes = 1; lanes < FragmentAttr::threadsOfRow; lanes *= 2)
    number = combine(number, b.toF32(b.shuffleXor(b.toBits(number), lanes)));
  return number;
}

namespace {

/// A score is hidden from row i of the q tile iff its column j is behind `i + lead`, in front of
/// `i + lead - width`, or past the end of the keys.
struct ConvertHideKeys : KernelPattern<HideOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(HideOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getType());
    if (!op.getQRows() || !consumer || !layout)
      return rewriter.notifyMatchFailure(op, "only a consumer of a forward hides keys");
    if (kernel.isList() && !op.getSequence())
      return rewriter.notifyMatchFailure(op, "sequences of a list have kv rows of their own");
    PtxBuilder b(op.getLoc(), rewriter);
    // Some warpgroups see all of a tile that the mask cuts.
    int64_t rows =
        layout.isSplitByRows() ? FragmentAttr::rowsOfWarpgroup : op.getType().getDimSize(0);
    Value firstRow = firstRowOf(b, *consumer, layout);
    int64_t columns = op.getType().getDimSize(1);
    Value lead = b.add(word(b, adaptor.getLead()), firstRow), kvTile = word(b, adaptor.getKvTile());
    LeadEdges edges(op.getMask() ? op.getMask()->getEdges() : Edges());
    Value columnsHere = b.sub(kvRowsOf(b, adaptor.getSequence()), b.mul(kvTile, columns));
    Value hides =
        b.bitOr(isCut(b, edges, lead, kvTile, rows, columns), b.below(columnsHere, columns));
    SmallVector<Value> shown = b.ifElse(
        hides,
        [&] {
          return hide(b, ThreadPlace::readAnew(b), adaptor.getValue(), lead, edges,
                      b.mul(kvTile, columns), columnsHere);
        },
        [&] { return llvm::to_vector_of<Value>(adaptor.getValue()); });
    rewriter.replaceOpWithMultiple(op, {ValueRange(shown)});
    return success();
  }

private:
  /// Whether an edge may cross the tile: not if columns - 1 <= lead <= width - (rows - 1).
  static Value isOnEdge(PtxBuilder &b, Value lead, std::optional<int64_t> width, int64_t rows,
                        int64_t columns) {
    Value isBehind = b.below(lead, columns - 1);
    if (!width)
      return isBehind;
    return b.bitOr(isBehind, b.below(b.i32(*width - (rows - 1)), lead));
  }

  static Value isCut(PtxBuilder &b, const LeadEdges &edges, Value lead, Value kvTile, int64_t rows,
                     int64_t columns) {
    Value isOnBand = isOnEdge(b, lead, edges.width, rows, columns);
    if (edges.firstColumns == 0)
      return isOnBand;
    // Tiles with first columns are looked at one by one: they are few.
    Value hasFirst = b.below(b.mul(kvTile, columns), edges.firstColumns);
    return b.bitOr(isOnBand, hasFirst);
  }

  /// What a row sees: columns from `first` to `last` of the thread's, counted from its first.
  struct Seen {
    Value first, last;
  };
  static Seen seenBy(PtxBuilder &b, Value row, Value lead, std::optional<int64_t> width,
                     Value lastHere) {
    Value last = b.add(row, lead);
    return {width ? b.add(last, -*width) : Value(), b.min(last, lastHere)};
  }

  static Value isHidden(PtxBuilder &b, Value column, const Seen &seen) {
    Value isBehind = b.below(seen.last, column);
    return seen.first ? b.bitOr(isBehind, b.below(column, seen.first)) : isBehind;
  }

  /// lead: of the warpgroup's first row.
  static SmallVector<Value> hide(PtxBuilder &b, const ThreadPlace &place, ValueRange scores,
                                 Value lead, const LeadEdges &edges, Value firstColumn,
                                 Value columnsHere) {
    SmallVector<Value> visible(scores);
    Value hidden = infinity(b, /*isNegative=*/true);
    // All are counted from the thread's first column.
    Value lastHere = b.add(b.sub(columnsHere, place.column), -1);
    Value toFirstEnd = b.sub(b.sub(b.i32(edges.firstColumns), firstColumn), place.column);
    for (int64_t offset : {FragmentAttr::getRowOffset(0), FragmentAttr::getRowOffset(2)}) {
      Value row = b.add(b.sub(place.row, place.column), offset);
      Seen seen = seenBy(b, row, lead, edges.width, lastHere), ofFirst;
      if (edges.firstColumns > 0 && edges.isFirstFull)
        ofFirst = {Value(), lastHere};
      else if (edges.firstColumns > 0)
        ofFirst = seenBy(b, row, b.add(lead, edges.further), edges.firstWidth, lastHere);
      for (auto [i, score] : llvm::enumerate(visible)) {
        if (FragmentAttr::getRowOffset(i) != offset)
          continue;
        Value column = b.i32(FragmentAttr::getColumnOffset(i));
        Value isGone = isHidden(b, column, seen);
        if (edges.firstColumns > 0)
          isGone = b.choose(b.below(column, toFirstEnd), isHidden(b, column, ofFirst), isGone);
        score = b.choose(isGone, hidden, score);
      }
    }
    return visible;
  }
};

struct ConvertSinkState : KernelPattern<SinkStateOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(SinkStateOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's threads hold rows");
    PtxBuilder b(op.getLoc(), rewriter);
    Value sinks = kernel.parameter(roleOf(op.getSink()).getName());
    Value at = b.offset(sinks, b.mul(b.toI64(word(b, adaptor.getHead())), 4));
    Value sink = b.load(b.getF32Type(), at, /*alignment=*/4);
    Value max = b.mul(sink, b.f32(llvm::numbers::log2ef));
    Value sum = b.choose(b.equal(b.bitAnd(consumer->place.lane, FragmentAttr::threadsOfRow - 1), 0),
                         b.f32(1), b.f32(0));
    SmallVector<Value> maxima(rowsOfThread, max), sums(rowsOfThread, sum);
    rewriter.replaceOpWithMultiple(op, {ValueRange(maxima), ValueRange(sums)});
    return success();
  }
};

struct ConvertRunningMax : KernelPattern<RunningMaxOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(RunningMaxOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's threads hold scores");
    PtxBuilder b(op.getLoc(), rewriter);
    Value slack = b.f32(op.getSlack().convertToDouble());
    Value most[rowsOfThread] = {};
    for (auto [i, score] : llvm::enumerate(adaptor.getScores())) {
      Value &ofRow = most[FragmentAttr::getRowRegister(i)];
      ofRow = ofRow ? greater(b, ofRow, score) : score;
    }
    SmallVector<Value> next, factors;
    for (auto [before, score] : llvm::zip_equal(adaptor.getMax(), most)) {
      score = overRow(b, score, [&](Value x, Value y) { return greater(b, x, y); });
      // Monotonic, so the largest product is that of the largest score.
      Value scaled = b.mul(score, consumer->exponentScale);
      Value moves = compare(b, arith::CmpFPredicate::OGT, scaled, b.add(before, slack));
      Value after = b.choose(moves, scaled, before);
      Value ratio = hopper::exp2(b, b.sub(before, after));
      next.push_back(after);
      factors.push_back(b.choose(moves, ratio, b.f32(1)));
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(next), ValueRange(factors)});
    return success();
  }
};

struct ConvertExponential : KernelPattern<ExponentialOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ExponentialOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    if (!consumer)
      return rewriter.notifyMatchFailure(op, "only a consumer's threads hold scores");
    PtxBuilder b(op.getLoc(), rewriter);
    // Where nothing was seen yet, all scores are -inf, and so are exponents beside any number.
    SmallVector<Value> minus;
    for (Value max : adaptor.getMax()) {
      Value isNone = compare(b, arith::CmpFPredicate::OEQ, max, infinity(b, /*isNegative=*/true));
      minus.push_back(b.choose(isNone, b.f32(0), b.negate(max)));
    }
    SmallVector<Value> powers;
    for (auto [i, score] : llvm::enumerate(adaptor.getScores()))
      powers.push_back(hopper::exp2(
          b, b.fma(score, consumer->exponentScale, minus[FragmentAttr::getRowRegister(i)])));
    rewriter.replaceOpWithMultiple(op, {ValueRange(powers)});
    return success();
  }
};

struct ConvertRunningSum : KernelPattern<RunningSumOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(RunningSumOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value sums[rowsOfThread][2] = {}; // of even and of odd columns
    for (auto [i, p] : llvm::enumerate(adaptor.getProbability())) {
      Value &sum = sums[FragmentAttr::getRowRegister(i)][i % 2];
      sum = b.add(sum ? sum : b.f32(0), p);
    }
    SmallVector<Value> next;
    for (auto [sum, factor, ofTile] : llvm::zip_equal(adaptor.getSum(), adaptor.getFactor(), sums))
      next.push_back(b.fma(sum, factor, b.add(ofTile[0], ofTile[1])));
    rewriter.replaceOpWithMultiple(op, {ValueRange(next)});
    return success();
  }
};

/// References move in few tiles: a warp branches around what a factor of 1 does not change.
struct ConvertRescale : KernelPattern<RescaleOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(RescaleOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value changes;
    for (Value factor : adaptor.getFactor()) {
      Value one = compare(b, arith::CmpFPredicate::UNE, factor, b.f32(1));
      changes = changes ? b.bitOr(changes, one) : one;
    }
    Value isAny = b.compare(arith::CmpIPredicate::ne, b.ballot(changes), b.i32(0));
    SmallVector<Value> scaled = b.ifElse(
        isAny,
        [&] {
          SmallVector<Value> values;
          for (auto [i, value] : llvm::enumerate(adaptor.getValue()))
            values.push_back(b.mul(value, adaptor.getFactor()[FragmentAttr::getRowRegister(i)]));
          return values;
        },
        [&] { return llvm::to_vector_of<Value>(adaptor.getValue()); });
    rewriter.replaceOpWithMultiple(op, {ValueRange(scaled)});
    return success();
  }
};

struct ConvertFinish : KernelPattern<FinishOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(FinishOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> inverses, empties, logs;
    for (auto [max, ofThread] : llvm::zip_equal(adaptor.getMax(), adaptor.getSum())) {
      Value sum = overRow(b, ofThread, [&](Value x, Value y) { return b.add(x, y); });
      Value isEmpty = compare(b, arith::CmpFPredicate::OEQ, sum, b.f32(0));
      empties.push_back(isEmpty);
      inverses.push_back(arith::DivFOp::create(b, b.f32(1), sum));
      Value log = b.mul(b.add(max, hopper::log2(b, sum)), b.f32(llvm::numbers::ln2f));
      logs.push_back(b.choose(isEmpty, infinity(b, /*isNegative=*/true), log));
    }
    SmallVector<Value> output;
    for (auto [i, value] : llvm::enumerate(adaptor.getValue())) {
      int64_t row = FragmentAttr::getRowRegister(i);
      output.push_back(b.choose(empties[row], b.f32(0), b.fma(value, inverses[row], b.f32(0))));
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(output), ValueRange(logs)});
    return success();
  }
};

/// One of a row's four threads writes its number; of several, each writes what it has. A list's
/// sequence is looked up here, behind the walk, where registers are free.
struct ConvertStoreRow : KernelPattern<StoreRowOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(StoreRowOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const ConsumerValues *consumer = kernel.consumerOf(op);
    FragmentAttr layout = fragmentOf(op.getValue().getType());
    TensorRoleAttr tensor = roleOf(op.getTarget());
    if (!consumer || !layout || tensor.isKeyValue())
      return rewriter.notifyMatchFailure(op, "only a consumer stores rows, and those of q");
    PtxBuilder b(op.getLoc(), rewriter);
    ThreadPlace place = ThreadPlace::readAnew(b);
    Value sequence = word(b, adaptor.getSequence()), rows = kernel.qRows;
    Value first = b.mul(word(b, adaptor.getTile()), op.getValue().getType().getDimSize(0));
    Value row = b.add(b.add(first, place.row), firstRowOf(b, *consumer, layout));
    Value firstOfList;
    if (kernel.isList()) {
      SequenceRows own = kernel.readSequence(b, sequence, /*isKeyValue=*/false);
      rows = own.rows;
      firstOfList = b.toI64(b.sub(own.end, own.rows));
    }
    Value head = word(b, adaptor.getHead());
    bool isOfPieces = tensor.getAccess() == TensorAccess::Sum;
    if (tensor.isTile() && !isOfPieces) {
      Value rowStep = stepOf(b, tensor, "row", b.i32(1));
      Value first = elementOf(b, tensor, sequence, /*firstOfList=*/Value(), head);
      if (firstOfList) // a batch of one
        first = b.add(stepOf(b, tensor, "head", head), b.mul(firstOfList, rowStep));
      Value element = b.add(first, b.mul(b.toI64(row), rowStep));
      Value at = b.offset(kernel.parameter(tensor.getName()), b.mul(element, 4));
      storeColumns(b, place, adaptor.getValue(), at, tensor.getColumns(), b.mul(rowStep, 4), row,
                   rows);
      rewriter.eraseOp(op);
      return success();
    }
    Value element = isOfPieces ? rowOfPieces(b, sequence, firstOfList, head)
                               : elementOf(b, tensor, sequence, firstOfList, head);
    element = b.add(element, b.toI64(row));
    Value memory =
        isOfPieces ? kernel.region(piecesRegion(tensor)) : kernel.parameter(tensor.getName());
    Value at = b.offset(memory, b.mul(element, 4 * tensor.getColumns()));
    if (op.getValue().getType().getRank() == 1)
      storeNumbers(b, place, adaptor.getValue(), at, row, rows);
    else
      storeColumns(b, place, adaptor.getValue(), at, tensor.getColumns(), Value(), row, rows);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// A head's first row of the sequence, where the caller has the tensor.
  Value elementOf(PtxBuilder &b, TensorRoleAttr tensor, Value sequence, Value firstOfList,
                  Value head) const {
    return b.add(firstOfList ? firstOfList : stepOf(b, tensor, "batch", sequence),
                 stepOf(b, tensor, "head", head));
  }
  Value stepOf(PtxBuilder &b, TensorRoleAttr tensor, StringRef dim, Value index) const {
    return b.mul(b.toI64(index), kernel.parameter((tensor.getName() + ".stride." + dim).str()));
  }
  /// The same in the program's own memory, which is contiguous. A head is one of a piece.
  Value rowOfPieces(PtxBuilder &b, Value sequence, Value firstOfList, Value head) const {
    Value number = b.toI64(head);
    if (!firstOfList) {
      Value heads = b.mul(b.toI64(kernel.heads), b.toI64(kernel.parameter(keyPieces)));
      number = b.add(b.mul(b.toI64(sequence), heads), number);
    }
    Value row = b.mul(number, b.toI64(kernel.qRows));
    return firstOfList ? b.add(row, firstOfList) : row;
  }

  static void storeNumbers(PtxBuilder &b, const ThreadPlace &place, ValueRange numbers, Value at,
                           Value row, Value rows) {
    Value writes = b.equal(b.bitAnd(place.lane, FragmentAttr::threadsOfRow - 1), 0);
    for (auto [i, number] : llvm::enumerate(numbers)) {
      int64_t offset = FragmentAttr::getRowOffset(2 * int64_t(i)); // of the row in its warp
      Value isRow = b.both(writes, b.below(b.add(row, offset), rows));
      b.ifThen(isRow, [&, number = number] { b.store(number, b.offset(at, 4 * offset), 4); });
    }
  }

  /// Four threads write 32 bytes of a row side by side; columns behind those of the tensor, which a
  /// tile may have, are left out. rowBytes: from a row to the next, null where rows are contiguous.
  static void storeColumns(PtxBuilder &b, const ThreadPlace &place, ValueRange sums, Value at,
                           int64_t columns, Value rowBytes, Value row, Value rows) {
    at = b.offset(at, b.mul(place.column, 4));
    for (int64_t half : llvm::seq(FragmentAttr::registersPerRow)) {
      int64_t offset = FragmentAttr::getRowOffset(2 * half);
      b.ifThen(b.below(b.add(row, offset), rows), [&] {
        Value ofRow =
            rowBytes ? b.offset(at, b.mul(rowBytes, offset)) : b.offset(at, 4 * columns * offset);
        for (int64_t reg = 2 * half; reg < int64_t(sums.size()); reg += 4)
          if (FragmentAttr::getColumnOffset(reg) < columns)
            b.storeVector(sums.slice(reg, 2),
                          b.offset(ofRow, 4 * FragmentAttr::getColumnOffset(reg)));
      });
    }
  }
};

} // namespace

void dash::populateSoftmaxPatterns(const TypeConverter &types, const MainKernel &kernel,
                                   RewritePatternSet &patterns) {
  patterns.add<ConvertHideKeys, ConvertSinkState, ConvertRunningMax, ConvertExponential,
               ConvertRunningSum, ConvertRescale, ConvertFinish, ConvertStoreRow>(
      types, patterns.getContext(), kernel);
}
