//===- RegisterEstimate.cpp - how many registers a walk needs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lifetimes of tiles in the order of issue. Several steps are in flight at once, so a tile that
// lives longer than an iteration exists more than once.
//
//===----------------------------------------------------------------------===//

#include "RegisterEstimate.h"
#include "IssueOrder.h"

using namespace mlir;
using namespace mlir::dash;

int64_t dash::registersOf(int64_t bytes, int64_t threads) {
  constexpr int64_t bytesOfRegister = 4;
  return llvm::divideCeil(bytes, bytesOfRegister * threads);
}

int64_t dash::registersOfRows(int64_t bytes) {
  constexpr int64_t lanesOfRow = 4; // have all columns of a row of sums among them
  return registersOf(bytes, lanesOfRow);
}

int64_t dash::registersOf(Value tile, int64_t threads) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  if (type.getRank() != 1)
    return registersOf(bytes, threads);
  // Loaded ones belong to columns, and those that threads make to rows.
  return tile.getDefiningOp<WaitOp>() ? registersOfRows(bytes) : FragmentAttr::registersPerRow;
}

DealtRegisters dash::dealRegisters(const TargetDescription &target, int64_t warps,
                                   int64_t multiplying) {
  int64_t moving = target.minRegisters; // roles that move tiles keep next to nothing there
  auto inUnits = [&](int64_t registers) {
    return std::min<int64_t>(llvm::alignDown(registers, target.registerUnit), target.maxRegisters);
  };
  int64_t atLaunch = inUnits(target.registers / (warps * threadsOfWarp));
  int64_t left = atLaunch * warps - moving * (warps - multiplying);
  return {atLaunch, moving, multiplying == 0 ? inUnits(moving) : inUnits(left / multiplying)};
}

namespace {

class Lifetimes {
public:
  explicit Lifetimes(ArrayRef<Issue> order) : order(order), length(order.size()) {
    for (auto [i, issue] : llvm::enumerate(order))
      times[issue.op] = getTime(issue, i, length);
    // Consecutive element-wise ops work element by element: an intermediate tile never exists as a
    // whole.
    for (int64_t i = length - 1; i > 0; --i)
      if (goesOn(order[i - 1], order[i]))
        times[order[i - 1].op] = timeOf(order[i].op);
  }

  /// The time when the last op has read the tile. An element-wise op can write its result over its
  /// operand; a product reads its factors until it is done.
  int64_t endOf(Value tile) const {
    int64_t end = timeOf(tile.getDefiningOp());
    for (Operation *user : tile.getUsers())
      if (times.contains(user))
        end = std::max(end, isa<MatmulOp>(user) ? doneTime(cast<MatmulOp>(user)) : timeOf(user));
    return end;
  }

  int64_t timeOf(Operation *op) const { return times.lookup(op); }

  /// How many copies of a tile exist while the op at a position is issued.
  int64_t copiesAt(int64_t position, Value tile) const {
    int64_t begin = timeOf(tile.getDefiningOp()), end = endOf(tile), copies = 0;
    for (int64_t time = position; time < end; time += length)
      copies += time >= begin;
    return copies;
  }

private:
  /// An op waits for all of a product that it needs; `dash.hide` is a branch.
  static bool goesOn(const Issue &first, const Issue &second) {
    auto isElementwise =
        llvm::IsaPred<SoftcapOp, LogProbabilityOp, Exp2Op, RoundOp, DampOp, ScoreGradientOp>;
    return first.stage == second.stage && isElementwise(first.op) && isElementwise(second.op) &&
           llvm::none_of(second.op->getOperands(),
                         [](Value value) { return value.getDefiningOp<MatmulOp>(); });
  }

  /// A release of a slot that the product reads waits until the product is done. So does a use of
  /// its sums, or of sums of a product issued later.
  int64_t doneTime(MatmulOp product) const {
    int64_t issued = timeOf(product), done = issued + length;
    auto consider = [&](int64_t time) { done = time > issued ? std::min(done, time) : done; };
    for (auto [i, issue] : llvm::enumerate(order)) {
      if (auto release = dyn_cast<ReleaseOp>(issue.op)) {
        if (llvm::any_of(product->getOperands(), [&](Value factor) {
              auto get = factor.getDefiningOp<WaitOp>();
              return get && get.getChannel() == release.getChannel();
            }))
          consider(getTime(issue, i, length));
      } else if (auto later = dyn_cast<MatmulOp>(issue.op)) {
        int64_t time = timeOf(later), behind = (time - issued) % length;
        behind += behind < 0 ? length : 0;
        for (Operation *user : later->getUsers())
          if (times.contains(user) && !isa<MatmulOp>(user))
            consider(issued + behind + timeOf(user) - time);
      }
    }
    return done;
  }

  ArrayRef<Issue> order;
  int64_t length;
  llvm::SmallDenseMap<Operation *, int64_t> times; // looked up only
};

} // namespace

RegisterEstimate dash::estimateRegisters(WalkOp walk, int64_t threads) {
  RegisterEstimate estimate;
  estimate.addresses = registersForAddresses;
  for (Value init : walk.getInits())
    estimate.carried += registersOf(init, threads);
  for (auto held : walk->getBlock()->getOps<LoadFactorOp>())
    estimate.carried += registersOf(held, threads);
  SmallVector<Issue> order = getIssueOrder(walk);
  Lifetimes lifetimes(order);
  for (auto [i, at] : llvm::enumerate(order)) {
    int64_t sum = 0;
    for (const Issue &issue : order) {
      // Tiles of channels stay in shared memory, except those that threads read; sums are added up,
      // and scaled, in place.
      auto product = dyn_cast<MatmulOp>(issue.op);
      if ((product && product.getAccumulate()) || isa<RescaleOp>(issue.op))
        continue;
      for (Value value : issue.op->getResults())
        if (auto tile = dyn_cast<RankedTensorType>(value.getType());
            tile && (!isa<WaitOp>(issue.op) || WaitOp::isReadByThreads(tile)))
          sum += lifetimes.copiesAt(i, value) * registersOf(value, threads);
    }
    if (sum > estimate.inFlight) {
      estimate.inFlight = sum;
      estimate.at = at.op;
    }
  }
  return estimate;
}
