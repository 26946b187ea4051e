//===- AttachTarget.cpp - for which chip kernels are compiled -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that names a chip.
//
//===----------------------------------------------------------------------===//

#include "KernelModules.h"
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
  void runOnOperation() override {
    auto target =
        NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", "sm_90a",
                                  /*features=*/"+ptx88");
    Attribute targets = ArrayAttr::get(&getContext(), {target});
    for (gpu::GPUModuleOp module : kernelModules(getOperation())) {
      ArrayAttr present = module.getTargetsAttr();
      if (present && present != targets) {
        module.emitError() << "expected a kernel module without a target, or with " << target
                           << ", got " << present << "; leave the choice to this pass";
        return signalPassFailure();
      }
      module.setTargetsAttr(cast<ArrayAttr>(targets));
      ++numAttached;
    }
  }
};

} // namespace
