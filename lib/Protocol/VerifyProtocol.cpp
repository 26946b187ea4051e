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

static LogicalResult verifyProtocol(WorkersOp workers) {
  FailureOr<SmallVector<RoleProgram>> programs = readRoles(workers);
  if (failed(programs))
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
