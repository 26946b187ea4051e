//===- LowerPrepare.cpp - the entry before the main kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes ready what the main kernel reads: one number for each row, in the order in which threads
// hold rows; zeros where nothing is added; and the descriptors of the tensors it copies. A block
// has one q tile. If delta is not given, it sums rows of O times dO.
//
//===----------------------------------------------------------------------===//

#include "LonelyTiles.h"
#include "PrepareForward.h"
#include "Prepared.h"
#include "dash/Entries/MaskEmitter.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Regions.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TaskTiles.h"
#include "dash/IR/TensorRoles.h"
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
  PrepareBuilder(Location loc, const Kernels &kernels, const Prepared &what,
                 const std::optional<LonelyTiles> &lonely)
      : kernels(kernels), what(what), lonely(lonely), qTile(kernels.qTile()),
        b(makeEntry(loc, kernels, what)) {}

  void build() {
    thread = b.special("tid.x");
    tile = queryTileOfBlock(b, kernels);
    shared = b.sharedBase();
    if (kernels.isOrdered() && what.ofQueries)
      clearTurns();
    if (!what.takesDelta())
      whereTileIs(b, tile, [&] {
        sumRows(b, what.factors, tile, qTile, thread, numThreads, [&](Value row, Value sum) {
          hopper::storeWord(b, b.toBits(sum), sharedDelta(row));
        });
      });
    b.ifThen(b.equal(b.special("ctaid.x"), 0), [&] {
      buildDescriptors(b, kernels, thread, shared);
      if (what.tasks)
        writeTaskOfZeros();
    });
    if (!what.takesDelta())
      b.syncBlock();
    if (what.hasRows())
      whereTileIs(b, tile, [&] {
        b.ifThen(b.below(thread, qTile), [&] { writeRowNumbers(); });
        if (hasGrowingSums(kernels, what)) // contributions kept apart need no zeros
          b.ifThen(getsNoAdd(), [&] {
            writeZeros();
            tellComplete();
          });
      });
    if (tile.isThere && what.ofQueries)
      b.ifThen(b.bitXor(tile.isThere, b.i1(true)), [&] { tellComplete(); });
    if (kernels.dealsByWork())
      b.endBehindEntryBefore();
    b.finish();
  }

