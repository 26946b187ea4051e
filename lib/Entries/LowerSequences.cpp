//===- LowerSequences.cpp - the entry that reads lengths ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lengths come from outside, and the host never sees them. So this entry clamps them to the
// tensors' sizes; every later entry reads records.
//
//===----------------------------------------------------------------------===//

#include "Order/FormulaEmitter.h"
#include "dash/Entries/Kernels.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/OrderBuffer.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERSEQUENCES
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// A sum or a maximum over the lanes before this one, and over all lanes.
struct Scanned {
  Value before, all;
};

class SequencesBuilder {
public:
  SequencesBuilder(const Kernels &kernels, FormulasAttr formulas)
      : kernels(kernels), formulas(formulas), b(makeEntry(kernels)) {}

  void build() {
    lane = b.special("tid.x");
    sequences = b.parameter("sequences");
    // The rows at which sequences begin, and the numbers of tiles, visits and units up to here.
    SmallVector<Value> none(isCut() ? 7 : 6, b.i32(0));
    SmallVector<Value> totals =
        b.forEach(b.i32(0), sequences, b.i32(threadsOfWarp), none,
                  [&](Value first, ValueRange carried) { return writeSome(first, carried); });
    b.inOneLane(lane, [&] {
      Value zero = b.i32(0);
      storeRecord(sequences, {zero, zero, totals[2], zero, zero, zero, totals[3], totals[4],
                              totals[5], isCut() ? totals[6] : zero, zero, zero});
    });
    b.finish();
  }

private:
  static EntryBuilder makeEntry(const Kernels &kernels) {
    EntryLaunch launch;
    launch.role = EntryRole::Sequences;
    launch.threads = threadsOfWarp;
    ParameterList parameters;
    for (TensorRoleAttr bounds : boundsOf(kernels))
      parameters.pointer(bounds.getName());
    parameters.sizes(
        {headsOf(kernels.facts().getOwn()), "q_rows", "kv_rows", "sequences", "workers", "width"});
    parameters.workspace("order");
    return EntryBuilder(kernels.module->getLoc(), kernels.module, kernels.entryName(launch.role),
                        launch, parameters);
  }
  bool isCut() const { return kernels.rowsOfPiece() > 0; }
  /// The bounds of sequences: of queries and of keys.
  static SmallVector<TensorRoleAttr> boundsOf(const Kernels &kernels) {
    SmallVector<TensorRoleAttr> bounds;
    for (TensorAttr tensor : kernels.program.getTensors())
      if (tensor.getRole().getKind() == TensorKind::Bounds)
        bounds.push_back(tensor.getRole());
    return bounds;
  }

  /// A butterfly over the warp's lanes: in each step, a lane's group doubles, and the lower half
  /// precedes the upper one.
  Scanned scan(Value number, llvm::function_ref<Value(Value, Value)> join) {
    Scanned scanned{b.i32(0), number};
    for (int64_t distance = 1; distance < threadsOfWarp; distance *= 2) {
      Value other = b.shuffleXor(scanned.all, distance);
      Value isUpper = b.equal(b.bitAnd(lane, distance), distance);
      scanned.before = b.choose(isUpper, join(other, scanned.before), scanned.before);
      scanned.all = join(scanned.all, other);
    }
    return scanned;
  }
  Scanned sum(Value number) {
    return scan(number, [&](Value x, Value y) { return b.add(x, y); });
  }

  /// The rows of this lane's sequence, and the maximum so far: `carried` up to this warp's.
  struct Rows {
    Value end, rows, largest;
  };
  Rows readRows(TensorRoleAttr bounds, Value sequence, Value carried) {
    auto bound = [&](Value index) {
      Value at =
          b.offset(b.parameter(bounds.getName()), b.mul(b.toI64(b.min(index, sequences)), 4));
      Value number = hopper::loadWordGlobal(b, at, 0);
      return b.min(b.max(number, b.i32(0)), b.parameter(rowsOf(bounds)));
    };
    Value own = bound(sequence), next = bound(b.add(sequence, 1));
    auto larger = [&](Value x, Value y) { return b.max(x, y); };
    Value begin = b.max(b.max(scan(own, larger).before, own), carried);
    Value end = b.max(begin, next);
    return {end, b.sub(end, begin), b.max(scan(end, larger).all, carried)};
  }

