//===- LowerPrepare.cpp - the entry before the main kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that the main kernel wants to find ready: one number a row, in the order in which its
// threads hold rows; zeros where nobody adds; and the descriptors of the tensors that it copies.
// A block has a tile of queries. Where delta is not given, it sums rows of O times dO, and loads all
// that it reads of them before it multiplies: what hides the latency of memory is the number of
// loads in flight.
//
//===----------------------------------------------------------------------===//

#include "LonelyTiles.h"
#include "dash/Entries/MaskEmitter.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/DashOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERPREPARE
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

constexpr int64_t numThreads = 256;

namespace {

class PrepareBuilder {
public:
  PrepareBuilder(Location loc, const Kernels &kernels, const std::optional<LonelyTiles> &lonely)
      : facts(kernels.facts), lonely(lonely), maps(tensorMaps(facts)),
        lanesPerRow(facts.headDim / 8), b(makeEntry(loc, kernels)) {}

  void build() {
    thread = b.special("tid.x");
    tile = queryTileOfBlock(b, facts);
    shared = b.sharedBase();
    if (facts.isOrdered)
      clearTurns();
    if (!facts.takesDelta)
      whereTileIs(b, tile, [&] { sumRows(); });
    buildDescriptors();
    if (!facts.takesDelta)
      b.syncBlock();
    whereTileIs(b, tile, [&] {
      b.ifThen(b.below(thread, facts.qTile), [&] { writeRowNumbers(); });
      if (!facts.isApart("dq")) // of which none are zero
        b.ifThen(getsNoAdd(), [&] {
          writeZeros();
          tellComplete();
        });
    });
    if (tile.isThere)
      b.ifThen(b.bitXor(tile.isThere, b.i1(true)), [&] { tellComplete(); });
    b.finish();
  }

private:
  static EntryBuilder makeEntry(Location loc, const Kernels &kernels) {
    const ProgramFacts &facts = kernels.facts;
    EntryLaunch launch;
    launch.role = EntryRole::Prepare;
    launch.grid[0] = queryTileGrid.str();
    launch.threads = numThreads;
    launch.sharedBytes = sharedDeltas() + (facts.takesDelta ? 0 : 4 * facts.qTile);
    ParameterList parameters;
    addMappedTensors(parameters, facts);
    parameters.tensor(facts.takesDelta ? "delta" : "o", /*isPerRow=*/facts.takesDelta);
    parameters.tensor("lse", /*isPerRow=*/true);
    parameters.sizes({"batch", "heads", "kv_heads", "q_rows", "kv_rows"});
    for (StringRef region : {"descriptors", "lse2", "delta"})
      parameters.workspace(region);
    if (!facts.isApart("dq"))
      parameters.workspace(sumsRegion("dq"));
    for (StringRef gradient : chained(facts))
      parameters.workspace(turnsRegion(gradient));
    if (facts.isList)
      addListParameters(parameters);
    if (facts.hasSink)
      parameters.pointer("sink").workspace(sinkRegion);
    return EntryBuilder(loc, kernels.module, facts.name + "_prepare", launch, parameters);
  }
  /// Shared memory holds the descriptors, then the sum of each row, where delta is not given.
  static int64_t sharedDeltas() { return numDescriptors * descriptorBytes; }
  Value sharedDelta(Value localRow) {
    return b.add(b.add(shared, b.mul(localRow, 4)), sharedDeltas());
  }

  /// Rows past the end are read as the last one: no branch stands between the loads.
  Value clampedRow(Value localRow) {
    return b.min(b.add(tile.firstRow, localRow), b.add(tile.rows, -1));
  }
  SmallVector<Value> loadPiece(StringRef tensor, Value row, Value column) {
    Value line = rowOf(b, tensor, 2, tile, row);
    return b.streamIn(b.offset(line, b.mul(column, 16)));
  }

