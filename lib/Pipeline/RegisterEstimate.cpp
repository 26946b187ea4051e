//===- RegisterEstimate.cpp - how many registers a walk needs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lifetimes of tiles in the order of issue: several steps are in flight at once, so a tile that
// lives longer than an iteration is there more than once.
//
//===----------------------------------------------------------------------===//

#include "RegisterEstimate.h"
#include "IssueOrder.h"

using namespace mlir;
using namespace mlir::dash;

/// Addresses, masks, phases of barriers and a few elements on their way. With 32 registers left beside the tiles
/// (head dim 128, 64 rows of Q) ptxas spills nothing in the loop; with 16 (head dim 64, 128 rows) it does, and the
/// kernel takes up to 1.45 times as long.
static constexpr int64_t registersForAddresses = 20;

int64_t dash::registersOf(Value tile, int64_t threads) {
  auto type = cast<RankedTensorType>(tile.getType());
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 32 * threads);
}

namespace {

class Lifetimes {
public:
  explicit Lifetimes(ArrayRef<Issue> order) : order(order), length(order.size()) {
    for (auto [i, issue] : llvm::enumerate(order))
      times[issue.op] = getTime(issue, i, length);
  }

  /// When the last op has read the tile. An element-wise op can write its result where its operand
  /// was; a product reads its factors until it is done.
  int64_t endOf(Value tile) const {
    int64_t end = timeOf(tile.getDefiningOp());
    for (Operation *user : tile.getUsers())
      if (times.contains(user))
        end = std::max(end, isa<MatmulOp>(user) ? doneTime(cast<MatmulOp>(user)) : timeOf(user));
    return end;
  }

  int64_t timeOf(Operation *op) const { return times.lookup(op); }

  /// How often a tile is there while the op at a position is issued.
  int64_t copiesAt(int64_t position, Value tile) const {
    int64_t begin = timeOf(tile.getDefiningOp()), end = endOf(tile), copies = 0;
    for (int64_t time = position; time < end; time += length)
      copies += time >= begin;
    return copies;
  }

private:
  /// The first release of a slot that the product reads waits until it is done; giving the tensor
  /// core away is the latest that anybody would.
  int64_t doneTime(MatmulOp product) const {
    int64_t issued = timeOf(product), done = issued + length;
    for (auto [i, issue] : llvm::enumerate(order)) {
      auto release = dyn_cast<ReleaseOp>(issue.op);
      bool waits = release && llvm::any_of(product->getOperands(), [&](Value factor) {
                     auto get = factor.getDefiningOp<WaitOp>();
                     return get && get.getChannel() == release.getChannel();
                   });
      int64_t time = getTime(issue, i, length);
      if ((waits || isa<GiveTensorCoreOp>(issue.op)) && time > issued)
        done = std::min(done, time);
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
      // Tiles of channels stay in shared memory; sums are added up where they are.
      auto product = dyn_cast<MatmulOp>(issue.op);
      if (isa<WaitOp>(issue.op) || (product && product.getAccumulate()))
        continue;
      for (Value tile : issue.op->getResults())
        if (isa<RankedTensorType>(tile.getType()))
          sum += lifetimes.copiesAt(i, tile) * registersOf(tile, threads);
    }
    if (sum > estimate.inFlight) {
      estimate.inFlight = sum;
      estimate.at = at.op;
    }
  }
  return estimate;
}
