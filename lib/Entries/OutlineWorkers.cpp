//===- OutlineWorkers.cpp - the entry of the main kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The workers move as they are into an entry, whose parameters a launcher knows by their names. What was memory
// of the function is known by a name, too: a tensor's descriptor, or a region of the workspace.
//
//===----------------------------------------------------------------------===//

#include "dash/Entries/Passes.h"
#include "dash/Entries/ProgramFacts.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dash {
#define GEN_PASS_DEF_OUTLINEWORKERS
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The name by which the kernel knows memory, or none. What the function allocates is delta, one number a row, and
/// sums, which have the name of the gradient that they are rounded to: --dash-check-kernels has seen to it.
static StringRef memoryName(Value memory) {
  if (!memory.getDefiningOp<memref::AllocOp>())
    return nameOfArgument(memory);
  if (cast<MemRefType>(memory.getType()).getRank() == 3)
    return "delta";
  for (Operation *user : memory.getUsers())
    if (auto convert = dyn_cast<ConvertOp>(user); convert && convert.getSource() == memory)
      return nameOfArgument(convert.getTarget());
  return {};
}

static LogicalResult checkName(Operation *op, Value memory, ArrayRef<StringRef> expected) {
  StringRef name = memoryName(memory);
  if (llvm::is_contained(expected, name))
    return success();
  InFlightDiagnostic diagnostic = op->emitError() << "kernels cover '"
                                                  << llvm::join(expected, "', '") << "' here, got ";
  if (!name.empty())
    return diagnostic << "'" << name << "'";
  return memory.getDefiningOp<memref::AllocOp>()
             ? diagnostic << "sums that no 'dash.convert' rounds"
             : diagnostic << "memory without a name; run --dash-outline-program first";
}

static LogicalResult checkNames(Operation *op, bool hasParts) {
  for (const SlotAccess &copy : copiesOf(op)) {
    Value tensor = copy.memory.tensor;
    bool isOfRows = cast<MemRefType>(tensor.getType()).getRank() == 3;
    if (failed(copy.kind == AccessKind::Read ? checkName(op, tensor, {"dk", "dv"})
               : isOfRows                    ? checkName(op, tensor, {"lse", "delta"})
                                             : checkName(op, tensor, {"q", "k", "v", "do"})))
      return failure();
  }
  for (const SumAccess &sum : sumAccessesOf(op))
    if (failed(checkName(op, sum.sum.tensor,
                         hasParts ? ArrayRef<StringRef>{"dq", "dk", "dv"}
                                  : ArrayRef<StringRef>{"dq"})))
      return failure();
  return success();
}

