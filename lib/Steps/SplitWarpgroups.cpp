//===- SplitWarpgroups.cpp - a copy of a consumer for each warpgroup ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After this, the start of a warpgroup's part of a tile is a constant.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_SPLITWARPGROUPS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Warpgroups take the tensor core in turn, from the first to the last. Before the very first step
/// it is given to the first one. After the last step, the first one is given it once more and takes
/// it, so no barrier is left half full.
static void closeTurns(RoleOp copy, int64_t warpgroup, int64_t warpgroups) {
  Block &body = copy.getBody().front();
  OpBuilder b(copy.getContext());
  if (warpgroup == warpgroups - 1) {
    b.setInsertionPointToStart(&body);
    GiveTensorCoreOp::create(b, copy.getLoc(), /*stage=*/IntegerAttr());
  }
  if (warpgroup == 0) {
    b.setInsertionPointToEnd(&body);
    TakeTensorCoreOp::create(b, copy.getLoc(), /*stage=*/IntegerAttr());
  }
}

static LogicalResult split(RoleOp role) {
  int64_t warps = role.getWarps(), warpgroups = warps / warpsOfWarpgroup;
  if (warps % warpsOfWarpgroup != 0)
    return role.emitError() << "warps of a consumer must be whole warpgroups of "
                            << warpsOfWarpgroup << ", got " << warps;
  bool takesTurns =
      role.walk([](TakeTensorCoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
  OpBuilder b(role);
  for (int64_t warpgroup : llvm::seq(warpgroups)) {
    auto copy = cast<RoleOp>(b.clone(*role));
    copy.setName((role.getName() + Twine(warpgroup)).str());
    copy.setWarps(warpsOfWarpgroup);
    copy.setWarpgroup(warpgroup);
    copy.setWarpgroups(warpgroups);
    if (takesTurns && warpgroups > 1)
      closeTurns(copy, warpgroup, warpgroups);
  }
  role.erase();
  return success();
}

namespace {

struct SplitWarpgroups : public dash::impl::SplitWarpgroupsBase<SplitWarpgroups> {
  using SplitWarpgroupsBase::SplitWarpgroupsBase;

  void runOnOperation() override {
    SmallVector<RoleOp> consumers;
    getOperation()->walk([&](RoleOp role) {
      if (role.isConsumer() && !role.getWarpgroup())
        consumers.push_back(role);
    });
    for (RoleOp role : consumers) {
      if (role.getItems()) {
        role.emitError() << "still has 'dash.items'; run --dash-read-order first";
        return signalPassFailure();
      }
      if (failed(split(role)))
        return signalPassFailure();
      ++numSplit;
    }
  }
};

} // namespace
