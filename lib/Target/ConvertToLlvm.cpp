//===- ConvertToLlvm.cpp - kernels in the dialects llvm and nvvm ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place where upstream conversions run over kernels. They run together, so that none
// leaves casts for the next.
//
//===----------------------------------------------------------------------===//

#include "KernelModules.h"
#include "dash/Target/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "dash/Target/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Whether a remaining op belongs to the dialects of the machine.
static bool isOfMachine(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == LLVM::LLVMDialect::getDialectNamespace() || dialect == "nvvm";
}

static LogicalResult convert(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  // sizes and offsets within a kernel fit 32 bits; addresses are i64
  options.overrideIndexBitwidth(32);
  LLVMTypeConverter types(context, options);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns); // LLVM only divides towards zero
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateNVVMToLLVMConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addIllegalDialect<cf::ControlFlowDialect>();
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return failure();
  WalkResult left = module.getRegion().walk([](Operation *op) {
    if (isOfMachine(op))
      return WalkResult::advance();
    op->emitError() << "expected ops of arith, cf, scf, llvm and nvvm in a kernel, got '"
                    << op->getName() << "', which nothing converts";
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}

namespace {

struct ConvertToLlvm : public dash::impl::ConvertToLlvmBase<ConvertToLlvm> {
  void runOnOperation() override {
    for (gpu::GPUModuleOp module : kernelModules(getOperation())) {
      if (failed(convert(module)))
        return signalPassFailure();
      ++numConverted;
    }
  }
};

} // namespace
