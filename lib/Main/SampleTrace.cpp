//===- SampleTrace.cpp - records of some items only -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The branch stands where an item begins. Loops over items carry numbers, but no sums: all products
// of an item are complete where it ends, and none is in flight at the branch.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Main/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {
#define GEN_PASS_DEF_SAMPLETRACE
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

static LogicalResult checkCarried(scf::ForOp loop) {
  for (Value carried : loop.getRegionIterArgs())
    if (!carried.getType().isIndex())
      return loop.emitError() << "carries " << carried.getType()
                              << " from item to item: expected numbers only, since a product may "
                                 "be in flight where some items are traced and some are not";
  return success();
}

/// Clocks and records are read by records alone.
static void eraseRecords(Block &block) {
  SmallVector<Operation *> records;
  block.walk([&](Operation *op) {
    if (isa<ClockOp, TraceOp>(op))
      records.push_back(op);
  });
  for (Operation *op : llvm::reverse(records))
    op->erase();
}

/// Whether an item is traced: the second of each `every` of the worker's list, or its only one. The
/// first is the longest of many orders, and has the start-up in it.
static Value isTraced(ImplicitLocOpBuilder &b, scf::ForOp items, int64_t every) {
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, value); };
  auto equal = [&](Value one, Value other) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, one, other);
  };
  Value rest = arith::RemUIOp::create(b, items.getInductionVar(), index(every));
  Value isOnly = equal(items.getUpperBound(), index(1));
  return equal(rest, arith::SelectOp::create(b, isOnly, index(0), index(1)));
}

static void makeTwoBodies(scf::ForOp loop, int64_t every) {
  Block &body = *loop.getBody();
  auto yield = cast<scf::YieldOp>(body.getTerminator());
  auto firstOfItem = body.begin();
  ImplicitLocOpBuilder b(loop.getLoc(), &body, firstOfItem);
  Value traced = isTraced(b, loop, every);
  auto branch = scf::IfOp::create(b, yield.getOperandTypes(), traced, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  Block &with = branch.getThenRegion().front(), &without = branch.getElseRegion().front();
  with.clear();
  without.clear();
  with.getOperations().splice(with.end(), body.getOperations(), firstOfItem, body.end());
  IRMapping toCopies;
  b.setInsertionPointToEnd(&without);
  for (Operation &op : with)
    b.clone(op, toCopies);
  eraseRecords(without);
  b.setInsertionPointToEnd(&body);
  scf::YieldOp::create(b, branch.getResults());
}

namespace {

struct SampleTrace : public dash::impl::SampleTraceBase<SampleTrace> {
  using SampleTraceBase::SampleTraceBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](TraceOp op) {
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      if (op.getEvent() == TraceEvent::Item && loop &&
          op->getParentOfType<WorkersOp>().getTraceEvery() > 1)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      if (failed(checkCarried(loop)))
        return signalPassFailure();
      makeTwoBodies(loop, loop->getParentOfType<WorkersOp>().getTraceEvery());
      ++numLoops;
    }
  }
};

} // namespace
