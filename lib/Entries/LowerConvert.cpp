//===- LowerConvert.cpp - the entry that rounds sums ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main kernel leaves the sums as its matrix products hold them, in the layout that the op names: 16 bytes are
// two columns of two rows. Read in that order every load is of neighbours; four lanes that hold the same eight columns
// turn their pieces among themselves, so that each also writes 16 neighbouring bytes.
//
// With parts, dK and dV are rounded from sums, too, by blocks of the same entry. Their tiles were added in pieces: a block has one.
//
// Contributions that were kept apart are added up first, in the order of their turns, as `dash.ordered_reduce` adds: a sum hangs on
// the one before, but no load does, so several turns are loaded at once, and a block has no more of a tile than four lanes turn.
//
//===----------------------------------------------------------------------===//

#include "dash/Entries/Passes.h"
#include "dash/Entries/ProgramFacts.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERCONVERT
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

constexpr int64_t warpgroup = FragmentAttr::threadsOfWarpgroup;
/// Pieces of 16 bytes, of eight columns of the four lanes that hold them, whose rows the lanes turn among themselves.
constexpr int64_t piecesOfLine = 4;
constexpr int64_t columnsOfLine = 8 * piecesOfLine;
/// Turns whose loads are under way at once.
constexpr int64_t turnsAtOnce = 4;

namespace {

/// Sums that an entry rounds, and what a block of theirs has.
struct Rounded {
  Rounded(ConvertOp op)
      : op(op), gradient(nameOfArgument(op.getTarget())), isOfQuery(gradient == "dq"),
        pieces(op.getPieces().value_or(1)), isApart(op.getApart()), waits(op.getWaits()),
        layout(op.getLayoutAttr()) {}

  StringRef heads() const { return isOfQuery ? "heads" : "kv_heads"; }
  StringRef rows() const { return isOfQuery ? "q_rows" : "kv_rows"; }
  std::string grid(const ProgramFacts &facts) const {
    int64_t blocks = (isOfQuery ? 1 : pieces) * shares(facts);
    return (isOfQuery ? queryTileGrid.str() : "batch*kv_heads*kv_tiles") +
           (blocks == 1 ? "" : "*" + std::to_string(blocks));
  }
  /// Blocks that share a tile or a piece.
  int64_t shares(const ProgramFacts &facts) const {
    return isApart ? numPieces(facts) / piecesOfLine : 1;
  }
  /// Pieces of 16 bytes that a thread has of a tile or a piece.
  int64_t numPieces(const ProgramFacts &facts) const {
    return layout.getNumRegisters({facts.qTile, facts.headDim}) / FragmentAttr::wordsOfPiece;
  }
  int64_t threads() const { return layout.getWarpgroups() * warpgroup; }

  ConvertOp op;
  StringRef gradient;
  bool isOfQuery;
  int64_t pieces;      ///< of a tile of the gradient
  bool isApart;        ///< contributions are still to be added up
  bool waits;          ///< for each sum until it is complete
  FragmentAttr layout; ///< of a tile of the sums, or of a piece
  Value scale;         ///< null for 1
  QueryTile tile;      ///< or piece of a kv tile
};

class ConvertBuilder {
public:
  ConvertBuilder(ArrayRef<Rounded> all, const Kernels &kernels)
      : all(all), facts(kernels.facts), b(makeEntry(all, kernels)) {}

