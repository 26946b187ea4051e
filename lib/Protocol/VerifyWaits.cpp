//===- VerifyWaits.cpp - no slot is used too early ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows each role along all its paths, and tracks which slots it may read or write and which
// products are in flight. After a branch it knows what both sides know. In a loop it knows what
// holds before every iteration: a slot waited for as that of `%step + 1` is that of `%step` in the
// next one, and one of a number that the loop yields is that of its argument. A loop's lower bound
// is assumed to be at most its upper bound.
//
//===----------------------------------------------------------------------===//

#include "VerifyWaits.h"
#include "HeldSlots.h"
#include "SlotRing.h"
#include "dash/Protocol/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_VERIFYWAITS
#include "dash/Protocol/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

class RolePaths {
public:
  LogicalResult follow(Region &region, HeldSlots &state) {
    for (Operation &op : region.getOps())
      if (failed(follow(&op, state)))
        return failure();
    return success();
  }

private:
  LogicalResult follow(Operation *op, HeldSlots &state) {
    if ((op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>()) &&
        !state.inFlight.empty()) {
      auto diagnostic = op->emitError("begins or ends a branch or a loop while a product is in "
                                      "flight: wait for it first");
      return diagnostic.attachNote(state.inFlight.front().op.getLoc()) << "this product";
    }
    if (failed(verifySpelledOut(op)) || failed(verifySums(op, state)))
      return failure();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return followBranch(branch, state);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return followLoop(loop, state);
    auto isRight = [&](Region &region) { return succeeded(follow(region, state)); };
    return success(llvm::all_of(op->getRegions(), isRight) && succeeded(followOp(op, state)));
  }

  LogicalResult followBranch(scf::IfOp branch, HeldSlots &state) {
    HeldSlots other = state;
    if (failed(follow(branch.getThenRegion(), state)) ||
        failed(follow(branch.getElseRegion(), other)))
      return failure();
    state.meet(other);
    return success();
  }

  /// The loop uses a channel once an iteration: its current uses advance with the loop's variable.
  static bool isCountedBy(scf::ForOp loop, Value channel) {
    return llvm::any_of(channel.getUsers(), [&](Operation *user) {
      auto ring = dyn_cast<RingOp>(user);
      return ring && loop->isProperAncestor(ring) &&
             LinearIndex::of(ring.getUse()).uses(loop.getInductionVar());
    });
  }

  /// A loop carries numbers of uses: what is held at a number that enters is held at the argument.
  static bool rename(LinearIndex &use, ValueRange from, ValueRange to) {
    for (auto [old, known] : llvm::zip_equal(from, to))
      if (old.getType().isIndex() && use == LinearIndex::of(old)) {
        use = LinearIndex::of(known);
        return true;
      }
    return false;
  }

  LogicalResult followLoop(scf::ForOp loop, HeldSlots &state) {
    Value variable = loop.getInductionVar();
    LinearIndex turn = LinearIndex::of(variable), first = LinearIndex::of(loop.getLowerBound());
    for (HeldSlot &one : state.held)
      if (isCountedBy(loop, one.slot.channel))
        one.slot.use = one.slot.use - first + turn;
      else
        rename(one.slot.use, loop.getInitArgs(), loop.getRegionIterArgs());
    auto isOfOneTurn = [&](Value value) {
      return value != variable && loop.getRegion().isAncestor(value.getParentRegion());
    };
    for (bool isStable = false; !isStable;) {
      HeldSlots before = state, last = state;
      if (failed(follow(loop.getRegion(), last)))
        return failure();
      llvm::erase_if(last.held, [&](HeldSlot &one) {
        return !rename(one.slot.use, loop.getYieldedValues(), loop.getRegionIterArgs()) &&
               one.slot.use.usesAny(isOfOneTurn);
      });
      for (LeavingSlot &one : last.leaving)
        one.use.reset();
      for (HeldSlot &one : last.held)
        one.slot.use = one.slot.use.replace(variable, turn - LinearIndex::of(loop.getStep()));
      state.meet(last);
      isStable = state.knowsAsMuchAs(before);
    }
    for (HeldSlot &one : state.held)
      if (!rename(one.slot.use, loop.getRegionIterArgs(), loop.getResults()))
        one.slot.use = one.slot.use.replace(variable, LinearIndex::of(loop.getUpperBound()));
    return success();
  }
};

struct VerifyWaits : public dash::impl::VerifyWaitsBase<VerifyWaits> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](RoleOp role) -> WalkResult {
      HeldSlots state;
      return failure(failed(RolePaths().follow(role.getBody(), state)) ||
                     failed(verifyBalance(role)));
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
