//===- LowerConvert.cpp - the entry that rounds sums ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main kernel leaves sums in the layout of its matrix products, which the op names: 16 bytes
// are two columns of two rows. Loads in that order are contiguous. Four lanes that hold the same
// eight columns exchange their chunks, so that each also writes 16 contiguous bytes.
//
// With parts, blocks of the same entry also round dK and dV from sums. Their tiles were added in
// pieces, and each block has one piece.
//
//===----------------------------------------------------------------------===//

#include "Rounded.h"
#include "SinkSums.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TensorRoles.h"
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

namespace {

class ConvertBuilder {
public:
  ConvertBuilder(ArrayRef<Rounded> all, const Kernels &kernels)
      : all(all), kernels(kernels), b(makeEntry(all, kernels)) {}

  void build() {
    thread = b.special("tid.x");
    if (all.size() == 1)
      round(all.front());
    else
      shareBlocks();
    // Sums are complete before the main kernel has ended, but dK and dV may not be.
    if (overlaps(all))
      b.endBehindEntryBefore();
    b.finish();
  }

private:
  static EntryBuilder makeEntry(ArrayRef<Rounded> all, const Kernels &kernels) {
    EntryLaunch launch;
    launch.role = EntryRole::Convert;
    launch.grid[0] = llvm::join(llvm::map_range(all, [](auto &one) { return one.grid(); }), " + ");
    launch.threads = all.front().threads();
    launch.overlaps = overlaps(all);
    ParameterList parameters;
    SetVector<StringRef> sizes;
    for (const Rounded &one : all) {
      parameters.tensor(one.tensor);
      sizes.insert(headsOf(one.tensor));
      sizes.insert(rowsOf(one.tensor));
    }
    if (all.size() > 1)
      sizes.insert("batch");
    if (llvm::any_of(all,
                     [](const Rounded &one) { return one.isApart && !one.tensor.isKeyValue(); }))
      sizes.insert("kv_rows");
    parameters.sizes(sizes.getArrayRef());
    for (Rounded one : all)
      if (isa_and_present<BlockArgument>(one.op.getScale())) { // the factor of all of them
        parameters.number(roleOf(one.op.getScale()).getName());
        break;
      }
    for (const Rounded &one : all) {
      if (!one.isApart)
        parameters.workspace(sumsRegion(one.tensor));
      if (one.waits)
        parameters.workspace(turnsRegion(one.tensor));
      if (one.isApart)
        parameters.workspace(contributionsRegion(one.tensor)).workspace(turnsRegion(one.tensor));
    }
    if (kernels.isList())
      parameters.list();
    if (llvm::any_of(all, [&](const Rounded &one) { return sumsSink(kernels, one); })) {
      TensorRoleAttr dsink = kernels.program.findTensor(TensorKind::SequenceHead);
      parameters.pointer(dsink.getName()).stride(dsink, "batch").workspace(sinkRegion);
    }
    ConvertOp first = all.front().op;
    return EntryBuilder(first.getLoc(), kernels.module, kernels.entryName(launch.role), launch,
                        parameters);
  }
  static bool overlaps(ArrayRef<Rounded> all) {
    return llvm::any_of(all, [](const Rounded &one) { return one.waits; });
  }
  static bool sumsSink(const Kernels &kernels, const Rounded &one) {
    return kernels.program.findTensor(TensorKind::SequenceHead) && !one.tensor.isKeyValue();
  }

  /// Blocks of one gradient follow those of the one before: a separate launch for each would take
  /// longer than the rounding.
  void shareBlocks() {
    Value block = b.special("ctaid.x"), begin = b.i32(0);
    for (const Rounded &one : all) {
      Value tiles =
          b.ceilDiv(b.parameter(rowsOf(one.tensor)), kernels.program.rowsOfTile(one.tensor));
      Value heads = b.mul(b.parameter("batch"), b.parameter(headsOf(one.tensor)));
      Value end = b.add(begin, b.mul(b.mul(heads, tiles), one.pieces * one.shares()));
      Value isBehind = b.bitXor(b.below(block, begin), b.i1(true));
      b.ifThen(b.both(isBehind, b.below(block, end)), [&] { round(one, b.sub(block, begin)); });
      begin = end;
    }
  }

