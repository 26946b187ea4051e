//===- VerifyProtocol.cpp - all roles together, on the IR -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --dash-verify-waits follows each role alone, --dash-check-resources counts the tokens of a plan.
// This pass runs the roles against each other in their final form, over a few short lists. The
// result of one run of a list holds for every speed of the roles: what they do depends on the list
// alone, and the check is about the order of accesses (SlotMemory.h).
//
//===----------------------------------------------------------------------===//

#include "ProtocolRun.h"
#include "dash/Protocol/Passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_VERIFYPROTOCOL
#include "dash/Protocol/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Lists of items with no step and with few steps, alone and in sequence, and with more than
/// everything in flight.
static SmallVector<SmallVector<int64_t>> makeLists(WorkersOp workers) {
  int64_t deepest = 1;
  for (ChannelOp channel : workers.getChannels())
    deepest = std::max<int64_t>(deepest, channel.getDepth());
  int64_t longest = 2 * deepest + 3;
  return {{}, {0}, {1}, {2}, {3}, {0, 1, 2, 3, 5, 0, 5, 1, 3, 2}, {longest, 1, 0, longest}};
}

/// The arrivals that make a slot empty are those of all roles that give it back.
static LogicalResult verifyArrivals(ChannelOp channel, ArrayRef<RoleProgram> programs) {
  SmallVector<std::pair<RoleOp, int64_t>> readers;
  int64_t sum = 0;
  for (const RoleProgram &program : programs) {
    auto found = llvm::find_if(program.code, [&](const Instruction &one) {
      return one.is(SyncKind::Arrive) && one.sync->side == BarrierSide::Empty &&
             one.sync->slot.channel == channel.getResult();
    });
    if (found == program.code.end())
      continue;
    readers.push_back({program.role, countArrivals(program.role, *found->sync)});
    sum += readers.back().second;
  }
  int64_t arrivals = (*channel.getArrivals())[int64_t(BarrierSide::Empty)];
  if (readers.size() < 2 || sum == arrivals)
    return success();
  auto diagnostic = channel.emitError()
                    << "a slot of channel '" << channel.getName() << "' is empty behind "
                    << arrivals << " arrivals, but roles that give it back arrive " << sum
                    << " times";
  for (auto [role, count] : readers)
    diagnostic.attachNote(role.getLoc())
        << "role '" << role.getName() << "' arrives " << count << " times";
  return diagnostic;
}

static LogicalResult verifyProtocol(WorkersOp workers) {
  FailureOr<SmallVector<RoleProgram>> programs = readRoles(workers);
  if (failed(programs))
    return failure();
  for (ChannelOp channel : workers.getChannels())
    if (failed(verifyArrivals(channel, *programs)))
      return failure();
  for (auto [i, steps] : llvm::enumerate(makeLists(workers)))
    if (failed(ProtocolRun(workers, *programs, {steps}, {i, i % 2 == 0}).run()))
      return failure();
  return success();
}

namespace {

struct VerifyProtocol : public dash::impl::VerifyProtocolBase<VerifyProtocol> {
  void runOnOperation() override {
    auto verify = [](WorkersOp workers) { return WalkResult(verifyProtocol(workers)); };
    if (getOperation()->walk(verify).wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
