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

/// The row of the sequence, counted from the tile's first, that a row of a q tile is.
static Value rowInFold(PtxBuilder &b, Value row, int64_t fold) {
  return fold == 1 ? row : b.shiftRight(row, llvm::Log2_64(fold));
}
/// The head of the items' tensors that a row of a q tile is of; `head` is that of the items.
static Value headInFold(PtxBuilder &b, Value head, Value row, int64_t fold) {
  return fold == 1 ? head : b.add(b.mul(head, fold), b.bitAnd(row, fold - 1));
}
/// What is added to both for a thread's row number `half`: the first one's number has a 0 in the
/// place of the offset's bit.
static int64_t rowsToHalf(int64_t half, int64_t fold) {
  return FragmentAttr::getRowOffset(2 * half) / fold;
}
static int64_t headsToHalf(int64_t half, int64_t fold) {
  return FragmentAttr::getRowOffset(2 * half) % fold;
}

namespace {

/// A score is hidden from row i of the sequence, counted from the tile's first, iff its column j is
/// behind `i + lead`, in front of `i + lead - width`, or past the end of the keys.
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
    int64_t fold = kernel.fold();
    rows /= fold; // of the sequence
    Value firstRow = firstRowOf(b, *consumer, layout, fold);
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
                      b.mul(kvTile, columns), columnsHere, fold);
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
                                 Value columnsHere, int64_t fold) {
    SmallVector<Value> visible(scores);
    Value hidden = infinity(b, /*isNegative=*/true);
    // All are counted from the thread's first column.
    Value lastHere = b.add(b.sub(columnsHere, place.column), -1);
    Value toFirstEnd = b.sub(b.sub(b.i32(edges.firstColumns), firstColumn), place.column);
    for (int64_t offset : {FragmentAttr::getRowOffset(0), FragmentAttr::getRowOffset(2)}) {
      Value row = b.add(b.sub(rowInFold(b, place.row, fold), place.column), offset / fold);
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
    auto maxOfHead = [&](Value head) -> Value {
      Value at = b.offset(sinks, b.mul(b.toI64(head), 4));
      Value sink = b.load(b.getF32Type(), at, /*alignment=*/4);
      return b.mul(sink, b.f32(llvm::numbers::log2ef));
    };
    int64_t fold = kernel.fold();
    Value head = headInFold(b, word(b, adaptor.getHead()), consumer->place.row, fold);
    SmallVector<Value> maxima = {maxOfHead(head)};
    for (int64_t half : llvm::seq<int64_t>(1, rowsOfThread)) {
      int64_t heads = headsToHalf(half, fold);
      maxima.push_back(heads ? maxOfHead(b.add(head, heads)) : maxima.front());
    }
    Value sum = b.choose(b.equal(b.bitAnd(consumer->place.lane, FragmentAttr::threadsOfRow - 1), 0),
                         b.f32(1), b.f32(0));
    SmallVector<Value> sums(rowsOfThread, sum);
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
    int64_t fold = kernel.fold();
    Value sequence = word(b, adaptor.getSequence());
    Rows rows{tensor, sequence, kernel.qRows, Value()};
    Value first = b.mul(word(b, adaptor.getTile()), op.getValue().getType().getDimSize(0) / fold);
    Value row =
        b.add(b.add(first, rowInFold(b, place.row, fold)), firstRowOf(b, *consumer, layout, fold));
    if (kernel.isList()) {
      SequenceRows own = kernel.readSequence(b, sequence, /*isKeyValue=*/false);
      rows.count = own.rows;
      rows.firstOfList = b.toI64(b.sub(own.end, own.rows));
    }
    bool isNumber = op.getValue().getType().getRank() == 1;
    Value head = headInFold(b, word(b, adaptor.getHead()), place.row, fold);
    Value column = isNumber ? Value() : place.column;
    Value at = addressOf(b, rows, head, row, column);
    for (int64_t half : llvm::seq(rowsOfThread)) {
      int64_t toRow = rowsToHalf(half, fold), toHead = headsToHalf(half, fold);
      storeHalf(b, place, adaptor.getValue(), isNumber, half, rows, b.add(row, toRow), [&] {
        return toHead ? addressOf(b, rows, b.add(head, toHead), row, column)
                      : offsetByRows(b, tensor, at, toRow);
      });
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The rows of a sequence.
  struct Rows {
    TensorRoleAttr tensor;
    Value sequence, count;
    Value firstOfList; ///< null for a batch
  };

  static bool isOfPieces(TensorRoleAttr tensor) { return tensor.getAccess() == TensorAccess::Sum; }
  /// The caller's tensor of rows of columns, which has a stride of its own from row to row.
  static bool hasRowStride(TensorRoleAttr tensor) { return tensor.isTile() && !isOfPieces(tensor); }

  Value stepOf(PtxBuilder &b, TensorRoleAttr tensor, StringRef dim, Value index) const {
    return b.mul(b.toI64(index), kernel.parameter((tensor.getName() + ".stride." + dim).str()));
  }

  Value offsetByRows(PtxBuilder &b, TensorRoleAttr tensor, Value at, int64_t count) const {
    return hasRowStride(tensor) ? b.offset(at, stepOf(b, tensor, "row", b.i32(4 * count)))
                                : b.offset(at, 4 * tensor.getColumns() * count);
  }

  /// Where the number of a row is, or those of a row from a column on.
  Value addressOf(PtxBuilder &b, const Rows &rows, Value head, Value row, Value column) const {
    Value at = hasRowStride(rows.tensor) ? addressOfStrided(b, rows, head, row)
                                         : addressOfRow(b, rows, head, row);
    return column ? b.offset(at, b.mul(column, 4)) : at;
  }
  Value addressOfStrided(PtxBuilder &b, const Rows &rows, Value head, Value row) const {
    TensorRoleAttr tensor = rows.tensor;
    Value place = b.toI64(row);
    if (rows.firstOfList) // a batch of one
      place = b.add(place, rows.firstOfList);
    Value element = b.mul(place, kernel.parameter((tensor.getName() + ".stride.row").str()));
    element = b.add(element, stepOf(b, tensor, "head", head));
    if (!rows.firstOfList)
      element = b.add(element, stepOf(b, tensor, "batch", rows.sequence));
    return b.offset(kernel.parameter(tensor.getName()), b.mul(element, 4));
  }
  Value addressOfRow(PtxBuilder &b, const Rows &rows, Value head, Value row) const {
    bool isOfPieces = ConvertStoreRow::isOfPieces(rows.tensor);
    Value element = isOfPieces ? rowOfPieces(b, rows, head) : elementOf(b, rows, head);
    element = b.add(element, b.toI64(row));
    Value memory = isOfPieces ? kernel.region(piecesRegion(rows.tensor))
                              : kernel.parameter(rows.tensor.getName());
    return b.offset(memory, b.mul(element, 4 * rows.tensor.getColumns()));
  }

  /// A head's first row of the sequence, where the caller has the tensor.
  Value elementOf(PtxBuilder &b, const Rows &rows, Value head) const {
    return b.add(rows.firstOfList ? rows.firstOfList
                                  : stepOf(b, rows.tensor, "batch", rows.sequence),
                 stepOf(b, rows.tensor, "head", head));
  }
  /// The same in the program's own memory, which is contiguous. A head is one of a piece.
  Value rowOfPieces(PtxBuilder &b, const Rows &rows, Value head) const {
    Value number = b.toI64(head);
    if (!rows.firstOfList) {
      Value heads = b.mul(b.toI64(kernel.heads), b.toI64(kernel.parameter(keyPieces)));
      number = b.add(b.mul(b.toI64(rows.sequence), heads), number);
    }
    Value row = b.mul(number, b.toI64(kernel.qRows));
    return rows.firstOfList ? b.add(row, rows.firstOfList) : row;
  }

  /// Stores what the thread has of one of its two rows, if the sequence has the row. Four threads
  /// write 32 bytes of columns side by side; columns behind those of the tensor, which a tile may
  /// have, are left out.
  static void storeHalf(PtxBuilder &b, const ThreadPlace &place, ValueRange values, bool isNumber,
                        int64_t half, const Rows &rows, Value row,
                        llvm::function_ref<Value()> address) {
    if (isNumber) {
      Value writes = b.equal(b.bitAnd(place.lane, FragmentAttr::threadsOfRow - 1), 0);
      return b.ifThen(b.both(writes, b.below(row, rows.count)),
                      [&] { b.store(values[half], address(), 4); });
    }
    b.ifThen(b.below(row, rows.count), [&] {
      Value ofRow = address();
      for (int64_t reg = 2 * half; reg < int64_t(values.size()); reg += 4)
        if (int64_t column = FragmentAttr::getColumnOffset(reg); column < rows.tensor.getColumns())
          b.storeVector(values.slice(reg, 2), b.offset(ofRow, 4 * column));
    });
  }
};

} // namespace

void dash::populateSoftmaxPatterns(const TypeConverter &types, const MainKernel &kernel,
                                   RewritePatternSet &patterns) {
  patterns.add<ConvertHideKeys, ConvertSinkState, ConvertRunningMax, ConvertExponential,
               ConvertRunningSum, ConvertRescale, ConvertFinish, ConvertStoreRow>(
      types, patterns.getContext(), kernel);
}
