//===- Jit.cpp - compile and run loops ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles for the host machine. That changes no bits: no pass here may reorder or fuse the loops'
// operations, integer operations round to bf16, and all else is IEEE arithmetic.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Target/TargetMachine.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace dash_run;
namespace orc = llvm::orc;

static constexpr llvm::StringLiteral packedName = "packed";

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static LogicalResult lowerToLLVM(ModuleOp module) {
  module.lookupSymbol(entryName)->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                                          UnitAttr::get(module.getContext()));
  PassManager manager(module.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true; // not every target rounds subnormal numbers alike
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(module);
}

/// A memref's descriptor: two pointers, the offset, sizes and strides, as 64-bit numbers.
static std::vector<int64_t> describe(Tensor &tensor) {
  auto pointer = reinterpret_cast<int64_t>(tensor.data.data());
  std::vector<int64_t> descriptor = {pointer, pointer, 0};
  llvm::append_range(descriptor, tensor.shape);
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t i = strides.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * tensor.shape[i];
  llvm::append_range(descriptor, strides);
  return descriptor;
}

/// Adds a function that takes its arguments, of any types, as an array of pointers.
static void addPackedEntry(llvm::Module &module) {
  llvm::Function *function = module.getFunction(("_mlir_ciface_" + entryName).str());
  llvm::IRBuilder<> b(module.getContext());
  auto *type = llvm::FunctionType::get(b.getVoidTy(), b.getPtrTy(), /*isVarArg=*/false);
  auto *packed = llvm::Function::Create(type, llvm::Function::ExternalLinkage, packedName, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", packed));
  SmallVector<llvm::Value *> arguments;
  for (auto [i, argument] : llvm::enumerate(function->args())) {
    llvm::Value *at = b.CreateConstGEP1_64(b.getPtrTy(), packed->getArg(0), i);
    arguments.push_back(b.CreateLoad(argument.getType(), b.CreateLoad(b.getPtrTy(), at)));
  }
  b.CreateCall(function, arguments);
  b.CreateRetVoid();
}

int64_t dash_run::memoryOfMachine() {
  return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

//===----------------------------------------------------------------------===//
// Symbols that a program may call
//===----------------------------------------------------------------------===//

/// An assertion prints its text by `puts`, and ends the process by `abort`.
static int sayError(const char *text) {
  llvm::WithColor::error(llvm::errs(), "dash-run") << text << "\n";
  return 0;
}
[[noreturn]] static void endProcess() { std::exit(1); }

/// Loops do not check whether they got their buffers.
static void *takeBuffer(size_t bytes) {
  void *buffer = bytes <= size_t(memoryOfMachine()) ? std::malloc(bytes) : nullptr;
  if (buffer)
    return buffer;
  sayError("a buffer of the program does not fit into the memory of this machine");
  endProcess();
}

/// Exponentials, logarithms and fused products are what the arithmetic needs of this process. A
/// compiler inserts the others here.
static llvm::Error offerSymbols(orc::LLJIT &jit) {
  auto absolute = [](auto *function) {
    return orc::ExecutorSymbolDef(orc::ExecutorAddr::fromPtr(function),
                                  llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  };
  orc::JITDylib &library = jit.getMainJITDylib();
  orc::SymbolMap own = {{jit.mangleAndIntern("malloc"), absolute(&takeBuffer)},
                        {jit.mangleAndIntern("puts"), absolute(&sayError)},
                        {jit.mangleAndIntern("abort"), absolute(&endProcess)}};
  if (llvm::Error error = library.define(orc::absoluteSymbols(std::move(own))))
    return error;
  orc::SymbolNameSet allowed;
  for (StringRef name : {"exp", "exp2", "fmaf", "free", "log2", "memcpy", "memmove", "memset",
                         "__extendhfsf2", "__truncsfhf2", "__truncdfhf2"})
    allowed.insert(jit.mangleAndIntern(name));
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix(),
      [allowed = std::move(allowed)](const orc::SymbolStringPtr &name) {
        return allowed.contains(name);
      });
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<orc::LLJIT>> makeJit(orc::JITTargetMachineBuilder machine) {
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(machine))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .setObjectLinkingLayerCreator([](orc::ExecutionSession &session) {
                   return std::make_unique<orc::RTDyldObjectLinkingLayer>(
                       session, [](const llvm::MemoryBuffer &) {
                         return std::make_unique<llvm::SectionMemoryManager>();
                       });
                 })
                 .create();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = offerSymbols(**jit))
    return std::move(error);
  return std::move(*jit);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Error dash_run::runProgram(Program &program) {
  if (failed(lowerToLLVM(*program.module)))
    return llvm::createStringError("the loops could not be converted to LLVM");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  registerBuiltinDialectTranslation(*program.module->getContext());
  registerLLVMDialectTranslation(*program.module->getContext());
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*program.module, *context);
  if (!module)
    return llvm::createStringError("the loops could not be converted to LLVM");
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  addPackedEntry(*module);
  for (llvm::Function &function : *module)
    function.addFnAttr("no-builtins"); // keeps a malloc and a fill from becoming a calloc
  if (llvm::Error error =
          makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0, machine->get())(module.get()))
    return error;
  auto jit = makeJit(std::move(*builder));
  if (!jit)
    return jit.takeError();
  std::string wrong;
  (*jit)->getExecutionSession().setErrorReporter(
      [&](llvm::Error error) { wrong += llvm::toString(std::move(error)); });
  if (llvm::Error error = (*jit)->addIRModule({std::move(module), std::move(context)}))
    return error;
  auto entry = (*jit)->lookup(packedName);
  if (!entry) {
    std::string failed = llvm::toString(entry.takeError());
    return llvm::createStringError("the loops could not be linked: " +
                                   (wrong.empty() ? failed : wrong));
  }

  std::vector<std::vector<int64_t>> descriptors;
  std::vector<void *> pointers, packed;
  descriptors.reserve(program.arguments.size());
  pointers.reserve(program.arguments.size());
  for (Tensor &tensor : program.arguments) {
    if (tensor.shape.empty()) {
      packed.push_back(tensor.data.data());
      continue;
    }
    descriptors.push_back(describe(tensor));
    pointers.push_back(descriptors.back().data());
    packed.push_back(&pointers.back());
  }
  entry->toPtr<void (*)(void **)>()(packed.data());
  return llvm::Error::success();
}