  void build() {
    thread = b.special("tid.x");
    if (all.size() == 1)
      round(all.front());
    else
      shareBlocks();
    if (overlaps(all))
      endBehindMain();
    b.finish();
  }

private:
  static EntryBuilder makeEntry(ArrayRef<Rounded> all, const Kernels &kernels) {
    EntryLaunch launch;
    launch.role = EntryRole::Convert;
    launch.grid[0] =
        llvm::join(llvm::map_range(all, [&](auto &one) { return one.grid(kernels.facts); }), " + ");
    launch.threads = all.front().threads();
    launch.overlaps = overlaps(all);
    ParameterList parameters;
    SetVector<StringRef> sizes;
    for (const Rounded &one : all) {
      parameters.tensor(one.gradient);
      sizes.insert(one.heads());
      sizes.insert(one.rows());
    }
    if (all.size() > 1)
      sizes.insert("batch");
    if (llvm::any_of(all, [](const Rounded &one) { return one.isApart && one.isOfQuery; }))
      sizes.insert("kv_rows");
    parameters.sizes(sizes.getArrayRef());
    if (llvm::any_of(all,
                     [](Rounded one) { return isa_and_present<BlockArgument>(one.op.getScale()); }))
      parameters.scale();
    for (const Rounded &one : all) {
      if (!one.isApart)
        parameters.workspace(sumsRegion(one.gradient));
      if (one.waits)
        parameters.workspace(turnsRegion(one.gradient));
      if (one.isApart)
        parameters.workspace(contributionsRegion(one.gradient))
            .workspace(turnsRegion(one.gradient));
    }
    if (kernels.facts.isList)
      addListParameters(parameters);
    if (llvm::any_of(all, [&](const Rounded &one) { return sumsSink(kernels.facts, one); }))
      parameters.pointer("dsink").stride("dsink.stride.batch").workspace(sinkRegion);
    ConvertOp first = all.front().op;
    return EntryBuilder(first.getLoc(), kernels.module, kernels.facts.name + "_convert", launch,
                        parameters);
  }
  static bool overlaps(ArrayRef<Rounded> all) {
    return llvm::any_of(all, [](const Rounded &one) { return one.waits; });
  }
  static bool sumsSink(const ProgramFacts &facts, const Rounded &one) {
    return facts.hasSink && one.isOfQuery;
  }

  /// Blocks of one gradient stand behind those of the one before: a launch for each would take longer than what it rounds.
  void shareBlocks() {
    Value block = b.special("ctaid.x"), begin = b.i32(0);
    for (const Rounded &one : all) {
      Value tiles = b.ceilDiv(b.parameter(one.rows()), one.isOfQuery ? facts.qTile : facts.kvTile);
      Value heads = b.mul(b.parameter("batch"), b.parameter(one.heads()));
      Value end = b.add(begin, b.mul(b.mul(heads, tiles), one.pieces * one.shares(facts)));
      Value isBehind = b.bitXor(b.below(block, begin), b.i1(true));
      b.ifThen(b.both(isBehind, b.below(block, end)), [&] { round(one, b.sub(block, begin)); });
      begin = end;
    }
  }

  /// index: of the block's share of a tile or piece; the block's own if null.
  void round(Rounded one, Value index = {}) {
    Value share;
    if (int64_t shares = one.shares(facts); shares > 1) {
      Value block = index ? index : b.special("ctaid.x");
      share = b.remainder(block, shares);
      index = b.quotient(block, shares);
    }
    if (one.waits)
      waitForSum(one, index ? index : b.special("ctaid.x"));
    one.tile = one.isOfQuery
                   ? queryTileOfBlock(b, facts, index)
                   : tileOfBlock(b, one.heads(), one.rows(), facts.kvTile, one.pieces, index);
    if (one.op.getScale())
      one.scale = scaleFactor(b, one.op.getScale());
    // Thread t finds what thread t of those that add holds.
    Value group = b.quotient(thread, warpgroup), local = b.remainder(thread, warpgroup);
    int64_t shape[] = {facts.qTile, facts.headDim};
    FragmentAttr layout = one.layout;
    Value firstRow = b.add(b.mul(b.shiftRight(local, 5), 16), b.bitAnd(b.shiftRight(local, 2), 7));
    // Of a piece a warpgroup has its own block of rows, and all of them have the same columns.
    firstRow = b.add(firstRow, b.mul(group, one.pieces > 1 ? shape[0] : layout.getFirstRow(1)));
    Value firstColumn = b.mul(b.bitAnd(local, 3), 8);
    firstColumn =
        b.add(firstColumn,
              one.pieces > 1 ? b.mul(b.remainder(one.tile.q, one.pieces), layout.getColumns(shape))
                             : b.mul(group, layout.getFirstColumn(shape, 1)));

    Value place = b.add(b.mul(group, layout.getMemoryOffset(shape, 1)),
                        b.mul(local, 4 * FragmentAttr::wordsOfPiece));
    if (share) {
      place = b.add(place, b.mul(share, FragmentAttr::getPieceOffset(piecesOfLine)));
      firstColumn = b.add(firstColumn, b.mul(share, columnsOfLine));
    }
    SmallVector<SmallVector<Value>> words =
        one.isApart
            ? addUp(one, place, b.below(b.add(one.tile.firstRow, firstRow), one.tile.rows))
            : loadPieces(
                  b.offset(tileOf(b, sumsRegion(one.gradient), bytesOfTile(), one.tile), place),
                  one.numPieces(facts), /*isWritten=*/one.waits);
    for (int64_t half : {0, 1})
      writeRows(one, words, half, b.add(firstRow, FragmentAttr::getRowOffset(2 * half)),
                firstColumn);
    if (!sumsSink(facts, one))
      return;
    if (!share)
      return sumSinks(one.tile);
    b.ifThen(b.equal(share, 0), [&] { sumSinks(one.tile); });
  }

