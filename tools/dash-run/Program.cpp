//===- Program.cpp - a lowered function and its arguments -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program may be untrusted. The tool takes only the function that runs, and the tables that it
// reads. It checks all memory that the file asks for against the problem before it allocates any.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Npy.h"
#include "dash/Cpu/Passes.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Schedule/Schedule.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Support/Nesting.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
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

/// The function to run: the one called `name`, or the only attention backward.
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

/// Whether a contiguous tensor can be passed as the type. Dynamic dimensions come with the call.
static bool isInMemory(MemRefType type, const Tensor &tensor) {
  SmallVector<int64_t> strides;
  int64_t offset, stride = 1;
  if (type.getRank() == 0 || type.getMemorySpace() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      (!ShapedType::isDynamic(offset) && offset != 0))
    return false;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    int64_t size = tensor.shape[i];
    std::optional<int64_t> next = llvm::checkedMul(stride, size);
    if (size < 1 || !next || (!type.isDynamicDim(i) && type.getDimSize(i) != size) ||
        (!ShapedType::isDynamic(strides[i]) && strides[i] != stride))
      return false;
    stride = *next;
  }
  return true;
}

static FailureOr<Tensor> toTensor(func::FuncOp function, unsigned number) {
  SmallVector<TensorRoleAttr> roles = rolesOf(function.getArgument(number));
  Type type = function.getArgumentTypes()[number];
  if (roles.empty())
    return function.emitError() << "argument " << number << " of @" << function.getName()
                                << " has no dash.tensor: it is not a tensor of the problem";
  Tensor tensor;
  tensor.role = roles.front(); // one argument has several roles, and all are read
  tensor.name = tensor.role.getName().str();
  auto refuse = [&] {
    return function.emitError() << "argument '" << tensor.name << "' of @" << function.getName();
  };
  Type elementType = type;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    elementType = memref.getElementType();
    auto shape = function.getArgAttrOfType<DenseI64ArrayAttr>(number, argumentShapeAttr);
    if (!shape || shape.size() != memref.getRank())
      return refuse() << " needs a dash.shape of " << memref.getRank() << " sizes";
    llvm::append_range(tensor.shape, shape.asArrayRef());
    if (!isInMemory(memref, tensor))
      return refuse() << " must lie row after row, with sizes " << formatShape(tensor.shape)
                      << " as its dash.shape says, got " << memref;
  }
  if (elementType.isBF16())
    tensor.element = Element::BF16;
  else if (elementType.isF16())
    tensor.element = Element::F16;
  else if (!elementType.isF32())
    return refuse() << " must be of bf16, f16 or f32, got " << elementType;
  return tensor;
}

static bool hasTiles(ModuleOp module) {
  bool found = false;
  module.walk([&](Operation *op) { found |= isa<ItemsOp, AttentionOpInterface>(op); });
  return found;
}

static LogicalResult lowerToLoops(ModuleOp module, bool contributions) {
  PassManager manager(module.getContext());
  LowerToLoopsOptions options;
  options.contributions = contributions;
  manager.addPass(createLowerToLoops(options));
  return manager.run(module);
}

//===----------------------------------------------------------------------===//
// What a program may be
//===----------------------------------------------------------------------===//

