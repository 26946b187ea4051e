//===- InsertTrace.cpp - records of waits and work of roles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is a clock before something and a store after it. No existing op is changed or moved, so
// everything proven about the roles also holds with a trace.
//
// Others wait for a reducer that has a turn. So it only reads clocks there, and stores its records
// once the turn is given: a store in front of it would have to be in memory before it.
//
//===----------------------------------------------------------------------===//

#include "TracedOps.h"
#include "WaitsAreOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {
#define GEN_PASS_DEF_INSERTTRACE
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Records of all items cost 1, 10 and 60 % of the time; of one item in so many, 1, 4 and 15 %.
static int64_t everyByLevel(TraceLevel level) {
  return level == TraceLevel::All ? 64 : level == TraceLevel::Turns ? 4 : 1;
}

namespace {

//===----------------------------------------------------------------------===//
// A role
//===----------------------------------------------------------------------===//

class RoleTrace {
public:
  RoleTrace(RoleOp role, TraceLevel level, bool isSampled)
      : role(role), level(level), isSampled(isSampled), b(role.getLoc(), role.getContext()) {}

  /// Returns the number of records.
  int64_t insert() {
    Block &body = role.getBody().front();
    SmallVector<scf::ForOp> loops = itemLoops(role);
    SmallVector<Operation *> ops;
    role.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto holds = [&](scf::ForOp loop) { return loop->isProperAncestor(op); };
      if (!isSampled || llvm::any_of(loops, holds))
        ops.push_back(op);
    });
    bool hasItemsAlone =
        level == TraceLevel::Items || !(level == TraceLevel::All || role.isReducer());
    if (!hasItemsAlone)
      for (Operation *op : ops)
        visit(op);
    SmallVector<Value, 1> numItems;
    for (scf::ForOp loop : loops) {
      b.setInsertionPointToStart(loop.getBody());
      record(TraceEvent::Item, "", Value(), loop.getInductionVar());
      if (isSampled) {
        b.setInsertionPoint(loop.getBody()->getTerminator());
        record(TraceEvent::ItemEnd, "", Value(), loop.getInductionVar());
      }
      if (hasItemsAlone)
        numItems = {loop.getUpperBound()};
    }
    b.setInsertionPointToStart(&body);
    record(TraceEvent::Begin, "", Value(), {});
    b.setInsertionPointToEnd(&body);
    record(TraceEvent::End, "", Value(), numItems);
    return numRecords;
  }