  int64_t bytesOfTile() const { return 4 * facts.qTile * facts.headDim; }

  /// All loads first: what hides their latency is their number. `isWritten`: by others, since the launch.
  SmallVector<SmallVector<Value>> loadPieces(Value first, int64_t count, bool isWritten = false) {
    SmallVector<SmallVector<Value>> words;
    for (int64_t i : llvm::seq(count)) {
      Value piece = b.offset(first, FragmentAttr::getPieceOffset(i));
      words.push_back(isWritten ? b.streamInWritten(piece) : b.streamIn(piece));
    }
    return words;
  }

  /// Until the last turn of the block's chain, or the entry before the main kernel, has told that its sum is complete. One thread
  /// acquires that for all, and leaves the counter as every launch finds it: what it reads is never what another launch has told.
  void waitForSum(const Rounded &one, Value index) {
    Value counter =
        b.offset(b.parameter("workspace." + turnsRegion(one.gradient)), b.mul(b.toI64(index), 4));
    b.ifThen(b.equal(thread, 0), [&] {
      hopper::waitAcquire(b, counter, b.i32(sumIsComplete));
      hopper::storeRelaxed(b, counter, b.i32(0));
    });
    b.syncBlock();
  }

  /// Sums are complete before the main kernel has ended, but dK and dV may not be: who comes behind this entry finds all of it. One
  /// block waits, and takes nobody's place who does not.
  void endBehindMain() {
    Value last = b.add(b.special("nctaid.x"), -1);
    b.ifThen(b.equal(b.sub(b.special("ctaid.x"), last), 0),
             [&] { hopper::waitForLaunchBefore(b); });
  }

  /// The sum of a tile's contributions, in the order of turns. The first is taken as it is, a tile without any is zero. Threads
  /// that hold rows past the end load nothing: of a few rows of Q, most threads.
  SmallVector<SmallVector<Value>> addUp(const Rounded &one, Value place, Value hasRows) {
    constexpr int64_t numWords = piecesOfLine * FragmentAttr::wordsOfPiece;
    Value index = b.toI64(one.tile.index);
    Value turns = b.parameter("workspace." + turnsRegion(one.gradient));
    Value count = b.load(b.getI32Type(), b.offset(turns, b.mul(index, 4)), 4);
    count = b.choose(hasRows, count, b.i32(0));
    Value slots = one.isOfQuery ? b.toI64(b.ceilDiv(b.parameter("kv_rows"), facts.kvTile))
                                : b.i64(facts.parts);
    Value first = b.offset(b.parameter("workspace." + contributionsRegion(one.gradient)),
                           b.mul(b.mul(index, slots), bytesOfTile()));
    first = b.offset(first, place);
    Value last = b.add(count, -1);
    auto addSome = [&](Value turn, ValueRange carried) {
      SmallVector<SmallVector<Value>> loaded;
      for (int64_t i : llvm::seq(turnsAtOnce)) {
        Value at = b.toI64(b.min(b.add(turn, i), last));
        for (SmallVector<Value> &piece :
             loadPieces(b.offset(first, b.mul(at, bytesOfTile())), piecesOfLine))
          loaded.push_back(std::move(piece));
      }
      SmallVector<Value> sums(carried);
      for (int64_t i : llvm::seq(turnsAtOnce)) {
        Value isThere = b.below(b.add(turn, i), count), isFirst = b.equal(b.add(turn, i), 0);
        for (int64_t word : llvm::seq(numWords)) {
          Value term = b.toF32(loaded[i * piecesOfLine + word / FragmentAttr::wordsOfPiece]
                                     [word % FragmentAttr::wordsOfPiece]);
          Value sum = hopper::addFlushed(b, sums[word], term);
          if (i == 0) // no other turn of a round is the first of all
            sum = b.choose(isFirst, term, sum);
          sums[word] = b.choose(isThere, sum, sums[word]);
        }
      }
      return sums;
    };
    SmallVector<Value> zeros(numWords, b.f32(0));
    SmallVector<Value> sums = b.forEach(b.i32(0), count, b.i32(turnsAtOnce), zeros, addSome);
    SmallVector<SmallVector<Value>> words(piecesOfLine);
    for (auto [i, sum] : llvm::enumerate(sums))
      words[i / FragmentAttr::wordsOfPiece].push_back(b.toBits(sum));
    return words;
  }

