//===- CheckWorkers.cpp - what the main kernel needs of roles -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the emitters of roles take for granted and neither a verifier nor --dash-check-resources has
// looked at. So they emit, or nothing is emitted.
//
//===----------------------------------------------------------------------===//

#include "WorkerEntry.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

bool dash::isCompute(RoleOp role) {
  return role.walk([](MatmulOp) { return WalkResult::interrupt(); }).wasInterrupted();
}
bool dash::isReduce(RoleOp role) {
  return role
      .walk([](Operation *op) {
        return isa<ReduceOp, OrderedReduceOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult checkPlan(WorkersOp workers) {
  constexpr StringLiteral howTo = "; run --dash-plan-buffers first";
  if (!workers.getRegisters() || !workers.getSharedBytes())
    return workers.emitError() << "has no plan of registers and shared memory" << howTo;
  for (ChannelOp channel : workers.getChannels())
    if (!channel.getOffsets())
      return channel.emitError() << "has no place in shared memory" << howTo;
  for (RoleOp role : workers.getRoles())
    if (!role.getRegisters())
      return role.emitError() << "has no registers" << howTo;
  return success();
}

static LogicalResult checkWarps(RoleOp role) {
  constexpr int64_t computeWarps = 8, mostOtherWarps = 3;
  if (!isCompute(role)) {
    if (int64_t(role.getWarps()) <= mostOtherWarps)
      return success();
    return role.emitError() << "loads or adds, which kernels do with 1 to " << mostOtherWarps
                            << " warps, got " << role.getWarps();
  }
  if (role.getWarps() != computeWarps)
    return role.emitError() << "multiplies, which kernels do with " << computeWarps
                            << " warps, got " << role.getWarps();
  // What to do stands beside the first tile of an item, and beside that of a step.
  auto isGot = [](Block &body) { return !body.getOps<GetOp>().empty(); };
  Block &items = role.getItems().getBody().front();
  auto walks = items.getOps<WalkOp>();
  if (!isGot(items) || walks.empty() || !isGot((*walks.begin()).getBody().front()))
    return role.emitError() << "must get a tile of each item and one of each step";
  return success();
}

/// Whether a role has a way to do this, in its items or in its walk.
static bool canDo(Operation *op, bool doesCompute, bool doesReduce) {
  bool isInWalk = isa<WalkOp>(op->getParentOp());
  if (doesCompute)
    return isInWalk ? isa<GetOp, PutOp, PublishOp, ReleaseOp, MatmulOp, ProbabilityOp, RoundOp,
                          ScoreGradientOp, TakeTensorCoreOp, GiveTensorCoreOp, YieldOp>(op)
                    : isa<GetOp, WalkOp, ReleaseOp, StoreOp>(op);
  if (doesReduce)
    return isInWalk ? isa<GetOp, OrderedReduceOp, ReduceOp, ReleaseOp, YieldOp>(op)
                    : isa<WalkOp>(op);
  return isInWalk ? isa<LoadOp, PutOp, YieldOp>(op) : isa<LoadOp, PutOp, WalkOp>(op);
}

static LogicalResult checkName(Operation *op, Value memory, const TensorNames &names,
                               ArrayRef<StringRef> expected) {
  StringRef name = names.lookup(memory);
  if (llvm::is_contained(expected, name))
    return success();
  InFlightDiagnostic diagnostic = op->emitError() << "kernels cover '"
                                                  << llvm::join(expected, "', '") << "' here, got ";
  return name.empty() ? diagnostic << "memory without a name; run --dash-outline-program first"
                      : diagnostic << "'" << name << "'";
}

static LogicalResult checkOp(Operation *op, const TensorNames &names) {
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (cast<RankedTensorType>(load.getResult().getType()).getRank() == 2)
      return checkName(op, load.getSource(), names, {"q", "k", "v", "do"});
    // Delta is what the function allocates: --dash-outline-program has seen to it.
    return load.getSource().getDefiningOp<memref::AllocOp>()
               ? success()
               : checkName(op, load.getSource(), names, {"lse"});
  }
  if (auto store = dyn_cast<StoreOp>(op)) {
    auto staging = store->getAttrOfType<StringAttr>(stagingAttr);
    auto channels = store->getParentOfType<WorkersOp>().getChannels();
    if (!staging || llvm::none_of(channels, [&](ChannelOp channel) {
          return channel.getNameAttr() == staging;
        }))
      return store.emitError() << "has no channel to go through ('" << stagingAttr
                               << "'); run --dash-place-releases first";
    return checkName(op, store.getTarget(), names, {"dk", "dv"});
  }
  return success();
}

LogicalResult dash::checkWorkers(WorkersOp workers, const TensorNames &names) {
  if (failed(checkPlan(workers)))
    return failure();
  for (RoleOp role : workers.getRoles()) {
    if (failed(checkWarps(role)))
      return failure();
    bool doesCompute = isCompute(role), doesReduce = isReduce(role);
    WalkResult result = role.getItems().getBody().walk([&](Operation *op) {
      if (canDo(op, doesCompute, doesReduce))
        return failed(checkOp(op, names)) ? WalkResult::interrupt() : WalkResult::advance();
      op->emitError() << "is nothing that a role that "
                      << (doesCompute  ? "multiplies"
                          : doesReduce ? "adds"
                                       : "loads")
                      << " can do there";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}
