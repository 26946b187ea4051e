//===- Program.cpp - a lowered function and its arguments -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled for the machine at hand. That changes no bits: no pass here may reorder or fuse what the
// loops say, bf16 is rounded by integer operations, and all else is IEEE arithmetic.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Npy.h"
#include "dash/Cpu/Passes.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cstring>

using namespace mlir;
using namespace mlir::dash;
using namespace dash_run;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int64_t Tensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

StringRef Tensor::npyType() const {
  static constexpr StringLiteral types[] = {"<u2", "<f2", "<f4"};
  return types[int(element)];
}

static const llvm::fltSemantics &semanticsOf(Element element) {
  return element == Element::BF16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

float Tensor::get(int64_t index) const {
  const char *at = data.data() + index * elementBytes();
  if (element == Element::F32) {
    float number;
    std::memcpy(&number, at, 4);
    return number;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  if (element == Element::BF16)
    return llvm::bit_cast<float>(uint32_t(bits) << 16);
  return llvm::APFloat(semanticsOf(element), llvm::APInt(16, bits)).convertToFloat();
}

void Tensor::set(int64_t index, double value) {
  char *at = data.data() + index * elementBytes();
  if (element == Element::F32) {
    float number = value;
    std::memcpy(at, &number, 4);
    return;
  }
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  uint16_t bits = number.bitcastToAPInt().getZExtValue();
  std::memcpy(at, &bits, 2);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The function to run: the one called `name`, or the only one that is an attention backward.
static FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
    return module.emitError() << "expected a function @" << name << ", found none";
  }
  SmallVector<func::FuncOp> functions;
  module.walk([&](func::FuncOp function) {
    if (function->hasAttr(problemAttr))
      functions.push_back(function);
  });
  if (functions.size() == 1)
    return functions.front();
  auto diagnostic = module.emitError()
                    << "expected one function with a scheduled problem, found " << functions.size();
  if (functions.empty())
    return diagnostic << "; run dash-opt --dash-tile --dash-apply-schedule first";
  diagnostic << "; choose one with --function";
  for (func::FuncOp function : functions)
    diagnostic.attachNote(function.getLoc()) << "@" << function.getName();
  return failure();
}

static FailureOr<Tensor> toTensor(func::FuncOp function, unsigned number) {
  auto name = function.getArgAttrOfType<StringAttr>(number, argumentNameAttr);
  Type type = function.getArgumentTypes()[number];
  if (!name)
    return function.emitError() << "argument " << number << " of @" << function.getName()
                                << " has no dash.name: it is not a tensor of the problem";
  Tensor tensor;
  tensor.name = name.str();
  Type elementType = type;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    elementType = memref.getElementType();
    auto shape = function.getArgAttrOfType<DenseI64ArrayAttr>(number, argumentShapeAttr);
    if (!shape || shape.size() != memref.getRank())
      return function.emitError() << "argument '" << name.getValue() << "' of @"
                                  << function.getName() << " needs a dash.shape of "
                                  << memref.getRank() << " sizes";
    llvm::append_range(tensor.shape, shape.asArrayRef());
  }
  if (elementType.isBF16())
    tensor.element = Element::BF16;
  else if (elementType.isF16())
    tensor.element = Element::F16;
  else if (!elementType.isF32())
    return function.emitError() << "argument '" << name.getValue() << "' of @" << function.getName()
                                << " must be of bf16, f16 or f32, got " << elementType;
  return tensor;
}

static LogicalResult lowerToLoops(ModuleOp module, bool contributions) {
  bool hasTiles = false;
  module.walk([&](Operation *op) { hasTiles |= isa<ItemsOp, AttentionBwdOp>(op); });
  if (!hasTiles)
    return success();
  PassManager manager(module.getContext());
  LowerToLoopsOptions options;
  options.contributions = contributions;
  manager.addPass(createLowerToLoops(options));
  return manager.run(module);
}

FailureOr<Program> dash_run::loadProgram(MLIRContext &context, StringRef path, StringRef name,
                                         bool contributions) {
  Program program;
  program.module = parseSourceFile<ModuleOp>(path, &context);
  if (!program.module || failed(lowerToLoops(*program.module, contributions)))
    return failure();
  FailureOr<func::FuncOp> found = findFunction(*program.module, name);
  if (failed(found))
    return failure();
  func::FuncOp function = *found;
  auto problem = function->getAttrOfType<ProblemAttr>(problemAttr);
  if (!problem)
    return function.emitError() << "expected one scheduled problem in @" << function.getName()
                                << ", found "
                                << (function->hasAttr(problemAttr) ? "several" : "none");
  if (function.getNumResults() != 0)
    return function.emitError() << "expected a function without results, found "
                                << function.getNumResults();
  program.function = function.getName().str();
  program.problem = toProblem(problem);
  if (auto softcap = function->getAttrOfType<FloatAttr>(softcapAttr))
    program.softcap = softcap.getValueAsDouble();
  bool hasContributions = false;
  for (unsigned i : llvm::seq(function.getNumArguments())) {
    FailureOr<Tensor> tensor = toTensor(function, i);
    if (failed(tensor))
      return failure();
    hasContributions |= tensor->isContributions();
    program.arguments.push_back(std::move(*tensor));
  }
  if (contributions && !hasContributions)
    return function.emitError() << "has been lowered without contributions; use "
                                   "--dash-lower-to-loops=contributions=true";
  return program;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static LogicalResult lowerToLLVM(ModuleOp module, StringRef name) {
  Builder builder(module.getContext());
  module.walk([&](func::FuncOp function) {
    // Our marks have served, and LLVM knows no such attributes.
    function->removeAttr(problemAttr);
    function->removeAttr(softcapAttr);
    for (unsigned i : llvm::seq(function.getNumArguments())) {
      function.removeArgAttr(i, argumentNameAttr);
      function.removeArgAttr(i, argumentShapeAttr);
    }
    if (function.getName() == name)
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), builder.getUnitAttr());
  });
  PassManager manager(module.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true; // not every target's own rounding treats subnormal numbers alike
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

llvm::Error dash_run::runProgram(Program &program) {
  if (failed(lowerToLLVM(*program.module, program.function)))
    return llvm::createStringError("the loops could not be converted to LLVM");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  registerBuiltinDialectTranslation(*program.module->getContext());
  registerLLVMDialectTranslation(*program.module->getContext());
  ExecutionEngineOptions options;
  auto transformer = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0, machine->get());
  options.transformer = transformer;
  options.enablePerfNotificationListener = false; // it writes files into the home of who runs this
  auto engine = ExecutionEngine::create(*program.module, options, std::move(*machine));
  if (!engine)
    return engine.takeError();

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
  return (*engine)->invokePacked("_mlir_ciface_" + program.function, packed);
}