  /// A row is 16 bytes of each of `lanesPerRow` lanes, which stand side by side in a warp.
  void sumRows() {
    int64_t rowsAtOnce = numThreads / lanesPerRow;
    Value column = b.remainder(thread, lanesPerRow), firstRow = b.quotient(thread, lanesPerRow);
    SmallVector<SmallVector<Value>> o, gradient;
    for (int64_t row = 0; row < facts.qTile; row += rowsAtOnce) {
      Value clamped = clampedRow(b.add(firstRow, row));
      o.push_back(loadPiece("o", clamped, column));
      gradient.push_back(loadPiece("do", clamped, column));
    }
    SmallVector<Value> sums;
    for (auto [x, y] : llvm::zip_equal(o, gradient)) {
      Value &sum = sums.emplace_back(sumOfPiece(x, y));
      for (int64_t distance = 1; distance < lanesPerRow; distance *= 2)
        sum = b.add(sum, b.toF32(b.shuffleXor(b.toBits(sum), distance)));
    }
    b.inOneLane(column, [&] {
      for (auto [i, sum] : llvm::enumerate(sums))
        hopper::storeWord(b, b.toBits(sum), sharedDelta(b.add(firstRow, i * rowsAtOnce)));
    });
  }
  Value sumOfPiece(ArrayRef<Value> o, ArrayRef<Value> gradient) {
    Value sum;
    for (auto [x, y] : llvm::zip_equal(o, gradient)) {
      auto factor = [&](Value pair, PairHalf half) {
        return unpackHalf(b, facts.element, pair, half);
      };
      Value low = factor(x, PairHalf::Low), lowFactor = factor(y, PairHalf::Low);
      sum = sum ? b.fma(low, lowFactor, sum) : b.mul(low, lowFactor);
      Value high = factor(x, PairHalf::High);
      sum = b.fma(high, factor(y, PairHalf::High), sum);
    }
    return sum;
  }

  /// One thread a row. Rows past the end and rows that see no column get P = exp2(x - inf) = 0.
  void writeRowNumbers() {
    Value row = b.add(tile.firstRow, thread);
    Value isRow = b.below(row, tile.rows);
    auto load = [&](StringRef tensor) {
      Value at = rowOf(b, tensor, 4, tile, clampedRow(thread), /*isPerRow=*/true);
      return b.load(b.getF32Type(), at, /*alignment=*/4);
    };
    Value lse = load("lse");
    Value isEmpty = b.choose(isRow, b.isInfinite(lse), b.i1(true));
    Value infinity = b.f32(std::numeric_limits<double>::infinity());
    Value lse2 = b.choose(isEmpty, infinity, b.mul(lse, b.f32(llvm::numbers::log2e)));
    Value delta =
        facts.takesDelta ? load("delta") : b.toF32(hopper::loadWord(b, sharedDelta(thread)));
    delta = b.choose(isRow, delta, b.f32(0));

    Value place = b.mul(permutedRow(b, thread), 4);
    b.store(lse2, b.offset(tileOf(b, "lse2", 4 * facts.qTile, tile), place), 4);
    b.store(delta, b.offset(tileOf(b, "delta", 4 * facts.qTile, tile), place), 4);
    if (facts.hasSink)
      sumSinkTerms(lse, delta, isEmpty);
  }

  /// exp(sink - LSE) * delta over a run of rows, which is a warp's.
  void sumSinkTerms(Value lse, Value delta, Value isEmpty) {
    Value sink = b.load(b.getF32Type(), b.offset(b.parameter("sink"), b.mul(tile.head, 4)), 4);
    Value power = hopper::exp2(b, b.mul(b.sub(sink, lse), b.f32(llvm::numbers::log2e)));
    Value sum = pairwiseSumOverWarp(b, b.choose(isEmpty, b.f32(0), b.mul(power, delta)));
    b.inOneLane(b.laneOf(thread), [&] {
      Value runs = tileOf(b, sinkRegion, 4 * sinkRuns(facts.qTile), tile);
      b.store(sum, b.offset(runs, b.mul(b.warpOf(thread), 4)), 4);
    });
  }

  /// Whether the main kernel expects zeros in the tile's sums. Where adds are ordered the first is a
  /// store, so that is so only for tiles that no column is seen from.
  Value getsNoAdd() {
    if (!facts.isOrdered)
      return b.i1(true);
    if (lonely)
      return isAmong(*lonely);
    if (facts.edges.rest.band.isFull())
      return facts.isList ? b.equal(tile.kvRows, 0) : b.i1(false);
    if (facts.isList) {
      LineEmitter mask(b, facts.edges, b.sub(b.toI64(tile.kvRows), b.toI64(tile.rows)));
      return b.equal(mask.activeKv(b.toI64(tile.q), b.toI64(tile.kvTiles)).size, 0);
    }
    Value qRows = b.toI64(b.parameter("q_rows")), kvRows = b.toI64(b.parameter("kv_rows"));
    LineEmitter mask(b, facts.edges, b.sub(kvRows, qRows));
    return b.equal(mask.activeKv(b.toI64(tile.q), b.ceilDiv(kvRows, facts.kvTile)).size, 0);
  }
  Value isAmong(ArrayRef<TileRange> ranges) {
    Value isFound = b.i1(false);
    for (const TileRange &range : ranges) {
      Value isBehind = b.below(b.i32(range.begin - 1), tile.q);
      isFound = b.bitOr(isFound, b.both(isBehind, b.below(tile.q, range.end)));
    }
    return isFound;
  }
  void writeZeros() {
    int64_t tileBytes = 4 * facts.qTile * facts.headDim;
    Value sums = b.offset(tileOf(b, "dq_sum", tileBytes, tile), b.mul(thread, 16));
    SmallVector<Value> zeros(4, b.i32(0));
    for (int64_t at = 0; at < tileBytes; at += 16 * numThreads)
      b.store16(zeros, b.offset(sums, at));
  }

