//===- LowerCombine.cpp - the entry that puts pieces of rows together -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp has a row. Its lanes find the largest LSE together, a piece each. Then each lane adds up
// its columns, piece after piece. A few pieces are loaded at once, because a sum waits for each.
//
//===----------------------------------------------------------------------===//

#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Places.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERCOMBINE
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

constexpr int64_t numThreads = 128, numWarps = numThreads / threadsOfWarp;
constexpr int64_t mostRowsOfBlock = 16, columnsOfChunk = 4, piecesAtOnce = 4;

namespace {

class CombineBuilder {
public:
  CombineBuilder(CombineOp op, const Kernels &kernels)
      : kernels(kernels), o(roleOf(op.getO())), lse(roleOf(op.getLse())),
        sink(op.getSink() ? roleOf(op.getSink()) : TensorRoleAttr()),
        rows(std::gcd(kernels.qTile(), mostRowsOfBlock)), shares(kernels.qTile() / rows),
        b(makeEntry(op, kernels)) {}

  void build() {
    Value thread = b.special("tid.x"), block = b.special("ctaid.x");
    lane = b.laneOf(thread);
    heads = b.parameter("heads");
    tile = queryTileOfBlock(b, kernels, b.quotient(block, shares));
    numPieces =
        b.ceilDiv(tile.firstOfList ? tile.kvRows : b.parameter("kv_rows"), kernels.rowsOfPiece());
    Value firstRow = b.mul(b.remainder(block, shares), rows);
    whereTileIs(b, tile, [&] {
      b.forEach(b.warpOf(thread), b.i32(rows), b.i32(numWarps), {},
                [&](Value local, ValueRange) -> SmallVector<Value> {
                  Value row = b.add(b.add(tile.firstRow, firstRow), local);
                  b.ifThen(b.below(row, tile.rows), [&] { combine(row); });
                  return {};
                });
    });
    b.finish();
  }

private:
  EntryBuilder makeEntry(CombineOp op, const Kernels &kernels) const {
    EntryLaunch launch;
    launch.role = EntryRole::Combine;
    launch.grid[0] = queryTileGrid.str() + "*" + std::to_string(shares);
    launch.threads = numThreads;
    ParameterList parameters;
    parameters.tensor(o).tensor(lse);
    if (sink)
      parameters.pointer(sink.getName());
    parameters.workspace(piecesRegion(o)).workspace(piecesRegion(lse));
    parameters.sizes({"heads", "q_rows", "kv_rows", keyPieces});
    if (kernels.isList())
      parameters.list();
    return EntryBuilder(op.getLoc(), kernels.module, kernels.entryName(launch.role), launch,
                        parameters);
  }

  Value compare(arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  }
  Value hidden() { return b.f32(-std::numeric_limits<double>::infinity()); }
  /// Not -inf; a NaN is seen.
  Value isSeen(Value number) { return compare(arith::CmpFPredicate::UNE, number, hidden()); }

  /// Sets `firstOfRow` to the row's number in the first piece, and `step` to the rows from a piece
  /// to the next.
  void findRow(Value row) {
    Value rows = b.toI64(b.parameter("q_rows"));
    Value head = b.toI64(tile.head);
    if (!tile.firstOfList) {
      Value all = b.mul(b.toI64(heads), b.toI64(b.parameter(keyPieces)));
      head = b.add(b.mul(b.toI64(tile.batch), all), head);
    }
    Value whole = tile.firstOfList ? b.add(row, tile.firstOfList) : row;
    firstOfRow = b.add(b.mul(head, rows), b.toI64(whole));
    step = b.mul(b.toI64(heads), rows);
  }
  Value numberOf(Value piece) { return b.add(firstOfRow, b.mul(b.toI64(piece), step)); }
  Value loadLse(Value piece) {
    Value at = b.offset(b.parameter(("workspace." + piecesRegion(lse))), b.mul(numberOf(piece), 4));
    return b.load(b.getF32Type(), at, 4);
  }

  /// The largest LSE of the row: of NaN and -inf none counts. The order of pieces does not matter.
  Value findMost(Value ofSink) {
    Value begin = sink ? ofSink : hidden();
    SmallVector<Value> most =
        b.forEach(lane, numPieces, b.i32(threadsOfWarp), begin,
                  [&](Value piece, ValueRange most) -> SmallVector<Value> {
                    return {arith::MaxNumFOp::create(b, most[0], loadLse(piece))};
                  });
    for (int64_t distance = 1; distance < threadsOfWarp; distance *= 2)
      most[0] =
          arith::MaxNumFOp::create(b, most[0], b.toF32(b.shuffleXor(b.toBits(most[0]), distance)));
    return most[0];
  }
  Value weightOf(Value number, Value most) {
    Value exponent = b.mul(b.sub(number, most), b.f32(llvm::numbers::log2ef));
    Value isMost = compare(arith::CmpFPredicate::OEQ, number, most);
    return b.choose(isMost, b.f32(1), hopper::exp2(b, exponent));
  }

  int64_t numChunks() const { // of a lane
    return llvm::divideCeil(o.getColumns(), columnsOfChunk * threadsOfWarp);
  }
  Value columnOf(int64_t chunk) {
    return b.add(b.mul(lane, columnsOfChunk), chunk * columnsOfChunk * threadsOfWarp);
  }
  /// A lane without columns reads those of lane 0, and writes nothing.
  Value hasColumns(Value column) { return b.below(column, o.getColumns()); }