/// Ops that --dash-lower-to-loops writes, and those that canonicalization makes of them: no calls
/// and no pointers.
static bool isOfLoops(Operation *op) {
  if (isa<func::FuncOp, func::ReturnOp, cf::AssertOp, memref::AllocOp, memref::CastOp,
          memref::DeallocOp, memref::DimOp, memref::GetGlobalOp, memref::LoadOp, memref::StoreOp>(
          op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>(
      op->getDialect());
}

namespace {

/// Adds up memory, up to this machine's limit.
class Memory {
public:
  explicit Memory(func::FuncOp function) : function(function) {}

  /// The run itself checks a buffer whose size comes with the call.
  LogicalResult take(MemRefType type) {
    if (!type.hasStaticShape() || !type.getElementType().isIntOrIndexOrFloat())
      return success();
    return take(type.getShape(), type.getElementType().isIndex()
                                     ? 8
                                     : llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  }

  LogicalResult take(ArrayRef<int64_t> shape, int64_t elementBytes) {
    std::optional<int64_t> more = elementBytes;
    for (int64_t size : shape)
      more = more ? llvm::checkedMul(*more, size) : more;
    std::optional<int64_t> sum = more ? llvm::checkedAdd(bytes, *more) : more;
    if (sum && *sum <= most) {
      bytes = *sum;
      return success();
    }
    return function.emitError() << "the arguments and buffers of @" << function.getName()
                                << " take more than the " << (most >> 20)
                                << " MiB of this machine: state fewer heads or rows";
  }

private:
  func::FuncOp function;
  int64_t bytes = 0, most = memoryOfMachine();
};

} // namespace

/// A module with only the function, called "run", and the tables that it reads.
static FailureOr<OwningOpRef<ModuleOp>> isolate(func::FuncOp function) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  OpBuilder builder(module->getBodyRegion());
  Memory memory(function);
  llvm::StringMap<std::string> tables;
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  // Our marks have done their work, and other marks are not ours.
  copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  copy.removeArgAttrsAttr();
  copy.setPublic();
  copy.setName(entryName);
  WalkResult result = function.walk([&](Operation *op) {
    if (!isOfLoops(op)) {
      op->emitError() << "dash-run runs loops as --dash-lower-to-loops writes them, which have no '"
                      << op->getName() << "'";
      return WalkResult::interrupt();
    }
    if (auto alloc = dyn_cast<memref::AllocOp>(op); alloc && failed(memory.take(alloc.getType())))
      return WalkResult::interrupt();
    auto get = dyn_cast<memref::GetGlobalOp>(op);
    if (!get || tables.contains(get.getName()))
      return WalkResult::advance();
    auto table = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(op, get.getNameAttr());
    if (!table || !isa_and_present<ElementsAttr>(table.getInitialValueAttr())) {
      op->emitError() << "expected a table with numbers in it, found none";
      return WalkResult::interrupt();
    }
    auto own = cast<memref::GlobalOp>(builder.clone(*table));
    own->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    own.setSymName(tables[get.getName()] = "table" + std::to_string(tables.size()));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  copy.walk([&](memref::GetGlobalOp get) { get.setName(tables[get.getName()]); });
  return module;
}

/// Arguments are those of the problem, each at most once. A list of sequences has a batch of 1.
static LogicalResult checkArguments(func::FuncOp function, const Program &program) {
  const Problem &problem = program.problem;
  ScheduleHeader header;
  header.problem = problem;
  if (failed(verifyWithinLimits(header, [&] { return function.emitError(); })))
    return failure();
  Memory memory(function);
  llvm::StringSet<> names;
  bool isBatch = llvm::all_equal(problem.sequences);
  bool isList = llvm::any_of(program.arguments, [](const Tensor &tensor) {
    return !tensor.isContributions() && tensor.shape.size() >= 3 && tensor.shape[0] == 1;
  });
  for (auto [number, tensor] : llvm::enumerate(program.arguments)) {
    auto refuse = [&, &tensor = tensor] {
      return function.emitError() << "argument '" << tensor.name << "' of @" << function.getName();
    };
    if (!names.insert(tensor.name).second)
      return refuse() << " is there twice";
    SmallVector<int64_t> shape = shapeOfTensor(tensor.role, problem, isList || !isBatch);
    if (int64_t columns = tensor.role.getColumns();
        tensor.role.isTile() && columns != problem.headDim && columns != problem.headDimV)
      return refuse() << " must have as many columns as its problem's head dim, " << problem.headDim
                      << ", or that of v, " << problem.headDimV << ", got " << columns;
    if (tensor.isContributions() ? tensor.shape.size() != 3 : tensor.shape != shape)
      return refuse() << " must have the shape "
                      << (tensor.isContributions() ? "[contributions, rows, head dim]"
                                                   : formatShape(shape))
                      << " of its problem, got " << formatShape(tensor.shape);
    // Only the loops know how many there are.
    if (auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[number]);
        tensor.isContributions() && !type.hasStaticShape())
      return refuse() << " must have a type of stated sizes, got " << type;
    if (failed(memory.take(tensor.shape, tensor.elementBytes())))
      return failure();
  }
  return success();
}

/// A file, or standard input.
static FailureOr<std::unique_ptr<llvm::MemoryBuffer>> readSource(MLIRContext &context,
                                                                 StringRef path) {
  auto refuse = [&](const Twine &why) {
    return emitError(FileLineColLoc::get(&context, path, 0, 0)) << why;
  };
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(path, &message);
  if (!text)
    return refuse(message);
  if (!isBytecode(text->getMemBufferRef()) && nestsDeeper(text->getBuffer(), mostNesting))
    return refuse("brackets nest deeper than " + Twine(mostNesting) +
                  " levels, which no parser's stack is made for");
  return text;
}

/// The problem of a function. Where dQ has items of its own, there are two, which differ in nothing
/// but tiles, the side that items own, and whether those of kv have chains. Null where there is
/// none, or several others.
static ProblemAttr problemOf(func::FuncOp function) {
  auto several = function->getAttrOfType<ArrayAttr>(problemAttr);
  if (!several)
    return function->getAttrOfType<ProblemAttr>(problemAttr);
  auto first = several.empty() ? ProblemAttr() : dyn_cast<ProblemAttr>(several[0]);
  auto second = several.size() == 2 ? dyn_cast<ProblemAttr>(several[1]) : ProblemAttr();
  if (!first || !second || first.getOwn() == second.getOwn())
    return {};
  auto asFirst =
      ProblemAttr::get(first.getContext(), first.getTiles(), second.getMask(), second.getHeads(),
                       second.getKvHeads(), second.getHeadDim(), second.getHeadDimV(),
                       second.getSequences(), first.getOwn(), first.getChains(), first.getCut());
  return asFirst == first ? first : ProblemAttr();
}

FailureOr<Program> dash_run::loadProgram(MLIRContext &context, StringRef path, StringRef name,
                                         bool contributions) {
  Program program;
  llvm::SourceMgr sources;
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> text = readSource(context, path);
  if (failed(text))
    return failure();
  sources.AddNewSourceBuffer(std::move(*text), SMLoc());
  program.module = parseSourceFile<ModuleOp>(sources, &context);
  if (!program.module)
    return failure();
  bool isLowered = !hasTiles(*program.module);
  if (!isLowered && failed(lowerToLoops(*program.module, contributions)))
    return failure();
  FailureOr<func::FuncOp> found = findFunction(*program.module, name);
  if (failed(found))
    return failure();
  func::FuncOp function = *found;
  ProblemAttr problem = problemOf(function);
  if (!problem)
    return function.emitError() << "expected one scheduled problem in @" << function.getName()
                                << ", found "
                                << (function->hasAttr(problemAttr) ? "several" : "none");
  if (function.isExternal())
    return function.emitError() << "expected a function with a body, found a declaration";
  if (function.getNumResults() != 0)
    return function.emitError() << "expected a function without results, found "
                                << function.getNumResults();
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
  if (contributions && !hasContributions && !isLowered)
    return function.emitError() << "has no contributions to dump: it sums nothing across items";
  if (contributions && !hasContributions)
    return function.emitError() << "has been lowered without contributions; use "
                                   "--dash-lower-to-loops=contributions=true";
  if (failed(checkArguments(function, program)))
    return failure();
  FailureOr<OwningOpRef<ModuleOp>> own = isolate(function);
  if (failed(own))
    return failure();
  program.module = std::move(*own);
  return program;
}