  /// The sums of which gradients are added in turns.
  static ArrayRef<StringRef> chained(const ProgramFacts &facts) {
    static constexpr StringRef gradients[] = {"dq", "dk", "dv"};
    return ArrayRef(gradients).take_front(!facts.isOrdered ? 0 : facts.parts == 1 ? 1 : 3);
  }
  /// Of a tile without a chain, or of no sequence, no turn is the last.
  void tellComplete() {
    if (facts.overlapsRounding)
      b.ifThen(b.equal(thread, 0),
               [&] { b.store(b.i32(sumIsComplete), tileOf(b, turnsRegion("dq"), 4, tile), 4); });
  }
  /// Chains begin with the turn 0: a counter of dQ is the block's, those of dK and dV are shared among all threads.
  void clearTurns() {
    Value zero = b.i32(0);
    b.ifThen(b.equal(thread, 0), [&] { b.store(zero, tileOf(b, turnsRegion("dq"), 4, tile), 4); });
    if (facts.parts == 1)
      return;
    Value kvTiles = b.ceilDiv(b.parameter("kv_rows"), facts.kvTile);
    Value heads = b.mul(b.parameter("batch"), b.parameter("kv_heads"));
    Value end = b.mul(b.toI64(b.mul(heads, kvTiles)), facts.numPieces());
    Value begin = b.add(b.mul(b.toI64(tile.index), numThreads), b.toI64(thread));
    Value step = b.mul(b.toI64(b.special("nctaid.x")), numThreads);
    b.forEach(begin, end, step, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
      for (StringRef gradient : chained(facts).drop_front()) {
        Value turns = b.parameter("workspace." + turnsRegion(gradient));
        b.store(zero, b.offset(turns, b.mul(i, 4)), 4);
      }
      return {};
    });
  }

  void buildDescriptors() {
    Value warp = b.warpOf(b.uniform(thread)), lane = b.laneOf(thread);
    b.ifThen(b.equal(b.special("ctaid.x"), 0), [&] {
      for (auto [i, map] : llvm::enumerate(maps))
        b.ifThen(b.equal(warp, i), [&, i = i, &map = map] {
          buildDescriptor(b, facts, map, i, b.add(shared, i * descriptorBytes), lane);
        });
    });
  }

  ProgramFacts facts;
  const std::optional<LonelyTiles> &lonely;
  std::array<TensorMap, numDescriptors> maps;
  int64_t lanesPerRow;
  EntryBuilder b;
  Value thread, shared;
  QueryTile tile;
};

struct LowerPrepare : public dash::impl::LowerPrepareBase<LowerPrepare> {
  using LowerPrepareBase::LowerPrepareBase;

  void runOnOperation() override {
    // Where delta is given, nothing of the function but the zeros of its sums is left to say.
    SmallVector<Operation *> ops;
    WalkResult result = getOperation()->walk([&](FunctionOpInterface function) {
      Operation *zeros = nullptr, *delta = nullptr;
      function.walk([&](linalg::FillOp op) { zeros = op; });
      function.walk([&](DeltaOp op) { delta = op; });
      bool takesDelta = llvm::any_of(function.getArguments(), [](BlockArgument argument) {
        return nameOfArgument(argument) == "delta";
      });
      if (takesDelta && !zeros) {
        function.emitError(
            "takes 'delta', but there is no 'linalg.fill' of the sums of dQ to make the "
            "entry of; run --dash-outline-program on what dash-tile makes");
        return WalkResult::interrupt();
      }
      if (Operation *op = takesDelta ? zeros : delta)
        ops.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (Operation *op : ops) {
      if (failed(lower(op)))
        return signalPassFailure();
      ++numLowered;
    }
  }

private:
  static LogicalResult lower(Operation *op) {
    FailureOr<Kernels> kernels = findKernels(op);
    if (failed(kernels))
      return failure();
    auto lonely = findLonelyTiles(*kernels);
    if (failed(lonely))
      return failure();
    PrepareBuilder(op->getLoc(), *kernels, *lonely).build();
    // Of the fills of a program with kernels, all are of its sums.
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (auto delta = dyn_cast<DeltaOp>(op))
      delta.erase();
    function.walk([](linalg::FillOp fill) { fill.erase(); });
    return success();
  }
};

} // namespace
