//===- InsertTrace.cpp - records of waits and work of roles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is a clock before something and a store after it. No existing op is changed or moved, so
// everything proven about the roles also holds with a trace.
//
//===----------------------------------------------------------------------===//

#include "WaitsAreOps.h"
#include "dash/IR/SlotAccess.h"
#include "dash/Steps/Passes.h"
#include "dash/Steps/SlotUse.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_INSERTTRACE
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Names of records
//===----------------------------------------------------------------------===//

/// Computes a tile from tiles, without effects on slots, products or sums: these pass the tile to
/// it.
static bool isElementwise(Operation *op) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  if (op->getNumRegions() > 0 || op->getNumResults() != 1 || !isTile(op->getResultTypes().front()))
    return false;
  return llvm::any_of(op->getOperandTypes(), isTile) && syncsOf(op).empty() &&
         llvm::none_of(accessesOf(op),
                       [&](const SlotAccess &access) { return access.tile == op->getResult(0); });
}

static std::optional<Sync> findSync(Operation *op, SyncKind kind) {
  for (const Sync &sync : syncsOf(op))
    if (sync.kind == kind)
      return sync;
  return std::nullopt;
}

static std::optional<SumAccess> findSum(Operation *op, SumAction action) {
  for (const SumAccess &sum : sumAccessesOf(op))
    if (sum.action == action)
      return sum;
  return std::nullopt;
}

/// The next op that is not just a computation of numbers.
static Operation *nextOf(Operation *op) {
  Operation *next = op->getNextNode();
  while (next && isPure(next) && !isElementwise(next))
    next = next->getNextNode();
  return next;
}
static Operation *previousOf(Operation *op) {
  Operation *previous = op->getPrevNode();
  while (previous && isPure(previous) && !isElementwise(previous))
    previous = previous->getPrevNode();
  return previous;
}

static StringRef nameOf(Value channel) { return channel.getDefiningOp<ChannelOp>().getName(); }

static RingOp ringOf(Value slot) { return slot.getDefiningOp<RingOp>(); }

/// The name of a factor: the tile's slot, or registers.
static std::string nameOfFactor(Value factor, bool isTransposed) {
  auto tile = factor.getDefiningOp<SlotTileOp>();
  std::string name = "r";
  if (tile) {
    name = nameOf(tile.getChannel());
    if (tile.getElement() > 0) { // only tiles of rank 2 are counted: rows stand between them
      auto elements = tile.getChannel().getType().getTiles().take_front(tile.getElement());
      name += "." + std::to_string(llvm::count_if(elements, [](Type type) {
                return cast<RankedTensorType>(type).getRank() == 2;
              }));
    }
  }
  return name + (isTransposed ? "^T" : "");
}

static std::string nameOfProduct(MatmulOp op) {
  return nameOfFactor(op.getA(), op.getTransposeA()) + "*" +
         nameOfFactor(op.getB(), op.getTransposeB());
}

/// The use of the slot that a product reads. If there are two, it is that of the step, whose number
/// is defined further inside.
static Value useOfProduct(MatmulOp op) {
  auto depthOf = [](Operation *ring) {
    int64_t depth = 0;
    for (Operation *around = ring; around; around = around->getParentOp())
      ++depth;
    return depth;
  };
  RingOp found;
  for (Value factor : {op.getA(), op.getB()})
    if (auto tile = factor.getDefiningOp<SlotTileOp>())
      if (RingOp ring = ringOf(tile.getSlot()); ring && (!found || depthOf(ring) > depthOf(found)))
        found = ring;
  return found ? found.getUse() : Value();
}

/// The use of the slot that a reducer adds: that of the next wait for a slot, or of the add.
static RingOp slotAdded(Operation *op, bool isBehind) {
  for (; op; op = isBehind ? op->getNextNode() : op->getPrevNode())
    if (auto wait = findSync(op, SyncKind::WaitForSlot))
      return ringOf(wait->slot.slot);
  return RingOp();
}

/// A role's loops over the items of its worker's list.
static SmallVector<scf::ForOp> itemLoops(RoleOp role) {
  SmallVector<scf::ForOp> loops;
  for (auto loop : role.getBody().front().getOps<scf::ForOp>())
    if (loop.getUpperBound().getDefiningOp<NumItemsOp>())
      loops.push_back(loop);
  return loops;
}

/// Records of all items cost 1, 10 and 60 % of the time; of one item in so many, 1, 4 and 15 %.
static int64_t everyByLevel(TraceLevel level) {
  return level == TraceLevel::All ? 32 : level == TraceLevel::Turns ? 4 : 1;
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
    if (auto sum = findSum(op, SumAction::Take)) {
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
      return aroundProducts(op);
    if (auto product = dyn_cast<MatmulOp>(op); product && !isa_and_present<MatmulOp>(nextOf(op))) {
      b.setInsertionPointAfter(op);
      return record(TraceEvent::Issue, nameOfProduct(product), Value(), numberOf(product));
    }
    if (isElementwise(op) && !isElementwise(previousOr(op)))
      around(op, lastOfRun(op), TraceEvent::Elementwise, "", {});
  }

  static Operation *previousOr(Operation *op) {
    Operation *previous = previousOf(op);
    return previous ? previous : op->getParentOp();
  }
  static Operation *lastOfRun(Operation *op) {
    for (Operation *next = nextOf(op); next && isElementwise(next); next = nextOf(next))
      op = next;
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

  /// The time before an op: that of the record there, if there is one.
  Value timeBefore(Operation *op) {
    if (auto trace = dyn_cast_if_present<TraceOp>(previousOf(op)))
      return trace.getNow();
    b.setInsertionPoint(op);
    return ClockOp::create(b, CyclesType::get(b.getContext()));
  }

  void around(Operation *first, Operation *last, TraceEvent event, StringRef of,
              ValueRange numbers) {
    Value since = timeBefore(first);
    b.setInsertionPointAfter(last);
    record(event, of, since, numbers);
  }

  void record(TraceEvent event, StringRef of, Value since, ValueRange numbers) {
    TraceOp::create(b, CyclesType::get(b.getContext()), event,
                    of.empty() ? StringAttr() : b.getStringAttr(of), since, numbers);
    ++numRecords;
  }

  RoleOp role;
  TraceLevel level;
  bool isSampled; ///< some items have records, and nothing else has
  ImplicitLocOpBuilder b;
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
