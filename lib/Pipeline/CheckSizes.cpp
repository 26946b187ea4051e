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

static LogicalResult checkSizes(AttentionBwdOp op) {
  auto check = [&](ValueRange tensors, bool isKeyValue) {
    return success(llvm::all_of(tensors, [&](Value tensor) {
      auto shape = cast<MemRefType>(tensor.getType()).getShape();
      return succeeded(verifySizes(shape, isKeyValue, [&] { return op.emitError(); }));
    }));
  };
  auto emitError = [&] { return op.emitError(); };
  return failure(failed(verifyHeadDims(op.getHeadDim(), op.getHeadDimV(), emitError)) ||
                 failed(check({op.getQ(), op.getDOut(), op.getLse(), op.getDq()}, false)) ||
                 failed(check({op.getK(), op.getV(), op.getDk(), op.getDv()}, true)));
}

namespace {

struct CheckSizes : public dash::impl::CheckSizesBase<CheckSizes> {
  void runOnOperation() override {
    auto check = [](AttentionBwdOp op) { return WalkResult(checkSizes(op)); };
    if (getOperation()->walk(check).wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
