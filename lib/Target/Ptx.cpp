//===- Ptx.cpp - a kernel module as PTX text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translation of `gpu-module-to-binary` links libdevice if it finds a CUDA toolkit, so the same
// kernels would give another text on another machine. This translation links nothing.
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"
#include "dash/IR/DashOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/ModuleToObject.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm-c/Target.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class ModuleToPtx : public LLVM::ModuleToObject {
public:
  ModuleToPtx(gpu::GPUModuleOp module, NVVM::NVVMTargetAttr target)
      : ModuleToObject(*module, target.getTriple(), target.getChip(), target.getFeatures(),
                       target.getO()) {}

protected:
  FailureOr<SmallVector<char, 0>> moduleToObject(llvm::Module &llvmModule) override {
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return failure();
    FailureOr<SmallString<0>> text =
        translateModuleToISA(llvmModule, **machine, [&]() { return getOperation().emitError(); });
    if (failed(text))
      return failure();
    return SmallVector<char, 0>(text->begin(), text->end());
  }
};

/// The lowering's attributes of parameters are for the manifest. Without this, the translation
/// warns about each.
struct ForTheManifest : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;
};

} // namespace

static void initializeNvptx() {
  static const bool once = [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
}

void dash::registerPtxTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registry.addExtension(
      +[](MLIRContext *, DashDialect *dialect) { dialect->addInterfaces<ForTheManifest>(); });
}

FailureOr<std::string> dash::translateToPtx(gpu::GPUModuleOp module) {
  ArrayAttr targets = module.getTargetsAttr();
  auto target = targets && targets.size() == 1 ? dyn_cast<NVVM::NVVMTargetAttr>(targets[0])
                                               : NVVM::NVVMTargetAttr();
  if (!target)
    return module.emitError() << "expected one #nvvm.target at the kernel module, got "
                              << (targets ? targets.size() : 0)
                              << " target(s); run --dash-attach-target first";
  initializeNvptx();
  std::optional<SmallVector<char, 0>> text = ModuleToPtx(module, target).run();
  if (!text)
    return module.emitError() << "cannot translate the kernel module to PTX; run "
                                 "--dash-convert-to-llvm first";
  return std::string(text->begin(), text->end());
}