private:
  static EntryBuilder makeEntry(Location loc, const Kernels &kernels, const Prepared &what) {
    EntryLaunch launch;
    launch.role = EntryRole::Prepare;
    launch.overlaps = kernels.dealsByWork();
    launch.grid[0] = what.hasRows() ? queryTileGrid.str() : "1";
    launch.threads = numThreads;
    launch.sharedBytes = descriptorsBytes(kernels) + (what.takesDelta() ? 0 : 4 * kernels.qTile());
    ParameterList parameters;
    for (TensorMapAttr map : kernels.program.getMaps())
      parameters.tensor(map.getTensor());
    for (TensorRoleAttr read : what.read())
      if (!kernels.program.findMap(read))
        parameters.tensor(read);
    parameters.sizes({"batch", "heads", "kv_heads", "q_rows", "kv_rows"});
    parameters.workspace("descriptors");
    if (what.hasRows())
      parameters.workspace(rowsRegion(what.lse)).workspace(rowsRegion(what.delta));
    if (what.tasks)
      parameters.pointer(what.tasks.getName());
    if (hasGrowingSums(kernels, what))
      parameters.workspace(sumsRegion(what.ofQueries));
    for (TensorRoleAttr sums : chained(kernels, what))
      parameters.workspace(turnsRegion(sums));
    if (kernels.isList())
      parameters.list();
    if (what.sink)
      parameters.pointer(what.sink.getName()).workspace(sinkRegion);
    return EntryBuilder(loc, kernels.module, kernels.entryName(launch.role), launch, parameters);
  }
  /// What a mask hides whole is copied from it.
  void writeTaskOfZeros() {
    Value tile = b.offset(b.parameter(what.tasks.getName()), b.mul(thread, 16));
    SmallVector<Value> zeros(4, b.i32(0));
    for (int64_t at = 0; at < bytesOfTaskTile; at += 16 * numThreads)
      b.store16(zeros, b.offset(tile, at));
  }
  static bool hasGrowingSums(const Kernels &kernels, const Prepared &what) {
    return what.ofQueries && !kernels.program.isApart(what.ofQueries);
  }
  /// Shared memory holds the descriptors, then the sum of each row if delta is not given.
  Value sharedDelta(Value localRow) {
    return b.add(b.add(shared, b.mul(localRow, 4)), descriptorsBytes(kernels));
  }

  /// One thread for each row. Rows past the end, and rows that see no column, get P = exp2(x - inf)
  /// = 0.
  void writeRowNumbers() {
    Value row = b.add(tile.firstRow, thread);
    Value isRow = b.below(row, tile.rows);
    auto load = [&](TensorRoleAttr tensor) {
      Value at = rowOf(b, tensor, tile, clampedRow(b, tile, thread));
      return b.load(b.getF32Type(), at, /*alignment=*/4);
    };
    Value lse = load(what.lse);
    Value isEmpty = b.choose(isRow, b.isInfinite(lse), b.i1(true));
    Value infinity = b.f32(std::numeric_limits<double>::infinity());
    Value lse2 = b.choose(isEmpty, infinity, b.mul(lse, b.f32(llvm::numbers::log2e)));
    Value delta =
        what.takesDelta() ? load(what.delta) : b.toF32(hopper::loadWord(b, sharedDelta(thread)));
    delta = b.choose(isRow, delta, b.f32(0));

    Value place = b.mul(permutedRow(b, thread), 4);
    for (auto [rows, number] : {std::pair(what.lse, lse2), std::pair(what.delta, delta)})
      b.store(number, b.offset(tileOf(b, rowsRegion(rows), 4 * qTile, tile), place), 4);
    if (what.sink)
      sumSinkTerms(lse, delta, isEmpty);
  }

  /// exp(sink - LSE) * delta over a run of rows; each warp has one run.
  void sumSinkTerms(Value lse, Value delta, Value isEmpty) {
    Value sink =
        b.load(b.getF32Type(), b.offset(b.parameter(what.sink.getName()), b.mul(tile.head, 4)), 4);
    Value power = hopper::exp2(b, b.mul(b.sub(sink, lse), b.f32(llvm::numbers::log2e)));
    Value sum = pairwiseSumOverWarp(b, b.choose(isEmpty, b.f32(0), b.mul(power, delta)));
    b.inOneLane(b.laneOf(thread), [&] {
      Value runs = tileOf(b, sinkRegion, 4 * sinkRuns(qTile), tile);
      b.store(sum, b.offset(runs, b.mul(b.warpOf(thread), 4)), 4);
    });
  }

  /// Whether the main kernel expects zeros in the tile's sums. The first ordered add is a store, so
  /// only tiles that see no column need zeros.
  Value getsNoAdd() {
    if (!kernels.isOrdered())
      return b.i1(true);
    if (lonely)
      return isAmong(*lonely);
    if (kernels.edges().rest.band.isFull())
      return kernels.isList() ? b.equal(tile.kvRows, 0) : b.i1(false);
    TileEdges edges = kernels.edges();
    if (kernels.isList()) {
      LineEmitter mask(b, edges, b.sub(b.toI64(tile.kvRows), b.toI64(tile.rows)));
      return b.equal(mask.activeKv(b.toI64(tile.q), b.toI64(tile.kvTiles)).size, 0);
    }
    Value qRows = b.toI64(b.parameter("q_rows")), kvRows = b.toI64(b.parameter("kv_rows"));
    LineEmitter mask(b, edges, b.sub(kvRows, qRows));
    return b.equal(mask.activeKv(b.toI64(tile.q), b.ceilDiv(kvRows, kernels.kvTile())).size, 0);
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
    int64_t tileBytes = 4 * qTile * what.ofQueries.getTileColumns();
    Value sums =
        b.offset(tileOf(b, sumsRegion(what.ofQueries), tileBytes, tile), b.mul(thread, 16));
    SmallVector<Value> zeros(4, b.i32(0));
    for (int64_t at = 0; at < tileBytes; at += 16 * numThreads)
      b.store16(zeros, b.offset(sums, at));
  }

  /// The sums of the gradients that are added in turns.
  static ArrayRef<TensorRoleAttr> chained(const Kernels &kernels, const Prepared &what) {
    return kernels.isOrdered() ? ArrayRef(what.summed) : ArrayRef<TensorRoleAttr>();
  }
  Value counterOfTile() { return tileOf(b, turnsRegion(what.ofQueries), 4, tile); }
  /// Signals completion for a tile without a chain, or of no sequence: no turn is its last.
  void tellComplete() {
    if (kernels.facts().getOverlapsRounding())
      b.ifThen(b.equal(thread, 0), [&] { b.store(b.i32(sumIsComplete), counterOfTile(), 4); });
  }
  /// Chains begin with turn 0. The block clears its own counter of dQ; all threads share those of
  /// dK and dV.
  void clearTurns() {
    Value zero = b.i32(0);
    b.ifThen(b.equal(thread, 0), [&] { b.store(zero, counterOfTile(), 4); });
    if (kernels.parts() == 1)
      return;
    Value kvTiles = b.ceilDiv(b.parameter("kv_rows"), kernels.kvTile());
    Value heads = b.mul(b.parameter("batch"), b.parameter("kv_heads"));
    Value end = b.mul(b.toI64(b.mul(heads, kvTiles)), kernels.numPieces());
    Value begin = b.add(b.mul(b.toI64(tile.index), numThreads), b.toI64(thread));
    Value step = b.mul(b.toI64(b.special("nctaid.x")), numThreads);
    b.forEach(begin, end, step, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
      for (TensorRoleAttr sums : chained(kernels, what)) {
        if (!sums.isKeyValue())
          continue;
        Value turns = b.parameter("workspace." + turnsRegion(sums));
        b.store(zero, b.offset(turns, b.mul(i, 4)), 4);
      }
      return {};
    });
  }

  Kernels kernels;
  const Prepared &what;
  const std::optional<LonelyTiles> &lonely;
  int64_t qTile;
  EntryBuilder b;
  Value thread, shared;
  QueryTile tile;
};

