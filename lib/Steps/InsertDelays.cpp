//===- InsertDelays.cpp - random sleeps where roles wait ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A delay must not change a bit. Warps that load and add decide which role comes first, so they
// sleep. A consumer is late by itself when its slots are.
//
//===----------------------------------------------------------------------===//

#include "WaitsAreOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_INSERTDELAYS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct InsertDelays : dash::impl::InsertDelaysBase<InsertDelays> {
  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp workers) { found.push_back(workers); });
    for (WorkersOp workers : found) {
      if (failed(checkWaitsAreOps(workers)))
        return signalPassFailure();
      for (RoleOp role : workers.getRoles())
        if (!role.isConsumer())
          insert(role);
    }
  }

private:
  void insert(RoleOp role) {
    role.walk([&](Operation *op) {
      OpBuilder b(op);
      auto isWait = [](const Sync &sync) { return sync.kind == SyncKind::WaitForSlot; };
      auto isTurn = [](const SumAccess &sum) { return sum.isOfTurns(); };
      if (llvm::any_of(syncsOf(op), isWait))
        b.setInsertionPointAfter(op);
      else if (llvm::none_of(sumAccessesOf(op), isTurn))
        return;
      DelayOp::create(b, op->getLoc());
      ++numInserted;
    });
  }
};

} // namespace
