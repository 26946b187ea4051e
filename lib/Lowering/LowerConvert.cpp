//===- LowerConvert.cpp - the entries that round sums ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main kernel leaves the sums as its matrix products hold them, in the layout that the op names: 16 bytes are
// two columns of two rows. Read in that order every load is of neighbours; four lanes that hold the same eight columns
// turn their pieces among themselves, so that each also writes 16 neighbouring bytes.
//
// With parts, dK and dV are rounded from sums, too, by an entry each. Their tiles were added in pieces: a block has one.
//
//===----------------------------------------------------------------------===//

#include "ElementType.h"
#include "HopperOps.h"
#include "Program.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Lowering/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERCONVERT
#include "dash/Lowering/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

constexpr int64_t warpgroup = FragmentAttr::threadsOfWarpgroup;

namespace {

class ConvertBuilder {
public:
  ConvertBuilder(ConvertOp op, const Kernels &kernels, StringRef gradient)
      : op(op), facts(kernels.facts), gradient(gradient), isOfQuery(gradient == "dq"),
        pieces(op.getPieces().value_or(1)), layout(op.getLayoutAttr()),
        b(makeEntry(op, kernels, gradient)) {}

  void build() {
    thread = b.special("tid.x");
    tile = isOfQuery ? queryTileOfBlock(b, facts)
                     : tileOfBlock(b, "kv_heads", rows(), facts.kvTile, pieces);
    if (op.getScale())
      scale = scaleFactor(b, op.getScale());
    // Thread t finds what thread t of those that add holds.
    Value group = b.quotient(thread, warpgroup), local = b.remainder(thread, warpgroup);
    int64_t shape[] = {facts.qTile, facts.headDim};
    Value firstRow = b.add(b.mul(b.shiftRight(local, 5), 16), b.bitAnd(b.shiftRight(local, 2), 7));
    // Of a piece a warpgroup has its own block of rows, and all of them have the same columns.
    firstRow = b.add(firstRow, b.mul(group, pieces > 1 ? shape[0] : layout.getFirstRow(1)));
    Value firstColumn = b.mul(b.bitAnd(local, 3), 8);
    firstColumn =
        b.add(firstColumn, pieces > 1 ? b.mul(b.remainder(tile.q, pieces), layout.getColumns(shape))
                                      : b.mul(group, layout.getFirstColumn(shape, 1)));

    Value sums = tileOf(b, sumsRegion(gradient), 4 * facts.qTile * facts.headDim, tile);
    Value pieces = b.offset(sums, b.add(b.mul(group, layout.getMemoryOffset(shape, 1)),
                                        b.mul(local, 4 * FragmentAttr::wordsOfPiece)));
    // All loads first: what hides their latency is their number.
    SmallVector<SmallVector<Value>> words;
    for (int64_t i : llvm::seq(layout.getNumRegisters(shape) / FragmentAttr::wordsOfPiece))
      words.push_back(b.streamIn(b.offset(pieces, FragmentAttr::getPieceOffset(i))));
    for (int64_t half : {0, 1})
      writeRows(words, half, b.add(firstRow, FragmentAttr::getRowOffset(2 * half)), firstColumn);
    if (sumsSink(facts, isOfQuery))
      sumSinks();
    b.finish();
  }

private:
  static EntryBuilder makeEntry(ConvertOp op, const Kernels &kernels, StringRef gradient) {
    bool isOfQuery = gradient == "dq";
    int64_t pieces = op.getPieces().value_or(1);
    EntryLaunch launch;
    launch.role = EntryRole::Convert;
    launch.grid[0] = isOfQuery     ? queryTileGrid.str()
                     : pieces == 1 ? "batch*kv_heads*kv_tiles"
                                   : "batch*kv_heads*kv_tiles*" + std::to_string(pieces);
    launch.threads = op.getLayoutAttr().getWarpgroups() * warpgroup;
    ParameterList parameters;
    if (isOfQuery)
      parameters.tensor(gradient).sizes({"heads", "q_rows"});
    else
      parameters.tensor(gradient).sizes({"kv_heads", "kv_rows"});
    if (isa_and_present<BlockArgument>(op.getScale()))
      parameters.scale();
    parameters.workspace(sumsRegion(gradient));
    if (kernels.facts.isList)
      addListParameters(parameters);
    if (sumsSink(kernels.facts, isOfQuery))
      parameters.pointer("dsink").stride("dsink.stride.batch").workspace(sinkRegion);
    std::string suffix = isOfQuery ? "_convert" : ("_convert_" + gradient).str();
    return EntryBuilder(op.getLoc(), kernels.module, kernels.facts.name + suffix, launch,
                        parameters);
  }
  static bool sumsSink(const ProgramFacts &facts, bool isOfQuery) {
    return facts.hasSink && isOfQuery;
  }