  /// The number of units of a sequence's items: the last item has the last one.
  Value numUnits(Value qTiles, Value kvTiles, Value pieces) {
    TensorSide own = formulas.getOwn();
    Value ownTiles = own == TensorSide::Q ? qTiles : kvTiles;
    Value groups = b.toI64(b.parameter(headsOf(own)));
    if (kernels.fold() > 1) // heads as items count them
      groups = b.quotient(groups, kernels.fold());
    Value isEmpty = b.equal(ownTiles, 0);
    if (pieces) {
      isEmpty = b.bitOr(isEmpty, b.equal(pieces, 0));
      groups = b.mul(groups, b.toI64(b.max(pieces, b.i32(1)))); // formulas divide by it
    }
    Value last = b.max(b.add(b.mul(groups, b.toI64(ownTiles)), -1), b.i64(0));
    const FormulaSignature &signature = getFormulaSignature("item");
    SmallVector<Value> values;
    for (unsigned symbol = 0; symbol < signature.getNumSymbols(); ++symbol) {
      StringRef name = signature.getName(symbol);
      values.push_back(name == "i"          ? last
                       : name == "q_tiles"  ? b.toI64(qTiles)
                       : name == "kv_tiles" ? b.toI64(kvTiles)
                       : name == "groups"   ? groups
                                            : b.toI64(b.parameter(name)));
    }
    Value unit = FormulaEmitter(b, values).emit(formulas.getItem())[2];
    return b.choose(isEmpty, b.i32(0), b.add(b.toI32(unit), 1));
  }

  /// The records of the next sequences, one for each lane.
  SmallVector<Value> writeSome(Value first, ValueRange carried) {
    Value sequence = b.add(first, lane);
    SmallVector<TensorRoleAttr> bounds = boundsOf(kernels);
    Rows q = readRows(bounds[0], sequence, carried[0]);
    Rows kv = readRows(bounds[1], sequence, carried[1]);
    Value qTiles = b.ceilDiv(q.rows, kernels.qTile()),
          kvTiles = b.ceilDiv(kv.rows, kernels.kvTile());
    SmallVector<Value> next = {q.largest, kv.largest}, before;
    Value pieces = isCut() ? b.ceilDiv(kv.rows, kernels.rowsOfPiece()) : Value();
    SmallVector<Value> counts = {qTiles, kvTiles, b.mul(qTiles, kvTiles),
                                 numUnits(qTiles, kvTiles, pieces)};
    if (pieces)
      counts.push_back(b.mul(qTiles, pieces));
    for (auto [i, number] : llvm::enumerate(counts)) {
      Scanned scanned = sum(number);
      before.push_back(b.add(scanned.before, carried[2 + i]));
      next.push_back(b.add(scanned.all, carried[2 + i]));
    }
    b.ifThen(b.below(sequence, sequences), [&] {
      Value zero = b.i32(0);
      storeRecord(sequence,
                  {q.end, q.rows, before[0], b.sub(kv.rows, q.rows), kv.end, kv.rows, before[1],
                   before[2], before[3], pieces ? before[4] : zero, zero, zero});
    });
    return next;
  }

  void storeRecord(Value sequence, ArrayRef<Value> words) {
    Value first = b.add(b.mul(b.toI64(sequence), orderSequenceWords), orderHeaderWords);
    Value at = b.offset(b.parameter("workspace.order"), b.mul(first, 4));
    for (size_t i = 0; i < words.size(); i += 4)
      b.store16(words.slice(i, 4), b.offset(at, 4 * i));
  }

  Kernels kernels;
  FormulasAttr formulas;
  EntryBuilder b;
  Value lane, sequences;
};

/// Checks those of queries and of keys, in this order.
LogicalResult checkBounds(const Kernels &kernels) {
  SmallVector<TensorSide> sides;
  for (TensorAttr tensor : kernels.program.getTensors())
    if (tensor.getRole().getKind() == TensorKind::Bounds)
      sides.push_back(tensor.getRole().getSide());
  if (ArrayRef(sides) == ArrayRef({TensorSide::Q, TensorSide::KV}))
    return success();
  return kernels.module->emitError()
         << "expected 'tensors' of '" << programAttr
         << "' with bounds of queries and of keys, in this order, found " << sides.size()
         << " of them; run --dash-outline-program to make it";
}

struct LowerSequences : public dash::impl::LowerSequencesBase<LowerSequences> {
  using LowerSequencesBase::LowerSequencesBase;

  void runOnOperation() override {
    SmallVector<Operation *> modules;
    getOperation()->walk([&](Operation *op) {
      auto program = op->getAttrOfType<ProgramAttr>(programAttr);
      if (program && program.isList() && op->hasAttrOfType<FormulasAttr>(formulasAttr))
        modules.push_back(op);
    });
    for (Operation *module : modules) {
      FailureOr<Kernels> kernels = readKernels(module);
      if (failed(kernels) || failed(checkBounds(*kernels)))
        return signalPassFailure();
      SequencesBuilder(*kernels, module->getAttrOfType<FormulasAttr>(formulasAttr)).build();
      ++numLowered;
    }
  }
};

} // namespace
