//===- VerifyStage.cpp - what a stage must produce ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stage trusts the contracts of the stages before it. A broken contract is found here, not two
// stages later.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/Passes.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "dash/Driver/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

static StringRef nameOf(Stage stage) {
  switch (stage) {
  case Stage::IR:
    return "IR";
  case Stage::Schedule:
    return "Schedule";
  case Stage::Pipeline:
    return "Pipeline";
  case Stage::Lowering:
    return "Lowering";
  case Stage::Target:
    return "Target";
  }
  llvm_unreachable("all stages are above");
}

namespace {

/// The contract of one stage: which ops may remain, and which ops must exist.
class Contract {
public:
  explicit Contract(Stage stage) : stage(stage) {}

  LogicalResult verify(ModuleOp root) {
    bool isFound = false;
    WalkResult result = root.walk<WalkOrder::PreOrder>([&](Operation *op) {
      isFound |= isProduct(op);
      return failed(verifyOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    if (!isFound && !product().empty())
      return root.emitError() << "expected a " << product() << " after " << nameOf(stage)
                              << ", found none";
    return success();
  }

private:
  /// The op that the stage produces; "" if it may have gone into files.
  StringRef product() const {
    switch (stage) {
    case Stage::IR:
      return "'dash.attention_bwd' or 'dash.attention_fwd'";
    case Stage::Schedule:
      return "scheduled 'dash.items'";
    case Stage::Pipeline:
      return "'dash.workers'";
    case Stage::Lowering:
      return "kernel module with an entry";
    case Stage::Target:
      return "";
    }
    llvm_unreachable("all stages are above");
  }

  bool isProduct(Operation *op) const {
    switch (stage) {
    case Stage::IR:
      return isa<AttentionOpInterface>(op);
    case Stage::Schedule:
      return isa<ItemsOp>(op);
    case Stage::Pipeline:
      return isa<WorkersOp>(op);
    case Stage::Lowering:
      return op->hasAttr(entryAttr);
    case Stage::Target:
      return true;
    }
    llvm_unreachable("all stages are above");
  }

  LogicalResult verifyOp(Operation *op) {
    switch (stage) {
    case Stage::IR:
      if (isa_and_present<DashDialect>(op->getDialect()) && !isa<AttentionOpInterface>(op))
        return refuse(op);
      return success();
    case Stage::Schedule:
      return verifyScheduled(op);
    case Stage::Pipeline:
      return verifyPipelined(op);
    case Stage::Lowering:
      return verifyLowered(op);
    case Stage::Target:
      return verifyEmitted(op);
    }
    llvm_unreachable("all stages are above");
  }

  InFlightDiagnostic refuse(Operation *op) const {
    return op->emitOpError() << "must be gone after " << nameOf(stage);
  }

  LogicalResult verifyScheduled(Operation *op) {
    if (isa<AttentionOpInterface>(op))
      return refuse(op);
    if (auto items = dyn_cast<ItemsOp>(op); items && !items.getOrderAttr())
      return op->emitOpError() << "must have an order after " << nameOf(stage);
    return success(); // dash.reduce itself checks that sums follow the order
  }

  LogicalResult verifyPipelined(Operation *op) {
    if (isa<AttentionOpInterface>(op))
      return refuse(op);
    if (isa<ItemsOp>(op) && !op->getParentOfType<RoleOp>())
      return refuse(op) << " outside of roles";
    if (auto channel = dyn_cast<ChannelOp>(op); channel && !channel.getOffsets())
      return op->emitOpError() << "must have a place in shared memory after " << nameOf(stage);
    if (auto role = dyn_cast<RoleOp>(op); role && !role.getRegisters())
      return op->emitOpError() << "must have registers after " << nameOf(stage);
    return success();
  }

  LogicalResult verifyLowered(Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "dash" || dialect == "nvgpu")
      return refuse(op);
    auto kernels = op->getParentOfType<gpu::GPUModuleOp>();
    if (kernels && kernels->hasAttr(programAttr) &&
        !llvm::is_contained({"llvm", "nvvm", "arith", "cf", "scf"}, dialect))
      return refuse(op) << " in kernels; they are of llvm, nvvm, arith, cf and scf";
    return success();
  }

  LogicalResult verifyEmitted(Operation *op) {
    if (op->getName().getDialectNamespace() == "dash" ||
        (isa<gpu::GPUModuleOp>(op) && op->hasAttr(programAttr)))
      return refuse(op);
    return success();
  }

  Stage stage;
};

struct VerifyStage : public dash::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(Contract(after).verify(getOperation())))
      signalPassFailure();
  }
};

} // namespace
