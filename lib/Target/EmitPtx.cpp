//===- EmitPtx.cpp - kernels as PTX text ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelModules.h"
#include "Ptx.h"
#include "dash/Target/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {
#define GEN_PASS_DEF_EMITPTX
#include "dash/Target/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Puts a `gpu.binary` that holds the text in place of the kernel module.
static void replaceByBinary(gpu::GPUModuleOp module, StringRef ptx) {
  OpBuilder b(module);
  auto object = gpu::ObjectAttr::get(b.getContext(), module.getTargetsAttr()[0],
                                     gpu::CompilationTarget::Assembly, b.getStringAttr(ptx),
                                     /*properties=*/nullptr, /*kernels=*/nullptr);
  gpu::BinaryOp::create(b, module.getLoc(), module.getName(), /*offloadingHandler=*/nullptr,
                        b.getArrayAttr({object}));
  module.erase();
}

namespace {

struct EmitPtx : public dash::impl::EmitPtxBase<EmitPtx> {
  using EmitPtxBase::EmitPtxBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    EmitPtxBase::getDependentDialects(registry);
    registerPtxTranslations(registry); // here, so that tools which emit nothing do not pay for it
  }

  void runOnOperation() override {
    for (gpu::GPUModuleOp module : kernelModules(getOperation())) {
      FailureOr<std::string> ptx = translateToPtx(module);
      if (failed(ptx))
        return signalPassFailure();
      if (output.empty()) {
        replaceByBinary(module, *ptx);
      } else {
        if (llvm::Error error = llvm::writeToOutput(output + ".ptx", [&](llvm::raw_ostream &os) {
              os << *ptx;
              return llvm::Error::success();
            })) {
          module.emitError() << llvm::toString(std::move(error));
          return signalPassFailure();
        }
        module.erase();
      }
      ++numEmitted;
    }
  }
};

} // namespace
