//===- CheckResources.cpp - whether the plan fits and ends ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembler does not warn about any of this. A kernel that asks for too many registers hangs at
// its first instruction, one with overlapping slots computes wrong results, and one whose roles
// wait for each other never ends.
//
//===----------------------------------------------------------------------===//

#include "ChannelProtocol.h"
#include "IssueOrder.h"
#include "RegisterEstimate.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/Passes.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CHECKRESOURCES
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

static LogicalResult verifyPlanned(WorkersOp workers) {
  bool isPlanned = workers.getRegisters() && workers.getSharedBytes();
  for (ChannelOp channel : workers.getChannels())
    isPlanned &= channel.getOffsets() && channel.getBarriers();
  for (RoleOp role : workers.getRoles())
    isPlanned &= role.getRegisters().has_value();
  if (isPlanned)
    return success();
  return workers.emitError() << "has no plan of its buffers; run --dash-plan-buffers first";
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static LogicalResult verifySharedBytes(WorkersOp workers, const TargetDescription &target) {
  int64_t bytes = *workers.getSharedBytes();
  if (bytes <= target.sharedBytes)
    return success();
  auto diagnostic = workers.emitError()
                    << "slots take " << bytes << " bytes of shared memory, but a block has "
                    << target.sharedBytes
                    << ": fewer slots of channels, or fewer rows of tiles (--dash-choose-tiling)";
  for (ChannelOp channel : workers.getChannels()) {
    int64_t slot = channel.getType().getTilesBytes();
    diagnostic.attachNote(channel.getLoc()) << "channel '" << channel.getName() << "' takes "
                                            << channel.getDepth() << " x " << slot << " bytes";
  }
  return diagnostic;
}

static LogicalResult verifyBarriers(WorkersOp workers) {
  int64_t bytes = 0;
  for (ChannelOp channel : workers.getChannels())
    bytes += channel.getDepth() *
             (2 * barrierBytes + (channel.getType().getNumIndices() ? indexBytesOfSlot : 0));
  if (bytes > ticketOffset)
    return workers.emitError() << "barriers and indices of slots take " << bytes << " bytes, but "
                               << ticketOffset << " are left for them";
  return success();
}

/// Tiles start where copies can write them, after the barriers, and do not overlap.
static LogicalResult verifyPlaces(WorkersOp workers) {
  struct Extent {
    int64_t begin, end;
    ChannelOp channel;
  };
  SmallVector<Extent> extents;
  for (ChannelOp channel : workers.getChannels()) {
    ArrayRef<int64_t> barriers = *channel.getBarriers();
    for (int64_t barrier : barriers) {
      int64_t end = barrier + channel.getDepth() * barrierBytes;
      if (barrier < 0 || end > ticketOffset || barrier % barrierBytes != 0)
        return channel.emitError()
               << "barriers start at byte " << barrier << ", but must start at a multiple of "
               << barrierBytes << " and end within the first " << ticketOffset;
      extents.push_back({barrier, end, channel});
    }
    for (auto [i, offset, stride] : llvm::enumerate(*channel.getOffsets(), *channel.getStrides())) {
      auto tile = dyn_cast<RankedTensorType>(channel.getType().getElements()[i]);
      int64_t alignment = !tile ? 4 : tile.getRank() == 1 ? rowAlignment : tileAlignment;
      for (int64_t slot = 0; slot < int64_t(channel.getDepth()); ++slot) {
        int64_t begin = offset + slot * stride, end = begin + channel.getType().getElementBytes(i);
        if (!tile && (begin < 0 || end > ticketOffset || begin % alignment != 0))
          return channel.emitError() << "element " << i << " of slot " << slot << " starts at byte "
                                     << begin << ", but an index must lie in the first "
                                     << ticketOffset << ", at a multiple of " << alignment;
        if (tile && (begin < reservedBytes || begin % alignment != 0))
          return channel.emitError()
                 << "element " << i << " of slot " << slot << " starts at byte " << begin
                 << ", but must start at a multiple of " << alignment << " behind the first "
                 << reservedBytes << ", which are left for barriers";
        extents.push_back({begin, end, channel});
      }
    }
  }
  llvm::sort(extents, [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].begin < extents[i - 1].end) {
      auto diagnostic = extents[i].channel.emitError()
                        << "a slot of channel '" << extents[i].channel.getName()
                        << "' starts at byte " << extents[i].begin << ", inside one of channel '"
                        << extents[i - 1].channel.getName() << "'";
      diagnostic.attachNote(extents[i - 1].channel.getLoc())
          << "which ends at byte " << extents[i - 1].end;
      return diagnostic;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Warps and registers
//===----------------------------------------------------------------------===//

static LogicalResult verifyWarps(WorkersOp workers, const TargetDescription &target) {
  for (RoleOp role : workers.getRoles())
    if (role.isConsumer() && role.getWarps() % warpsOfWarpgroup != 0)
      return role.emitError() << "multiplies, so it needs whole warpgroups of " << warpsOfWarpgroup
                              << " warps, got " << role.getWarps();
  if (int64_t warps = workers.getNumWarps(); warps > target.maxWarps)
    return workers.emitError() << "has " << warps << " warps, but a block has at most "
                               << target.maxWarps;
  return success();
}

/// A role's registers are set for whole warpgroups, and all roles share one pool.
static LogicalResult verifyPool(WorkersOp workers, const TargetDescription &target) {
  int64_t warps = workers.getNumWarps(), atLaunch = *workers.getRegisters();
  int64_t pool = atLaunch * warps * threadsOfWarp;
  if (pool > target.registers)
    return workers.emitError() << atLaunch << " registers for each of " << warps * threadsOfWarp
                               << " threads are " << pool << ", but a block has "
                               << target.registers;
  SmallVector<RoleOp> roleOf(warps / warpsOfWarpgroup);
  for (RoleOp role : workers.getRoles()) {
    int64_t registers = *role.getRegisters(), first = workers.getFirstWarp(role);
    if (registers < target.minRegisters || registers > target.maxRegisters ||
        registers % target.registerUnit != 0)
      return role.emitError() << "registers of a role must be a multiple of " << target.registerUnit
                              << " from " << target.minRegisters << " to " << target.maxRegisters
                              << ", got " << registers;
    for (int64_t warp = first; warp < first + int64_t(role.getWarps()); ++warp) {
      RoleOp &other = roleOf[warp / warpsOfWarpgroup];
      if (other && *other.getRegisters() != *role.getRegisters())
        return role.emitError() << "shares a warpgroup with role '" << other.getName()
                                << "', so it must have as many registers, " << *other.getRegisters()
                                << ", got " << registers;
      other = role;
    }
  }
  int64_t asked = 0;
  for (RoleOp role : roleOf)
    asked += *role.getRegisters() * warpsOfWarpgroup * threadsOfWarp;
  if (asked <= pool)
    return success();
  auto diagnostic = workers.emitError()
                    << "roles ask for " << asked << " registers, but " << atLaunch
                    << " for each of " << warps * threadsOfWarp << " threads at launch are " << pool
                    << ": the last warpgroup would wait for ever";
  for (RoleOp role : workers.getRoles())
    diagnostic.attachNote(role.getLoc())
        << "role '" << role.getName() << "' asks for " << *role.getRegisters() << " in each of "
        << role.getWarps() * threadsOfWarp << " threads";
  return diagnostic;
}

static LogicalResult verifyTilesFit(WorkersOp workers) {
  for (RoleOp role : workers.getRoles()) {
    WalkOp walk = role.getWalk();
    if (!walk || !role.isConsumer())
      continue;
    RegisterEstimate estimate = estimateRegisters(walk, role.getWarps() * threadsOfWarp);
    if (estimate.total() <= int64_t(*role.getRegisters()))
      continue;
    auto diagnostic = role.emitError()
                      << "needs about " << estimate.total() << " registers a thread ("
                      << estimate.carried << " for what walks carry, " << estimate.inFlight
                      << " for tiles in flight, " << estimate.addresses
                      << " for addresses), but has " << *role.getRegisters()
                      << ": lower the rows of tiles";
    if (estimate.at)
      diagnostic.attachNote(estimate.at->getLoc()) << "most are in flight here";
    return diagnostic;
  }
  return success();
}

static LogicalResult verifyOrdered(WorkersOp workers) {
  for (RoleOp role : workers.getRoles())
    if (WalkOp walk = role.getWalk(); walk && role.isConsumer() && !walk.getStages())
      return walk.emitError() << "has ops without a place in its order of issue; run "
                                 "--dash-order-products first";
  return success();
}

/// The order matters: each check may rely on the ones before it.
static LogicalResult verifyPlan(WorkersOp workers, const TargetDescription &target) {
  if (failed(verifyPlanned(workers)) || failed(verifyOrdered(workers)) ||
      failed(verifyWarps(workers, target)) || failed(verifyBarriers(workers)) ||
      failed(verifySharedBytes(workers, target)) || failed(verifyPlaces(workers)) ||
      failed(verifyPool(workers, target)) || failed(verifyTilesFit(workers)))
    return failure();
  bool isLowered = !(*workers.getRoles().begin()).getItems(); // then waits define the protocol
  return isLowered ? success() : simulateTokens(workers);
}

namespace {

struct CheckResources : public dash::impl::CheckResourcesBase<CheckResources> {
  using CheckResourcesBase::CheckResourcesBase;

  void runOnOperation() override {
    const TargetDescription *described =
        findTarget(target, [&] { return getOperation()->emitError(); });
    if (!described)
      return signalPassFailure();
    bool hasWorkers = false;
    WalkResult result = getOperation()->walk([&](WorkersOp workers) {
      hasWorkers = true;
      return failed(verifyPlan(workers, *described)) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasWorkers)
      getOperation()->emitWarning() << "no 'dash.workers' to check; run --dash-assign-roles first";
    markAllAnalysesPreserved();
  }
};

} // namespace
