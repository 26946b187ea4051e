//===- PeelWalks.cpp - prologue, steady state, epilogue -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A software-pipelined walk of n steps and s stages issues n + s - 1 iterations: iteration t issues
// each op of stage k for step t - k, if that step exists. The first s - 1 iterations are the
// prologue, the last s - 1 the epilogue. In those between, every op has a step; they are the loop.
// No branch surrounds a product: ptxas would wait there for products in flight. So walks of fewer
// than s - 1 steps are separate programs. Items that begin ahead have a step at least.
//
//===----------------------------------------------------------------------===//

#include "ChannelUse.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {
#define GEN_PASS_DEF_PEELWALKS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The values of the walk's body, one version for each step in flight. A step is named by its
/// distance from the current iteration, which is never above 0.
class Versions {
public:
  void set(Value value, int64_t distance, Value version) { map[{value, distance}] = version; }
  Value find(Value value, int64_t distance) const { return map.lookup({value, distance}); }

  /// Moves everything one iteration back.
  void nextIteration() {
    decltype(map) shifted;
    for (auto [key, version] : map)
      shifted[{key.first, key.second - 1}] = version;
    map = std::move(shifted);
  }

private:
  llvm::DenseMap<std::pair<Value, int64_t>, Value> map; // looked up, or rebuilt as a whole
};

class Peeler {
public:
  explicit Peeler(WalkOp walk) : walk(walk), b(walk.getLoc(), walk) {}

  LogicalResult run() {
    if (!walk.getNumSteps())
      return walk.emitError() << "has stages, but is not told how many steps it has: expected "
                                 "'steps(%n)', which --dash-assign-roles gives";
    for (Value value : walk.getYield().getValues())
      if (!value.getDefiningOp() || value.getDefiningOp()->getParentOp() != walk)
        return walk.getYield().emitError()
               << "yields a value that its step does not make, which has no version to peel";
    numStages = *walk.getStages();
    for (Operation &op : walk.getBody().front().without_terminator())
      ops.push_back(&op);
    findCarried();
    bool hasStep = walk->getParentOfType<WorkersOp>().getBeginsAhead();
    if (hasStep && numStages > 2)
      return walk.emitError() << "has " << numStages << " stages, and items that begin ahead have "
                              << "a step at least: expected 2";
    // With one stage nothing is peeled, and the loop may have no step.
    SmallVector<Value> results = hasStep || numStages == 1 ? emitLoop() : peel(numStages - 1);
    walk->replaceAllUsesWith(results);
    walk.erase();
    return success();
  }

private:
  static int64_t stageOf(Operation *op) {
    return cast<StagedOpInterface>(op).getStageAttr().getInt();
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

  //===--------------------------------------------------------------------===//
  // Values that cross iterations
  //===--------------------------------------------------------------------===//

  /// A tile that stays in its slot: its readers name it again, and it is not carried in registers.
  static bool isHeld(Value value) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    return tile && tile.getRank() == 2 && value.getDefiningOp<WaitOp>();
  }