  /// A warp of a head's first block; of a list blocks take turns with its sequences, whatever tiles they have themselves, because
  /// an empty sequence has none.
  void sumSinks(const QueryTile &tile) {
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

  /// The pair of elements of one half (rows r or r + 8) of a piece.
  Value roundPiece(Value scale, ArrayRef<Value> words, int64_t half) {
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

  void writeRows(const Rounded &one, ArrayRef<SmallVector<Value>> words, int64_t half,
                 Value localRow, Value firstColumn) {
    SmallVector<SmallVector<Value>> lines;
    for (size_t i = 0; i < words.size(); i += piecesOfLine) {
      SmallVector<Value> pairs;
      for (const SmallVector<Value> &piece : words.slice(i, piecesOfLine))
        pairs.push_back(roundPiece(one.scale, piece, half));
      lines.push_back(transpose(pairs));
    }
    Value row = b.add(one.tile.firstRow, localRow);
    b.ifThen(b.below(row, one.tile.rows), [&] {
      Value target = b.offset(rowOf(b, one.gradient, 2, one.tile, row), b.mul(firstColumn, 2));
      // A line is eight columns of this lane, thirty-two of its four.
      for (auto [i, line] : llvm::enumerate(lines))
        b.store16(line, b.offset(target, i * 64));
    });
  }

  ArrayRef<Rounded> all;
  ProgramFacts facts;
  EntryBuilder b;
  Value thread;
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
    WalkResult result = getOperation()->walk([&](FunctionOpInterface function) {
      SmallVector<Rounded> all;
      function.walk([&](ConvertOp op) { all.push_back(op); });
      return WalkResult(all.empty() ? success() : lower(function, all));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult lower(FunctionOpInterface function, ArrayRef<Rounded> all) {
    FailureOr<Kernels> kernels = findKernels(all.front().op);
    if (failed(kernels))
      return failure();
    for (Rounded one : all) {
      if (failed(checkLayout(one.op, kernels->facts)))
        return failure();
      if (one.gradient != "dq" && one.gradient != "dk" && one.gradient != "dv")
        return one.op.emitError() << "rounds sums into "
                                  << (one.gradient.empty() ? "memory without a name"
                                                           : "'" + one.gradient.str() + "'")
                                  << ", expected dq, dk or dv; run --dash-outline-program first";
      if (one.isApart != kernels->facts.isApart(one.gradient))
        return one.op.emitError() << (one.isApart ? "adds contributions up that are kept apart"
                                                  : "rounds sums")
                                  << ", but its kernels say that contributions to '" << one.gradient
                                  << "' are " << (one.isApart ? "added in turns" : "kept apart")
                                  << "; run --dash-outline-program behind --dash-keep-apart";
      if (one.waits != kernels->facts.overlapsRounding)
        return one.op.emitError() << (one.waits ? "waits for its sums" : "waits for no sum")
                                  << ", but its kernels say that adds to '" << one.gradient << "' "
                                  << (one.waits ? "do not tell" : "tell")
                                  << " when one is complete; run --dash-outline-program behind "
                                     "--dash-overlap-rounding";
      if (one.threads() != all.front().threads())
        return one.op.emitError() << "rounds sums of " << one.threads() << " threads, expected "
                                  << all.front().threads() << " as those of '"
                                  << all.front().gradient << "'";
    }
    ConvertBuilder(all, *kernels).build();
    // A sink's runs of rows were added by the entry before the main kernel, and those sums are by that of dQ.
    if (kernels->facts.hasSink)
      function.walk([](SinkGradientOp sink) { sink.erase(); });
    for (Rounded one : all)
      one.op.erase();
    numLowered += all.size();
    return success();
  }
};

} // namespace
