//===- AttachTarget.cpp - the chip that kernels are compiled for ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelModules.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Target/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_ATTACHTARGET
#include "dash/Target/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct AttachTarget : public dash::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    const TargetDescription *described =
        findTarget(target, [&] { return getOperation().emitError(); });
    if (!described)
      return signalPassFailure();
    auto attached = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda",
                                              described->chip, described->features);
    Attribute targets = ArrayAttr::get(&getContext(), {attached});
    for (gpu::GPUModuleOp module : kernelModules(getOperation())) {
      ArrayAttr present = module.getTargetsAttr();
      if (present && present != targets) {
        module.emitError() << "expected a kernel module without a target, or with " << attached
                           << ", got " << present << "; leave the choice to this pass";
        return signalPassFailure();
      }
      module.setTargetsAttr(cast<ArrayAttr>(targets));
      ++numAttached;
    }
    // No analysis reads targets. Without this, MLIR would verify every op of the kernels again for
    // one attribute.
    markAllAnalysesPreserved();
  }
};

} // namespace
