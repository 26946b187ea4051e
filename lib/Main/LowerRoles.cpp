//===- LowerRoles.cpp - roles as branches on the warp ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread initialises the barriers of all slots, and draws the worker's index if workers draw
// tickets. Then each warp branches to its role: with all lanes for a consumer, with one lane
// otherwise.
//
//===----------------------------------------------------------------------===//

#include "MainKernel.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Main/Passes.h"
#include "dash/Pipeline/BufferPlan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERROLES
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

class RoleLowering {
public:
  explicit RoleLowering(WorkersOp workers)
      : workers(workers), b(workers.getLoc(), workers.getContext()) {
    b.setInsertionPoint(workers);
  }

  LogicalResult lower() {
    if (failed(check()))
      return failure();
    Value base = sharedMemoryBase(b, workers->getParentOp()->getParentOp());
    Value thread = b.special("tid.x");
    warp = b.uniform(b.warpOf(thread));
    b.ifThen(b.equal(thread, 0), [&] {
      initialiseBarriers(base);
      if (Value tickets = findParameter(workers->getParentOp(), "workspace.tickets"))
        drawTicket(base, tickets);
    });
    b.syncBlock();
    emitRoles(llvm::to_vector(workers.getRoles()));
    workers.erase();
    return success();
  }

private:
  LogicalResult check() {
    if (!workers->getParentOp()->hasAttr(entryAttr))
      return workers.emitError() << "stands in no entry; run --dash-outline-workers first";
    WalkResult result = workers.walk([&](Operation *op) {
      if (isa<WorkersOp, ChannelOp, RoleOp, WarpOfRoleOp>(op) ||
          !isa_and_present<DashDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitError() << "is no instruction yet; run --dash-convert-to-nvvm first";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void initialiseBarriers(Value base) {
    for (ChannelOp channel : workers.getChannels())
      for (int64_t slot : llvm::seq<int64_t>(channel.getDepth()))
        for (BarrierSide side : {BarrierSide::Full, BarrierSide::Empty}) {
          int64_t arrivals = (*channel.getArrivals())[side == BarrierSide::Full ? 0 : 1];
          hopper::initBarrier(b, barrierAddress(b, base, channel, side, b.i32(slot)), arrivals);
        }
    hopper::fenceBarrierInit(b);
  }

  /// The last thread to draw resets the word to zero.
  void drawTicket(Value base, Value tickets) {
    Value last = b.sub(b.special("nctaid.x"), b.i32(1));
    hopper::storeWord(b, hopper::drawTicket(b, tickets, last), b.add(base, ticketOffset));
  }

  /// Registers belong to warpgroups, so the first branch is by warpgroup.
  void emitRoles(ArrayRef<RoleOp> roles) {
    int64_t atLaunch = *workers.getRegisters();
    while (!roles.empty()) {
      int64_t firstWarp = workers.getFirstWarp(roles.front()), end = firstWarp;
      size_t number = 0;
      while (number < roles.size() && (number == 0 || workers.getFirstWarp(roles[number]) < end)) {
        RoleOp role = roles[number++];
        // Includes the warps of the last warpgroup that have no role: either all warps of a
        // warpgroup set registers, or none does.
        end = llvm::alignTo(workers.getFirstWarp(role) + role.getWarps(), warpsOfWarpgroup);
      }
      ArrayRef<RoleOp> group = roles.take_front(number);
      inWarps(firstWarp, end - firstWarp, [&] {
        int64_t registers = *RoleOp(group.front()).getRegisters();
        hopper::setRegisters(b, registers, /*isMore=*/registers > atLaunch);
        for (RoleOp role : group)
          emitRole(role, workers.getFirstWarp(role));
      });
      roles = roles.drop_front(number);
    }
  }

  void inWarps(int64_t first, int64_t number, llvm::function_ref<void()> body) {
    Value place = b.sub(warp, b.i32(first));
    b.ifThen(b.compare(arith::CmpIPredicate::ult, place, b.i32(number)), body);
  }

  void emitRole(RoleOp role, int64_t firstWarp) {
    role.walk([&](WarpOfRoleOp op) {
      PtxBuilder inRole(op.getLoc(), op);
      Value place = inRole.sub(warp, inRole.i32(firstWarp));
      op.replaceAllUsesWith(
          Value(arith::IndexCastOp::create(inRole, inRole.getIndexType(), place)));
      op.erase();
    });
    inWarps(firstWarp, role.getWarps(), [&] {
      if (role.isConsumer())
        return moveBody(role);
      b.inOneLane(b.special("laneid"), [&] { moveBody(role); });
    });
  }

  void moveBody(RoleOp role) {
    b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                  role.getBody().front().getOperations());
  }

  WorkersOp workers;
  PtxBuilder b;
  Value warp; ///< index in the block, uniform
};

struct LowerRoles : public dash::impl::LowerRolesBase<LowerRoles> {
  using LowerRolesBase::LowerRolesBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp op) { found.push_back(op); });
    for (WorkersOp workers : found) {
      if (failed(RoleLowering(workers).lower()))
        return signalPassFailure();
      ++numLowered;
    }
  }
};

} // namespace