private:
  void visit(Operation *op) {
    bool isAll = level == TraceLevel::All; // else a reducer, of which turns are wanted
    if (auto wait = findSync(op, SyncKind::WaitForSlot); wait && isAll)
      return around(
          op, op, wait->isWaitFor(BarrierSide::Full) ? TraceEvent::SlotFull : TraceEvent::SlotEmpty,
          nameOf(wait->slot.channel), useOf(ringOf(wait->slot.slot)));
    if (op == give)
      storeHeld();
    if (auto sum = findSum(op, SumAction::Take)) {
      give = giveBehind(op);
      SmallVector<Value, 2> numbers = useOf(slotAdded(op, /*isBehind=*/true));
      numbers.push_back(sum->turn);
      return around(op, op, TraceEvent::Turn, "", numbers);
    }
    if (findSync(op, SyncKind::WaitForCopies)) {
      Operation *next = nextOf(op);
      if (isa_and_present<DelayOp>(next))
        next = nextOf(next);
      SmallVector<Value, 2> numbers;
      if (role.isReducer())
        numbers = useOf(slotAdded(op, /*isBehind=*/false));
      if (next && findSum(next, SumAction::Give))
        return around(op, next, TraceEvent::Given, "", numbers);
      return isAll ? around(op, op, TraceEvent::Copies, "", numbers) : void();
    }
    if (!isAll)
      return;
    if (findSync(op, SyncKind::TakeTensorCore))
      return around(op, op, TraceEvent::TensorCore, "", {});
    if (findSync(op, SyncKind::WaitForProducts))
      return isAmongElementwise(op) ? void() : aroundProducts(op);
    if (auto product = dyn_cast<MatmulOp>(op);
        product && !isSampled && !isa_and_present<MatmulOp>(nextOf(op))) {
      b.setInsertionPointAfter(op);
      return record(TraceEvent::Issue, nameOfProduct(product), Value(), numberOf(product));
    }
    if (isElementwise(op) && !goesOn(op))
      around(op, lastOfRun(op), TraceEvent::Elementwise, "", {});
  }

  /// Whether a run of elementwise ops has begun in front of one.
  static bool goesOn(Operation *op) {
    Operation *previous = previousOf(op);
    return previous && (isElementwise(previous) || isAmongElementwise(previous));
  }
  static Operation *lastOfRun(Operation *op) {
    for (Operation *next = nextOf(op); next; next = nextOf(next)) {
      if (isElementwise(next))
        op = next;
      else if (!isAmongElementwise(next))
        break;
    }
    return op;
  }

  static SmallVector<Value, 2> useOf(RingOp ring) {
    return ring ? SmallVector<Value, 2>{ring.getUse()} : SmallVector<Value, 2>();
  }
  static SmallVector<Value, 2> numberOf(MatmulOp product) {
    Value use = useOfProduct(product);
    return use ? SmallVector<Value, 2>{use} : SmallVector<Value, 2>();
  }

  void aroundProducts(Operation *wait) {
    MatmulOp last;
    for (Value sum : wait->getOperands())
      if (auto product = sum.getDefiningOp<MatmulOp>())
        last = product;
    around(wait, wait, TraceEvent::Products, last ? nameOfProduct(last) : "",
           last ? numberOf(last) : SmallVector<Value, 2>());
  }

  /// The time before an op: that of the clock or of the record there, if there is one.
  Value timeBefore(Operation *op) {
    Operation *previous = previousOf(op);
    if (auto clock = dyn_cast_if_present<ClockOp>(previous))
      return clock.getNow();
    if (auto trace = dyn_cast_if_present<TraceOp>(previous); trace && !trace.getUntil())
      return trace.getNow();
    b.setInsertionPoint(op);
    return ClockOp::create(b, CyclesType::get(b.getContext()));
  }

  void around(Operation *first, Operation *last, TraceEvent event, StringRef of,
              ValueRange numbers) {
    Value since = timeBefore(first);
    b.setInsertionPointAfter(last);
    if (!give)
      return record(event, of, since, numbers);
    Value until = ClockOp::create(b, CyclesType::get(b.getContext()));
    held.push_back({event, of.str(), since, until, llvm::to_vector(numbers)});
  }

  /// Behind the turn that was given, and behind the clock there.
  void storeHeld() {
    Operation *last = give;
    while (isa_and_present<ClockOp>(last->getNextNode()))
      last = last->getNextNode();
    b.setInsertionPointAfter(last);
    for (const Held &one : held)
      record(one.event, one.of, one.since, one.numbers, one.until);
    held.clear();
    give = nullptr;
  }

  void record(TraceEvent event, StringRef of, Value since, ValueRange numbers, Value until = {}) {
    TraceOp::create(b, CyclesType::get(b.getContext()), event,
                    of.empty() ? StringAttr() : b.getStringAttr(of), since, until, numbers);
    ++numRecords;
  }

  /// A record whose store waits for the turn to be given.
  struct Held {
    TraceEvent event;
    std::string of;
    Value since, until;
    SmallVector<Value> numbers;
  };

  RoleOp role;
  TraceLevel level;
  bool isSampled; ///< some items have records, and nothing else has
  ImplicitLocOpBuilder b;
  Operation *give = nullptr; ///< gives the turn that the role has here
  SmallVector<Held> held;
  int64_t numRecords = 0;
};

struct InsertTrace : dash::impl::InsertTraceBase<InsertTrace> {
  using InsertTraceBase::InsertTraceBase;

  void runOnOperation() override {
    if (records <= TraceAttr::headRecords || records > TraceAttr::maxRecords) {
      getOperation()->emitError() << "records of a lane must be from " << TraceAttr::headRecords + 1
                                  << " to " << TraceAttr::maxRecords << ", got "
                                  << records.getValue();
      return signalPassFailure();
    }
    if (every < 0 || every > TraceAttr::maxEvery) {
      getOperation()->emitError() << "traced items must be one in 1 to " << TraceAttr::maxEvery
                                  << ", or in 0, which leaves it to the level; got one in "
                                  << every.getValue();
      return signalPassFailure();
    }
    if (level == TraceLevel::None)
      return;
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp workers) { found.push_back(workers); });
    for (WorkersOp workers : found) {
      if (failed(checkWaitsAreOps(workers)))
        return signalPassFailure();
      workers.setTrace(records);
      workers.setTraceEvery(every == 0 ? everyByLevel(level) : every.getValue());
      for (RoleOp role : workers.getRoles())
        numInserted += RoleTrace(role, level, workers.getTraceEvery() > 1).insert();
    }
  }
};

} // namespace
