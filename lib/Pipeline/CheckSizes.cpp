//===- CheckSizes.cpp - sizes that kernels can count ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CHECKSIZES
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

static LogicalResult checkSizes(AttentionOpInterface op) {
  auto emitError = [&] { return op->emitError(); };
  auto backward = dyn_cast<AttentionBwdOp>(op.getOperation());
  if (failed(verifyHeadDims(op.getHeadDim(), op.getHeadDimV(), !backward || backward.isPart(),
                            emitError)))
    return failure();
  return success(llvm::all_of(op.getTensors(), [&](const TensorOfOp &tensor) {
    bool hasRows = tensor.role.isTile() || tensor.role.isPerRow();
    return !hasRows || succeeded(verifySizes(cast<MemRefType>(tensor.value.getType()).getShape(),
                                             tensor.role.isKeyValue(), emitError));
  }));
}

namespace {

struct CheckSizes : public dash::impl::CheckSizesBase<CheckSizes> {
  void runOnOperation() override {
    auto check = [](AttentionOpInterface op) { return WalkResult(checkSizes(op)); };
    if (getOperation()->walk(check).wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
