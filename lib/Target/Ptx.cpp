//===- Ptx.cpp - a kernel module as PTX text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translation of `gpu-module-to-binary` links libdevice where it finds a CUDA toolkit: the same kernels
// would give another text on another machine. This one links nothing.
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Target/LLVM/ModuleToObject.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
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

/// A copy without what Lowering wrote down for the manifest: the translation warns of each attribute that
/// it does not know.
static OwningOpRef<gpu::GPUModuleOp> withoutOurAttributes(gpu::GPUModuleOp module) {
  OwningOpRef<gpu::GPUModuleOp> copy = module.clone();
  auto isOurs = [](NamedAttribute attr) { return attr.getName().strref().starts_with("dash."); };
  for (auto function : copy->getOps<FunctionOpInterface>()) {
    for (NamedAttribute attr : llvm::to_vector(function->getDiscardableAttrs()))
      if (isOurs(attr))
        function->removeDiscardableAttr(attr.getName());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (NamedAttribute attr : llvm::to_vector(function.getArgAttrs(i)))
        if (isOurs(attr))
          function.removeArgAttr(i, attr.getName());
  }
  return copy;
}

void dash::registerPtxTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
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
  OwningOpRef<gpu::GPUModuleOp> bare = withoutOurAttributes(module);
  std::optional<SmallVector<char, 0>> text = ModuleToPtx(*bare, target).run();
  if (!text)
    return module.emitError() << "cannot translate the kernel module to PTX; run "
                                 "--dash-convert-to-llvm first";
  return std::string(text->begin(), text->end());
}