struct LowerPrepare : public dash::impl::LowerPrepareBase<LowerPrepare> {
  using LowerPrepareBase::LowerPrepareBase;

  void runOnOperation() override {
    SmallVector<Operation *> forwards;
    getOperation()->walk([&](Operation *module) {
      if (auto program = module->getAttrOfType<ProgramAttr>(programAttr);
          program && Kernels{module, program}.isForward())
        forwards.push_back(module);
    });
    for (Operation *module : forwards) {
      FailureOr<Kernels> kernels = readKernels(module);
      if (failed(kernels))
        return signalPassFailure();
      buildPrepareOfForward(*kernels);
      ++numLowered;
    }
    SmallVector<Operation *> ops;
    WalkResult result = getOperation()->walk([&](FunctionOpInterface function) {
      FailureOr<Operation *> op = findPreparing(function);
      if (failed(op))
        return WalkResult::interrupt();
      if (*op)
        ops.push_back(*op);
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
    FailureOr<Prepared> what = findPrepared(op, *kernels);
    if (failed(what))
      return failure();
    PrepareBuilder(op->getLoc(), *kernels, *what, *lonely).build();
    // In a program with kernels, all fills are of its sums.
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (auto delta = dyn_cast<DeltaOp>(op))
      delta.erase();
    function.walk([](linalg::FillOp fill) { fill.erase(); });
    return success();
  }
};

} // namespace