  /// A warp of a head's first block; of a list blocks take turns with its sequences, whatever tiles they have themselves, because
  /// an empty sequence has none.
  void sumSinks() {
    if (!facts.isList)
      return b.ifThen(b.both(b.equal(tile.q, 0), b.below(thread, threadsOfWarp)),
                      [&] { sumSink(tile); });
    Value tilesOfHead = b.parameter("q_tiles"), place = b.remainder(tile.index, tilesOfHead);
    Value firstOfHead = b.sub(tile.index, place), sequences = b.parameter("sequences");
    auto sumOne = [&](Value sequence, ValueRange) -> SmallVector<Value> {
      SequenceRows queries =
          readSequence(b, b.parameter("workspace.order"), sequence, /*isKeyValue=*/false);
      QueryTile first = tile;
      first.index = b.add(firstOfHead, queries.firstTile);
      first.batch = sequence;
      first.rows = queries.rows;
      sumSink(first);
      return {};
    };
    b.ifThen(b.below(thread, threadsOfWarp),
             [&] { b.forEach(place, sequences, tilesOfHead, ValueRange{}, sumOne); });
  }

  /// The warp has all runs of rows of a head, from its first tile on: each lane every 32nd, one after the other.
  void sumSink(const QueryTile &tile) {
    Value tiles = b.ceilDiv(tile.rows, facts.qTile);
    Value count = b.mul(tiles, sinkRuns(facts.qTile)), last = b.add(count, -1);
    Value runs = tileOf(b, sinkRegion, 4 * sinkRuns(facts.qTile), tile);
    Value sum = b.forEach(b.i32(0), count, b.i32(threadsOfWarp), b.f32(0),
                          [&](Value first, ValueRange carried) -> SmallVector<Value> {
                            Value run = b.add(first, b.laneOf(thread));
                            Value place = b.offset(runs, b.mul(b.toI64(b.min(run, last)), 4));
                            Value number = b.load(b.getF32Type(), place, 4);
                            number = b.choose(b.below(run, count), number, b.f32(0));
                            return {b.add(carried.front(), number)};
                          })
                    .front();
    sum = b.negate(pairwiseSumOverWarp(b, sum));
    Value batch = b.mul(b.toI64(tile.batch), b.parameter("dsink.stride.batch"));
    Value place = b.mul(b.add(batch, b.toI64(tile.head)), 4);
    b.inOneLane(thread, [&] { b.store(sum, b.offset(b.parameter("dsink"), place), 4); });
  }

  StringRef rows() const { return isOfQuery ? "q_rows" : "kv_rows"; }

  /// The pair of elements of one half (rows r or r + 8) of a piece.
  Value roundPiece(ArrayRef<Value> words, int64_t half) {
    Value low = b.toF32(words[2 * half]), high = b.toF32(words[2 * half + 1]);
    if (scale) {
      low = b.mul(low, scale);
      high = b.mul(high, scale);
    }
    return packPair(b, facts.element, low, high);
  }

