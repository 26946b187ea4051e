//===- ResultsLeaving.cpp - slots that copies may still read --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ResultsLeaving.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

void ResultsLeaving::Slots::join(const Slots &other) {
  isAny |= other.isAny;
  for (const SlotUse &slot : other.known)
    if (!llvm::is_contained(known, slot))
      known.push_back(slot);
}

ResultsLeaving::ResultsLeaving(RoleOp role) {
  role.walk([&](StoreOp store) { channels.insert(store.getThrough()); });
}

void ResultsLeaving::waitFor(ImplicitLocOpBuilder &b, const SlotUse &slot) {
  auto isShared = [&](const SlotUse &one) { return mayShareSlot(one, slot); };
  if (!(slots.isAny && channels.contains(slot.channel)) && llvm::none_of(slots.known, isShared))
    return;
  wait(b);
}

void ResultsLeaving::waitForTaken(ImplicitLocOpBuilder &b, const SlotUse &slot) {
  if (llvm::is_contained(slots.known, slot))
    wait(b);
}

void ResultsLeaving::wait(ImplicitLocOpBuilder &b) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0), /*read=*/b.getUnitAttr());
  SyncWarpgroupOp::create(b);
  slots = {};
}

void ResultsLeaving::enterLoop(Operation *loop) {
  slots.isAny |= loop->walk([](StoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
}