static LogicalResult checkPlan(WorkersOp workers) {
  constexpr StringLiteral planFirst = "; run --dash-plan-buffers first";
  if (!workers.getRegisters() || !workers.getSharedBytes())
    return workers.emitError() << "has no plan of registers and shared memory" << planFirst;
  for (ChannelOp channel : workers.getChannels()) {
    if (!channel.getOffsets() || !channel.getBarriers())
      return channel.emitError() << "has no place in shared memory" << planFirst;
    if (!channel.getArrivals())
      return channel.emitError() << "does not say how many arrive; run --dash-insert-waits first";
  }
  for (RoleOp role : workers.getRoles())
    if (!role.getRegisters())
      return role.emitError() << "has no registers" << planFirst;
  return success();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// The gradients that the kernel sums in memory.
static ArrayRef<StringRef> summedGradients(const ProgramFacts &facts) {
  static const StringRef all[] = {"dq", "dk", "dv"};
  return ArrayRef(all).take_front(facts.parts > 1 ? 3 : 1);
}

/// Regions with a slot for each contribution that is kept beside the sums; those that are kept apart have theirs.
static void addContributions(const Kernels &kernels) {
  Operation *module = kernels.module;
  for (StringRef gradient : summedGradients(kernels.facts)) {
    if (kernels.facts.isApart(gradient))
      continue;
    auto program = module->getAttrOfType<ProgramAttr>(programAttr);
    FactsAttr facts = program.getFacts();
    auto region = RegionAttr::get(
        module->getContext(), contributionsRegion(gradient),
        contributionsBytes(gradient, facts.getTiles(), facts.getHeadDim(), facts.getParts()),
        /*alignment=*/128, RegionBefore::Any, RegionAfter::Any);
    module->setAttr(programAttr, program.withRegion(region));
  }
}

static EntryBuilder makeEntry(WorkersOp workers, const Kernels &kernels, bool drawsTickets,
                              bool keepsContributions) {
  EntryLaunch launch;
  launch.role = EntryRole::Main;
  launch.grid[0] = "workers";
  launch.threads = workers.getNumWarps() * threadsOfWarp;
  launch.sharedBytes = *workers.getSharedBytes();
  launch.cooperative = kernels.facts.minWorkers > 1 && !drawsTickets;
  ParameterList parameters;
  auto addSums = [&](StringRef gradient) {
    bool isApart = kernels.facts.isApart(gradient);
    parameters.workspace(isApart ? contributionsRegion(gradient) : sumsRegion(gradient))
        .workspace(turnsRegion(gradient));
  };
  for (StringRef region : {"descriptors", "lse2", "delta"})
    parameters.workspace(region);
  addSums("dq");
  parameters.workspace("order");
  for (StringRef gradient : summedGradients(kernels.facts).drop_front())
    addSums(gradient);
  parameters.sizes({"heads", "q_rows", "kv_rows"});
  if (kernels.facts.parts > 1)
    parameters.sizes({"kv_heads"});
  if (kernels.facts.isList)
    parameters.sizes({"q_tiles"});
  auto function = workers->getParentOfType<FunctionOpInterface>();
  if (llvm::any_of(function.getArguments(),
                   [](Value argument) { return nameOfArgument(argument) == "scale"; }))
    parameters.scale();
  if (keepsContributions)
    for (StringRef gradient : summedGradients(kernels.facts))
      if (!kernels.facts.isApart(gradient))
        parameters.workspace(contributionsRegion(gradient));
  if (drawsTickets)
    parameters.workspace("tickets");
  return EntryBuilder(workers.getLoc(), kernels.module, kernels.facts.name + "_main", launch,
                      parameters);
}

/// Whether an entry has something in place of a value of the function.
static bool isKnownInside(Value outside) {
  if (isa<MemRefType>(outside.getType()))
    return symbolizeKernelTensor(memoryName(outside)).has_value();
  return matchPattern(outside, m_Constant()) || nameOfArgument(outside) == "scale";
}

/// What the entry has in place of a value that is known inside.
static Value insideOf(EntryBuilder &b, Value outside) {
  if (isa<MemRefType>(outside.getType()))
    return TensorOp::create(b, outside.getType(), *symbolizeKernelTensor(memoryName(outside)));
  if (matchPattern(outside, m_Constant()))
    return b.clone(*outside.getDefiningOp())->getResult(0);
  return b.parameter("scale");
}

static LogicalResult outline(WorkersOp workers) {
  FailureOr<Kernels> kernels = findKernels(workers);
  if (failed(kernels))
    return failure();
  if (failed(checkPlan(workers)))
    return failure();
  bool keepsContributions = false;
  WalkResult result = workers.walk([&](Operation *op) {
    for (const SumAccess &sum : sumAccessesOf(op))
      keepsContributions |=
          sum.action == SumAction::Keep && !kernels->facts.isApart(memoryName(sum.sum.tensor));
    return failed(checkNames(op, kernels->facts.parts > 1)) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(workers.getBody(), outside);
  for (Value value : outside)
    if (!isKnownInside(value))
      return workers.emitError() << "uses a value of the function that is neither a tensor that "
                                    "kernels know, a constant nor the scale, of type "
                                 << value.getType();

  if (keepsContributions)
    addContributions(*kernels);
  auto program = kernels->module->getAttrOfType<ProgramAttr>(programAttr);
  bool drawsTickets = llvm::any_of(program.getWorkspace(),
                                   [](RegionAttr region) { return region.getName() == "tickets"; });
  EntryBuilder b = makeEntry(workers, *kernels, drawsTickets, keepsContributions);
  for (Value value : outside)
    replaceAllUsesInRegionWith(value, insideOf(b, value), workers.getBody());
  if (kernels->facts.overlapsRounding)
    hopper::letNextLaunchBegin(b);
  workers->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  b.finish();
  return success();
}

namespace {

struct OutlineWorkers : public dash::impl::OutlineWorkersBase<OutlineWorkers> {
  using OutlineWorkersBase::OutlineWorkersBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp op) {
      if (!isa<LLVM::LLVMFuncOp>(op->getParentOp()))
        found.push_back(op);
    });
    for (WorkersOp workers : found) {
      if (failed(outline(workers)))
        return signalPassFailure();
      ++numOutlined;
    }
  }
};

} // namespace