  /// Four lanes hold a row of 4 x 4 words each; afterwards each holds a column.
  SmallVector<Value> transpose(SmallVector<Value> words) {
    for (int64_t distance : {1, 2}) {
      Value isUpper = b.equal(b.bitAnd(thread, distance), distance);
      for (int64_t i : {0, 1, 2, 3}) {
        if (i & distance)
          continue;
        Value &mine = words[i], &other = words[i + distance];
        Value received = b.shuffleXor(b.choose(isUpper, mine, other), distance);
        Value first = b.choose(isUpper, received, mine);
        other = b.choose(isUpper, other, received);
        mine = first;
      }
    }
    return words;
  }

  void writeRows(ArrayRef<SmallVector<Value>> words, int64_t half, Value localRow,
                 Value firstColumn) {
    SmallVector<SmallVector<Value>> lines;
    for (size_t i = 0; i < words.size(); i += 4) {
      SmallVector<Value> pairs;
      for (const SmallVector<Value> &piece : words.slice(i, 4))
        pairs.push_back(roundPiece(piece, half));
      lines.push_back(transpose(pairs));
    }
    Value row = b.add(tile.firstRow, localRow);
    b.ifThen(b.below(row, tile.rows), [&] {
      Value target = b.offset(rowOf(b, gradient, 2, tile, row), b.mul(firstColumn, 2));
      // A line is eight columns of this lane, thirty-two of its four.
      for (auto [i, line] : llvm::enumerate(lines))
        b.store16(line, b.offset(target, i * 64));
    });
  }

  ConvertOp op;
  ProgramFacts facts;
  StringRef gradient;
  bool isOfQuery;
  int64_t pieces;      ///< of a tile of the gradient
  FragmentAttr layout; ///< of a tile of the sums, or of a piece
  EntryBuilder b;
  Value thread;
  Value scale;    ///< null for 1
  QueryTile tile; ///< or piece of a kv tile
};

/// Sums are found where whoever added them has left them.
LogicalResult checkLayout(ConvertOp op, const ProgramFacts &facts) {
  FragmentAttr layout = op.getLayoutAttr();
  if (!layout)
    return op.emitError() << "does not say how tiles of the sums lie in memory; run "
                             "--dash-distribute-tiles first";
  int64_t shape[] = {facts.qTile, facts.headDim};
  if (failed(layout.verifyEncoding(shape, Float32Type::get(op.getContext()),
                                   [&] { return op.emitError(); })))
    return failure();
  // Four lanes turn four pieces of eight columns among themselves.
  if (int64_t columns = layout.getColumns(shape); columns % 32)
    return op.emitError() << "sums must lie in multiples of 32 columns of a warpgroup, got "
                          << columns << " by " << layout;
  return success();
}

struct LowerConvert : public dash::impl::LowerConvertBase<LowerConvert> {
  using LowerConvertBase::LowerConvertBase;

  void runOnOperation() override {
    SmallVector<ConvertOp> ops;
    getOperation()->walk([&](ConvertOp op) { ops.push_back(op); });
    for (ConvertOp op : ops) {
      FailureOr<Kernels> kernels = findKernels(op);
      if (failed(kernels))
        return signalPassFailure();
      if (failed(checkLayout(op, kernels->facts)))
        return signalPassFailure();
      StringRef gradient = nameOfArgument(op.getTarget());
      if (gradient != "dq" && gradient != "dk" && gradient != "dv") {
        op.emitError() << "rounds sums into "
                       << (gradient.empty() ? "memory without a name" : "'" + gradient.str() + "'")
                       << ", expected dq, dk or dv; run --dash-outline-program first";
        return signalPassFailure();
      }
      ConvertBuilder(op, *kernels, gradient).build();
      // A sink's runs of rows were added by the entry before the main kernel, and those sums are by that of dQ.
      if (kernels->facts.hasSink)
        op->getParentOfType<FunctionOpInterface>().walk([](SinkGradientOp sink) { sink.erase(); });
      op.erase();
      ++numLowered;
    }
  }
};

} // namespace