  /// Adds a piece to the sum of weights and to the lane's sums of columns. One that the row does
  /// not see changes nothing.
  void addPiece(Value number, Value most, ArrayRef<SmallVector<Value>> columns,
                SmallVectorImpl<Value> &sums) {
    Value seen = isSeen(number);
    Value weight = b.choose(seen, weightOf(number, most), b.f32(0));
    sums[0] = b.add(sums[0], weight);
    size_t place = 1;
    for (const SmallVector<Value> &chunk : columns)
      for (Value column : chunk) {
        Value &sum = sums[place++];
        sum = b.choose(seen, b.fma(weight, column, sum), sum);
      }
  }

  SmallVector<Value> addPieces(Value most, Value ofSink) {
    SmallVector<Value> sums(1 + numChunks() * columnsOfChunk, b.f32(0));
    if (sink)
      sums[0] = weightOf(ofSink, most);
    Value last = b.add(numPieces, -1);
    return b.forEach(b.i32(0), numPieces, b.i32(piecesAtOnce), sums,
                     [&](Value first, ValueRange carried) -> SmallVector<Value> {
                       SmallVector<Value> numbers, sums(carried);
                       SmallVector<SmallVector<SmallVector<Value>>> columns;
                       for (int64_t i :
                            llvm::seq(piecesAtOnce)) { // loads, none of which waits for another
                         Value piece = b.add(first, i), isPiece = b.below(piece, numPieces);
                         piece = b.min(piece, last);
                         numbers.push_back(b.choose(isPiece, loadLse(piece), hidden()));
                         columns.push_back(loadColumns(piece));
                       }
                       for (auto [number, ofPiece] : llvm::zip_equal(numbers, columns))
                         addPiece(number, most, ofPiece, sums);
                       return sums;
                     });
  }
  SmallVector<SmallVector<Value>> loadColumns(Value piece) {
    int64_t bytes = 4 * o.getTileColumns();
    Value row =
        b.offset(b.parameter("workspace." + piecesRegion(o)), b.mul(numberOf(piece), bytes));
    SmallVector<SmallVector<Value>> columns;
    for (int64_t chunk : llvm::seq(numChunks())) {
      Value column = columnOf(chunk);
      column = b.choose(hasColumns(column), column, b.i32(0));
      columns.push_back(
          b.loadVector(b.getF32Type(), columnsOfChunk, b.offset(row, b.mul(column, 4))));
    }
    return columns;
  }

  void combine(Value row) {
    findRow(row);
    Value ofSink;
    if (sink)
      ofSink = b.load(b.getF32Type(),
                      b.offset(b.parameter(sink.getName()), b.mul(b.toI64(tile.head), 4)), 4);
    Value most = findMost(ofSink);
    SmallVector<Value> sums = addPieces(most, ofSink);
    Value isEmpty = compare(arith::CmpFPredicate::OEQ, sums[0], b.f32(0));
    Value inverse = arith::DivFOp::create(b, b.f32(1), sums[0]);
    auto element = cast<FloatType>(o.getElement());
    Value target = rowOf(b, o, tile, row);
    for (int64_t chunk : llvm::seq(numChunks())) {
      SmallVector<Value> numbers, words;
      for (Value sum : ArrayRef(sums).slice(1 + chunk * columnsOfChunk, columnsOfChunk))
        numbers.push_back(b.choose(isEmpty, b.f32(0), b.fma(sum, inverse, b.f32(0))));
      for (int64_t i = 0; i < columnsOfChunk; i += 2)
        words.push_back(packPair(b, element, numbers[i], numbers[i + 1]));
      Value column = columnOf(chunk);
      b.ifThen(hasColumns(column),
               [&] { b.storeVector(words, b.offset(target, b.mul(column, 2))); });
    }
    b.inOneLane(lane, [&] {
      Value log = b.mul(hopper::log2(b, sums[0]), b.f32(llvm::numbers::ln2f));
      b.store(b.choose(isEmpty, hidden(), b.add(most, log)), rowOf(b, lse, tile, row), 4);
    });
  }

  const Kernels &kernels;
  TensorRoleAttr o, lse, sink; ///< sink may be null
  int64_t rows, shares;        ///< of a block, and blocks of a tile
  EntryBuilder b;
  QueryTile tile;
  Value lane, heads, numPieces;
  Value firstOfRow, step; ///< of the current row
};

LogicalResult checkRoles(CombineOp op) {
  for (Value value : {Value(op.getO()), Value(op.getLse()), Value(op.getSink())})
    if (value && !roleOf(value))
      return op.emitOpError() << "works on memory of type " << value.getType()
                              << " that has no '#dash.tensor_role': expected an argument with '"
                              << tensorAttr << "', as --dash-tile leaves it";
  return success();
}

struct LowerCombine : public dash::impl::LowerCombineBase<LowerCombine> {
  using LowerCombineBase::LowerCombineBase;

  void runOnOperation() override {
    SmallVector<CombineOp> ops;
    getOperation()->walk([&](CombineOp op) { ops.push_back(op); });
    for (CombineOp op : ops) {
      FailureOr<Kernels> kernels = findKernels(op);
      if (failed(kernels) || failed(checkRoles(op)) || failed(checkCut(op, *kernels)))
        return signalPassFailure();
      CombineBuilder(op, *kernels).build();
      // The entry knows how many pieces a sequence has, and reads no others.
      for (Operation *user : llvm::make_early_inc_range(op.getLsePieces().getUsers()))
        if (isa<linalg::FillOp>(user))
          user->erase();
      op.erase();
      ++numLowered;
    }
  }

private:
  static LogicalResult checkCut(CombineOp op, const Kernels &kernels) {
    int64_t cut = op.getCut();
    if (cut == kernels.rowsOfPiece())
      return success();
    return op.emitError() << "puts pieces of " << cut
                          << " rows together, but its kernels say that pieces have "
                          << kernels.rowsOfPiece()
                          << "; run --dash-outline-program to make them agree";
  }
};

} // namespace
