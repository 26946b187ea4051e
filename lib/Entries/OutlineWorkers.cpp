//===- OutlineWorkers.cpp - the entry of the main kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves the workers unchanged into an entry. A launcher knows its parameters by name. The
// function's memory keeps its role inside: a tensor's descriptor, or a region of the workspace.
//
//===----------------------------------------------------------------------===//

#include "MemoryRoles.h"
#include "WorkersRegions.h"
#include "dash/Entries/Kernels.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dash {
#define GEN_PASS_DEF_OUTLINEWORKERS
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

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

/// Descriptors copy panels in the layout of slots.
static LogicalResult layOutMaps(Kernels &kernels, WorkersOp workers) {
  ProgramAttr program = kernels.program;
  SmallVector<TensorMapAttr> maps(program.getMaps());
  llvm::BitVector isLaidOut(maps.size());
  auto function = workers->getParentOfType<FunctionOpInterface>();
  WalkResult result = function->walk([&](Operation *op) {
    for (const SlotAccess &copy : copiesOf(op)) {
      SwizzledAttr layout = copy.getLayout();
      TensorRoleAttr role = roleOf(copy.memory.tensor);
      std::optional<int64_t> number = program.findMap(role);
      if (!layout || !number)
        continue;
      TensorMapAttr laidOut = maps[*number].withLayout(layout);
      if (isLaidOut[*number] && maps[*number] != laidOut) {
        op->emitError() << "copies " << describeRole(role) << " in panels of " << layout.getBytes()
                        << " bytes, and another op in panels of " << maps[*number].getBytes()
                        << ": one descriptor serves both, so lay out their slots alike";
        return WalkResult::interrupt();
      }
      maps[*number] = laidOut;
      isLaidOut.set(*number);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  kernels.program = program.withMaps(maps);
  kernels.module->setAttr(programAttr, kernels.program);
  return success();
}

static bool addsSums(WorkersOp workers) {
  return llvm::any_of(workers.getRoles(), [](RoleOp role) { return role.isReducer(); });
}

/// A main kernel that adds nothing is called after the results that it stores.
static std::string nameOfEntry(WorkersOp workers, const Kernels &kernels) {
  std::string name = kernels.entryName(EntryRole::Main);
  if (kernels.program.getSummed().empty()) // the only one
    return name;
  workers.walk([&](CopyOutOp copy) {
    std::string suffix = ("_" + roleOf(copy.getTarget()).getName()).str();
    if (!addsSums(workers) && !StringRef(name).ends_with(suffix))
      name += suffix;
  });
  return name;
}

static EntryBuilder makeEntry(WorkersOp workers, const Kernels &kernels, ArrayRef<Value> outside,
                              bool drawsTickets, bool keepsContributions) {
  ProgramAttr program = kernels.program;
  bool hasSums = addsSums(workers);
  EntryLaunch launch;
  launch.role = EntryRole::Main;
  launch.grid[0] = "workers";
  launch.threads = workers.getNumWarps() * threadsOfWarp;
  launch.sharedBytes = *workers.getSharedBytes();
  launch.cooperative = hasSums && kernels.facts().getMinWorkers() > 1 && !drawsTickets;
  ParameterList parameters;
  parameters.workspace("descriptors");
  auto addTensors = [&](TensorKind kind, llvm::function_ref<void(TensorRoleAttr)> add) {
    for (Value value : outside)
      if (TensorRoleAttr role = roleOf(value); role && role.getKind() == kind)
        add(role);
  };
  for (TensorKind kind : {TensorKind::LogRow, TensorKind::Row})
    addTensors(kind, [&](TensorRoleAttr role) {
      if (role.isWritten()) // by threads, where the caller has it
        parameters.tensor(role);
      else if (role.getAccess() == TensorAccess::Sum)
        parameters.workspace(piecesRegion(role));
      else
        parameters.workspace(rowsRegion(role));
    });
  addTensors(TensorKind::Tile, [&](TensorRoleAttr role) {
    if (role.isWritten() && role.getElement().isF32()) // by threads, as it is not rounded
      parameters.tensor(role);
    else if (program.getFacts().getCut() && role.getAccess() == TensorAccess::Sum)
      parameters.workspace(piecesRegion(role));
  });
  addTensors(TensorKind::Head, [&](TensorRoleAttr role) { parameters.pointer(role.getName()); });
  addTensors(TensorKind::Tasks, [&](TensorRoleAttr role) {
    parameters.pointer(role.getName()).stride(role, strideOfTasks);
  });
  auto addSums = [&](bool isKeyValue) {
    for (TensorRoleAttr sums : program.getSummed())
      if (hasSums && sums.isKeyValue() == isKeyValue)
        parameters.workspace(program.isApart(sums) ? contributionsRegion(sums) : sumsRegion(sums))
            .workspace(turnsRegion(sums));
  };
  addSums(/*isKeyValue=*/false);
  parameters.workspace("order");
  addSums(/*isKeyValue=*/true);
  parameters.sizes({"heads", "q_rows", "kv_rows"});
  if (program.getFacts().getCut())
    parameters.sizes({keyPieces});
  if (kernels.parts() > 1)
    parameters.sizes({"kv_heads"});
  if (kernels.isList())
    parameters.sizes({"q_tiles"});
  auto function = workers->getParentOfType<FunctionOpInterface>();
  for (Value argument : function.getArguments())
    if (TensorRoleAttr role = roleOf(argument); role && role.getKind() == TensorKind::Number)
      parameters.number(role.getName());
  if (keepsContributions)
    for (TensorRoleAttr sums : program.getSummed())
      if (!program.isApart(sums))
        parameters.workspace(contributionsRegion(sums));
  if (drawsTickets)
    parameters.workspace("tickets");
  if (workers.getHandsOut())
    parameters.workspace(drawnRegion);
  if (workers.getTrace())
    parameters.workspace("trace");
  return EntryBuilder(workers.getLoc(), kernels.module, nameOfEntry(workers, kernels), launch,
                      parameters);
}

/// Whether an entry has a replacement for a value of the function.
static bool isKnownInside(Value outside) {
  TensorRoleAttr role = roleOf(outside);
  return (role && role.fits(outside.getType())) || matchPattern(outside, m_Constant());
}

/// The entry's replacement for such a value.
static Value insideOf(EntryBuilder &b, Value outside) {
  if (matchPattern(outside, m_Constant()))
    return b.clone(*outside.getDefiningOp())->getResult(0);
  TensorRoleAttr role = roleOf(outside);
  if (role.getKind() == TensorKind::Number)
    return b.parameter(role.getName());
  return TensorOp::create(b, outside.getType(), role);
}

/// Whether contributions to the sums would be kept beside them.
static bool mayKeep(Value sums, ProgramAttr program) {
  TensorRoleAttr role = roleOf(sums);
  return role && role.getKind() != TensorKind::Tasks && !program.isApart(role);
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
          sum.action == SumAction::Keep && mayKeep(sum.sum.tensor, kernels->program);
    return failed(checkMemoryRoles(op, kernels->program)) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(workers.getBody(), outside);
  for (Value value : outside)
    if (!isKnownInside(value))
      return workers.emitError() << "uses a value of the function that is neither a tensor with a "
                                    "role, a number with one nor a constant, of type "
                                 << value.getType();

  if (failed(layOutMaps(*kernels, workers)))
    return failure();
  if (keepsContributions)
    addContributions(*kernels);
  if (workers.getTrace() && failed(addTrace(*kernels, workers)))
    return failure();
  bool drawsTickets = llvm::any_of(kernels->program.getWorkspace(),
                                   [](RegionAttr region) { return region.getName() == "tickets"; });
  EntryBuilder b =
      makeEntry(workers, *kernels, outside.getArrayRef(), drawsTickets, keepsContributions);
  for (Value value : outside)
    replaceAllUsesInRegionWith(value, insideOf(b, value), workers.getBody());
  if (kernels->facts().getOverlapsRounding() && addsSums(workers))
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
