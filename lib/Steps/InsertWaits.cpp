//===- InsertWaits.cpp - every wait, fence and arrival as an op -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers role by role (RoleWaits.cpp). Then counts the threads that arrive at each barrier, which
// needs all roles together.
//
//===----------------------------------------------------------------------===//

#include "EraseUnused.h"
#include "PutsFollowing.h"
#include "RoleWaits.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_INSERTWAITS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct InsertWaits : public dash::impl::InsertWaitsBase<InsertWaits> {
  using InsertWaitsBase::InsertWaitsBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) { all.push_back(workers); });
    for (WorkersOp workers : all)
      if (failed(lower(workers)))
        return signalPassFailure();
    for (WorkersOp workers : all)
      eraseUnused(workers); // numbers of uses that are no longer needed
  }

private:
  LogicalResult lower(WorkersOp workers) {
    for (RoleOp role : workers.getRoles())
      if (failed(check(role)))
        return failure();
    for (ChannelOp channel : workers.getChannels())
      countArrivals(channel);
    for (RoleOp role : workers.getRoles()) {
      if (role.isConsumer())
        hoistUsesOfPuts(role);
      if (failed(insertWaits(role, threadsArrive)))
        return failure();
    }
    return success();
  }

  static LogicalResult check(RoleOp role) {
    WalkResult result = role.walk([](Operation *op) -> WalkResult {
      auto isNumbered = [](const Sync &sync) {
        return !sync.slot.channel || sync.slot.slot || sync.slot.use;
      };
      if (!llvm::all_of(syncsOf(op), isNumbered))
        return op->emitError("has no number of its use; run --dash-read-order first");
      Value sums = isa<MatmulOp>(op)  ? op->getResult(0)
                   : isa<StoreOp>(op) ? op->getOperand(0)
                                      : Value();
      if (sums && !cast<RankedTensorType>(sums.getType()).getEncoding())
        return op->emitError("works on tiles without layouts; run --dash-distribute-tiles first");
      if (!isa<StoreOp>(op))
        return WalkResult::advance();
      auto layout = dyn_cast<FragmentAttr>(cast<RankedTensorType>(sums.getType()).getEncoding());
      if (!layout || !layout.isSplitByRows())
        return op->emitError() << "leaves by rows of a warpgroup: expected sums that are split so, "
                               << "got " << sums.getType();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Slots of the copy engine have one arrival, by the thread that starts the copy. Slots that
  /// warps write or read have theirs. A slot is empty when all roles that read it have arrived.
  void countArrivals(ChannelOp channel) {
    int64_t counts[] = {0, 0};
    for (RoleOp role : cast<WorkersOp>(channel->getParentOp()).getRoles()) {
      int64_t threads = role.getWarps() * (threadsArrive ? threadsOfWarp : 1);
      bool arrives[] = {false, false};
      for (Operation *user : channel.getResult().getUsers())
        if (isa<CommitOp, ReleaseOp>(user) && role->isProperAncestor(user))
          arrives[isa<ReleaseOp>(user)] = true;
      for (auto [count, isArriving] : llvm::zip_equal(counts, arrives))
        count += !isArriving ? 0 : role.isConsumer() ? threads : 1;
    }
    for (int64_t &count : counts)
      count = std::max<int64_t>(count, 1);
    channel.setArrivals(ArrayRef<int64_t>(counts));
  }
};

} // namespace