  /// The value of which an operand of an op of stage `stage` is a version, and the step.
  std::pair<Value, int64_t> source(Value operand, int64_t stage) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner()->getParentOp() != walk)
      return {operand, -stage};
    int64_t number = argument.getArgNumber() - walk.getNumIndices();
    return {walk.getYield().getValues()[number], -stage - 1}; // from the previous step
  }

  /// Finds the versions that are in registers at the start of an iteration, in the order of their
  /// definitions.
  void findCarried() {
    llvm::SmallDenseMap<Value, int64_t> furthest; // looked up only
    for (Operation *op : ops)
      for (Value operand : op->getOperands()) {
        auto [value, distance] = source(operand, stageOf(op));
        int64_t &known = furthest.try_emplace(value, 0).first->second;
        known = std::min(known, distance);
      }
    // Sums first. A result of the loop's last iteration leaves through the loop too.
    auto yielded = walk.getYield().getValues();
    llvm::SetVector<Value> made(yielded.begin(), yielded.end());
    for (Operation *op : ops)
      made.insert(op->result_begin(), op->result_end());
    for (Value value : made) {
      int64_t newest = -stageOf(value.getDefiningOp()) - 1;
      int64_t oldest = furthest.lookup(value);
      if (newest == -1 && llvm::is_contained(yielded, value))
        oldest = std::min<int64_t>(oldest, -1);
      for (int64_t distance = newest; distance >= oldest && !isHeld(value); --distance)
        carried.push_back({value, distance});
    }
  }

  //===--------------------------------------------------------------------===//
  // Iterations
  //===--------------------------------------------------------------------===//

  /// Issues an iteration: the ops that have a step. `stepOf` gives the step of a stage.
  void issueIteration(llvm::function_ref<bool(int64_t)> hasStep,
                      llvm::function_ref<Value(int64_t)> stepOf) {
    for (Operation *op : ops)
      if (int64_t stage = stageOf(op); hasStep(stage))
        issue(op, stage, stepOf);
    versions.nextIteration();
  }

  void issue(Operation *op, int64_t stage, llvm::function_ref<Value(int64_t)> stepOf) {
    b.setLoc(op->getLoc());
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, find(operand, stage, stepOf));
    Value step = useOf(op) ? stepOf(stage) : Value();
    Operation *clone = b.clone(*op, mapping);
    cast<StagedOpInterface>(clone).setStageAttr(IntegerAttr());
    if (step)
      useOf(clone)->assign(step);
    for (auto [result, version] : llvm::zip_equal(op->getResults(), clone->getResults()))
      versions.set(result, -stage, version);
  }

  Value find(Value operand, int64_t stage, llvm::function_ref<Value(int64_t)> stepOf) {
    auto [value, distance] = source(operand, stage);
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getParentOp() != walk)
      return value;
    if (Value version = versions.find(value, distance))
      return version;
    assert(isHeld(value) && "what is not held is carried");
    auto wait = cast<WaitOp>(maker);
    auto held = HeldOp::create(b, wait.getTiles().getTypes(), wait.getChannel(), stepOf(-distance));
    for (auto [tile, version] : llvm::zip_equal(wait.getTiles(), held.getTiles()))
      if (isHeld(tile))
        versions.set(tile, distance, version);
    return versions.find(value, distance);
  }

  //===--------------------------------------------------------------------===//
  // Programs
  //===--------------------------------------------------------------------===//

  /// A walk of at least `most` steps; other branches have walks of fewer steps.
  SmallVector<Value> peel(int64_t most) {
    if (most == 0)
      return llvm::to_vector(walk.getInits());
    // The branch with most steps has the loop.
    bool hasLoop = most == numStages - 1;
    auto predicate = hasLoop ? arith::CmpIPredicate::sge : arith::CmpIPredicate::eq;
    Value condition = arith::CmpIOp::create(b, predicate, walk.getNumSteps(), index(most));
    auto branch = scf::IfOp::create(b, walk.getResultTypes(), condition, /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> body) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(block);
      SmallVector<Value> results = body();
      b.setLoc(walk.getLoc());
      scf::YieldOp::create(b, results);
    };
    fill(branch.thenBlock(), [&] { return hasLoop ? emitLoop() : emitShort(most); });
    fill(branch.elseBlock(), [&] { return peel(most - 1); });
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  void start() {
    versions = Versions();
    for (auto [init, value] : llvm::zip_equal(walk.getInits(), walk.getYield().getValues()))
      versions.set(value, -1, init);
  }

  /// The sums of the last step, `iterations` iterations after it began.
  SmallVector<Value> results(int64_t iterations) {
    return llvm::map_to_vector(walk.getYield().getValues(),
                               [&](Value value) { return versions.find(value, -iterations); });
  }

  SmallVector<Value> emitShort(int64_t numSteps) {
    start();
    for (int64_t iteration = 0; iteration < numSteps + numStages - 1; ++iteration)
      issueIteration(
          [&](int64_t stage) { return iteration >= stage && iteration - stage < numSteps; },
          [&](int64_t stage) { return index(iteration - stage); });
    return results(numStages);
  }

  SmallVector<Value> emitLoop() {
    start();
    for (int64_t iteration = 0; iteration < numStages - 1; ++iteration)
      issueIteration([&](int64_t stage) { return iteration >= stage; },
                     [&](int64_t stage) { return index(iteration - stage); });
    emitSteadyState();
    for (int64_t iteration = 0; iteration < numStages - 1; ++iteration)
      issueIteration(
          [&](int64_t stage) { return stage > iteration; },
          [&](int64_t stage) { return stepBehind(walk.getNumSteps(), stage - iteration); });
    return results(numStages);
  }

  Value stepBehind(Value step, int64_t distance) {
    return distance == 0 ? step : b.createOrFold<arith::SubIOp>(step, index(distance));
  }

  void emitSteadyState() {
    b.setLoc(walk.getLoc());
    SmallVector<Value> inits;
    for (auto [value, distance] : carried)
      inits.push_back(versions.find(value, distance));
    auto loop = scf::ForOp::create(b, index(numStages - 1), walk.getNumSteps(), index(1), inits);
    auto enter = [&](ValueRange values) {
      versions = Versions();
      for (auto [key, version] : llvm::zip_equal(carried, values))
        versions.set(key.first, key.second, version);
    };
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      enter(loop.getRegionIterArgs());
      issueIteration([](int64_t) { return true; },
                     [&](int64_t stage) { return stepBehind(loop.getInductionVar(), stage); });
      SmallVector<Value> next;
      for (auto [value, distance] : carried)
        next.push_back(versions.find(value, distance));
      b.setLoc(walk.getLoc());
      scf::YieldOp::create(b, next);
    }
    enter(loop.getResults());
  }

  WalkOp walk;
  ImplicitLocOpBuilder b;
  int64_t numStages = 0;
  SmallVector<Operation *> ops;
  SmallVector<std::pair<Value, int64_t>>
      carried; ///< a value, and the distance of its step from the next iteration
  Versions versions;
};

struct PeelWalks : public dash::impl::PeelWalksBase<PeelWalks> {
  void runOnOperation() override {
    SmallVector<WalkOp> walks;
    getOperation()->walk([&](RoleOp role) {
      if (WalkOp walk = role.getWalk(); walk && walk.getStages())
        walks.push_back(walk);
    });
    for (WalkOp walk : walks) {
      if (failed(Peeler(walk).run()))
        return signalPassFailure();
      ++numPeeled;
    }
  }
};

} // namespace