  /// index: of the block's share of a tile or piece; the block's own if null.
  void round(Rounded one, Value index = {}) {
    Value share;
    if (int64_t shares = one.shares(); shares > 1) {
      Value block = index ? index : b.special("ctaid.x");
      share = b.remainder(block, shares);
      index = b.quotient(block, shares);
    }
    if (one.waits)
      waitForSum(one, index ? index : b.special("ctaid.x"));
    one.tile = one.tensor.isKeyValue() ? tileOfBlock(b, headsOf(one.tensor), rowsOf(one.tensor),
                                                     kernels.kvTile(), one.pieces, index)
                                       : queryTileOfBlock(b, kernels, index);
    if (one.op.getScale())
      one.scale = scaleFactor(b, one.op.getScale());
    // Thread t reads what thread t of the adding role holds.
    Value group = b.quotient(thread, warpgroup), local = b.remainder(thread, warpgroup);
    std::array<int64_t, 2> shape = one.shape();
    FragmentAttr layout = one.layout;
    Value firstRow = b.add(b.mul(b.shiftRight(local, 5), 16), b.bitAnd(b.shiftRight(local, 2), 7));
    // Each warpgroup has its own rows of a piece; all have the same columns.
    firstRow = b.add(firstRow, b.mul(group, one.pieces > 1 ? shape[0] : layout.getFirstRow(1)));
    bool isOfBothRows = one.chunksOfLine() == 2;
    Value firstColumn = b.mul(b.bitAnd(local, isOfBothRows ? 1 : 3), 8);
    firstColumn =
        b.add(firstColumn,
              one.pieces > 1 ? b.mul(b.remainder(one.tile.q, one.pieces), layout.getColumns(shape))
                             : b.mul(group, layout.getFirstColumn(shape, 1)));

    Value place = b.add(b.mul(group, layout.getMemoryOffset(shape, 1)),
                        b.mul(local, 4 * FragmentAttr::wordsOfChunk));
    if (share) {
      place = b.add(place, b.mul(share, FragmentAttr::getChunkOffset(one.chunksOfLine())));
      firstColumn = b.add(firstColumn, b.mul(share, one.columnsOfLine()));
    }
    SmallVector<SmallVector<Value>> words =
        one.isApart
            ? addContributions(b, one, kernels, place,
                               b.below(b.add(one.tile.firstRow, firstRow), one.tile.rows))
            : loadChunks(b,
                         b.offset(tileOf(b, sumsRegion(one.tensor), one.bytes(), one.tile), place),
                         one.chunks(), /*isWritten=*/one.waits);
    if (isOfBothRows) // two lanes have the row, two the row eight further down
      writeRows(one, turnLines(one, words, {0, 1}),
                b.add(firstRow, b.mul(b.bitAnd(local, 2), FragmentAttr::getRowOffset(2) / 2)),
                firstColumn);
    else
      for (int64_t half : {0, 1})
        writeRows(one, turnLines(one, words, half),
                  b.add(firstRow, FragmentAttr::getRowOffset(2 * half)), firstColumn);
    if (!sumsSink(kernels, one))
      return;
    if (!share)
      return sumSinks(b, kernels, thread, one.tile);
    b.ifThen(b.equal(share, 0), [&] { sumSinks(b, kernels, thread, one.tile); });
  }

  /// Waits until the last turn of the block's chain, or the entry before the main kernel, signals
  /// that the sum is complete. One thread acquires the signal for all. It is never that of another
  /// launch: the entry before the main kernel has begun the counter anew.
  void waitForSum(const Rounded &one, Value index) {
    Value counter =
        b.offset(b.parameter("workspace." + turnsRegion(one.tensor)), b.mul(b.toI64(index), 4));
    b.ifThen(b.equal(thread, 0), [&] { hopper::waitAcquire(b, counter, b.i32(sumIsComplete)); });
    b.syncBlock();
  }

  /// The pair of elements of one half (rows r or r + 8) of a chunk.
  Value roundChunk(Value scale, FloatType element, ArrayRef<Value> words, int64_t half) {
    Value low = b.toF32(words[2 * half]), high = b.toF32(words[2 * half + 1]);
    if (scale) {
      low = b.mul(low, scale);
      high = b.mul(high, scale);
    }
    return packPair(b, element, low, high);
  }

  /// Four lanes hold one row each of 4 x 4 words; afterwards each holds a column.
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

  /// A lane's eight columns of each line, for each half that a line has.
  SmallVector<SmallVector<Value>> turnLines(const Rounded &one, ArrayRef<SmallVector<Value>> words,
                                            ArrayRef<int64_t> halves) {
    auto element = cast<FloatType>(one.tensor.getElement());
    SmallVector<SmallVector<Value>> lines;
    for (size_t i = 0; i < words.size(); i += one.chunksOfLine()) {
      SmallVector<Value> pairs;
      for (int64_t half : halves)
        for (const SmallVector<Value> &chunk : words.slice(i, one.chunksOfLine()))
          pairs.push_back(roundChunk(one.scale, element, chunk, half));
      lines.push_back(transpose(pairs));
    }
    return lines;
  }

  void writeRows(const Rounded &one, ArrayRef<SmallVector<Value>> lines, Value localRow,
                 Value firstColumn) {
    Value row = b.add(one.tile.firstRow, localRow);
    b.ifThen(b.below(row, one.tile.rows), [&] {
      Value target = b.offset(rowOf(b, one.tensor, one.tile, row), b.mul(firstColumn, 2));
      // A line is eight columns of this lane, and of the other lanes that have its row.
      for (auto [i, line] : llvm::enumerate(lines)) {
        auto store = [&, i = i, &line = line] {
          b.store16(line, b.offset(target, i * one.columnsOfLine() * 2));
        };
        // Sums are as wide as tiles; the tensor may not be.
        if (one.tensor.getWidth())
          b.ifThen(b.below(b.add(firstColumn, i * one.columnsOfLine()), one.tensor.getColumns()),
                   store);
        else
          store();
      }
    });
  }

  ArrayRef<Rounded> all;
  Kernels kernels;
  EntryBuilder b;
  Value thread;
};

struct LowerConvert : public dash::impl::LowerConvertBase<LowerConvert> {
  using LowerConvertBase::LowerConvertBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](FunctionOpInterface function) {
      SmallVector<ConvertOp> ops;
      function.walk([&](ConvertOp op) { ops.push_back(op); });
      return WalkResult(ops.empty() ? success() : lower(function, ops));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult lower(FunctionOpInterface function, ArrayRef<ConvertOp> ops) {
    FailureOr<Kernels> kernels = findKernels(ops.front());
    if (failed(kernels))
      return failure();
    auto all = llvm::map_to_vector(ops, [&](ConvertOp op) { return Rounded(op, *kernels); });
    if (failed(checkRounded(all, *kernels)))
      return failure();
    ConvertBuilder(all, *kernels).build();
    // The entry before the main kernel added a sink's runs of rows; blocks of dQ add up these sums.
    if (kernels->program.findTensor(TensorKind::SequenceHead))
      function.walk([](SinkGradientOp sink) { sink.erase(); });
    for (ConvertOp op : ops)
      op.erase();
    numLowered += ops.size();
    return success();
  }
};

} // namespace
