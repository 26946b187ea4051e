//===- LowerToLoops.cpp - scheduled programs as loops ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering for CPUs. Nothing here knows about warps, buffers or instructions, so it shows what
// a scheduled program means without them.
//
//===----------------------------------------------------------------------===//

#include "CombineLoops.h"
#include "LowerItems.h"
#include "OrderTables.h"
#include "TileLoops.h"
#include "dash/Cpu/Passes.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERTOLOOPS
#include "dash/Cpu/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Marks the arguments of the items' function with the sizes that the order was made for, for its
/// callers.
static void markArguments(ItemsOp items, const Schedule &schedule) {
  auto function = items->getParentOfType<FunctionOpInterface>();
  if (!function || function.isExternal())
    return;
  Builder builder(items.getContext());
  for (BlockArgument argument : function.getArguments())
    for (TensorRoleAttr role : rolesOf(argument))
      if (SmallVector<int64_t> shape =
              shapeOfTensor(role, schedule.problem, bool(items.getSequencesAttr()));
          !shape.empty())
        function.setArgAttr(argument.getArgNumber(), argumentShapeAttr,
                            builder.getDenseI64ArrayAttr(shape));
}

/// Fills sums that get no contribution with zeros. Handles only fills of numbers and of memory.
static void lowerFill(linalg::FillOp fill) {
  LoopBuilder b(fill.getLoc(), fill);
  Value target = fill.getOutputs().front(), number = fill.getInputs().front();
  auto type = dyn_cast<MemRefType>(target.getType());
  if (!type || type.getElementType() != number.getType())
    return;
  SmallVector<Value> at;
  std::function<void()> emit = [&] {
    if (int64_t(at.size()) == type.getRank())
      return b.store(number, target, at);
    b.forEach(b.dim(target, at.size()), [&](Value i) {
      at.push_back(i);
      emit();
      at.pop_back();
    });
  };
  emit();
  fill.erase();
}

/// A function has one problem, or several in an array.
static void addProblem(FunctionOpInterface function, ProblemAttr problem) {
  SmallVector<Attribute> problems;
  if (auto several = function->getAttrOfType<ArrayAttr>(problemAttr))
    llvm::append_range(problems, several);
  else if (Attribute first = function->getAttr(problemAttr))
    problems.push_back(first);
  problems.push_back(problem);
  function->setAttr(problemAttr, problems.size() == 1
                                     ? problems.front()
                                     : ArrayAttr::get(problem.getContext(), problems));
}

namespace {

struct LowerToLoops : public dash::impl::LowerToLoopsBase<LowerToLoops> {
  using LowerToLoopsBase::LowerToLoopsBase;

  void runOnOperation() override {
    SmallVector<ItemsOp> scheduled;
    if (failed(collect(scheduled)))
      return signalPassFailure();
    if (scheduled.empty())
      getOperation()->emitWarning() << "no scheduled 'dash.items' to lower; run --dash-tile and "
                                       "--dash-apply-schedule first";
    SymbolTableCollection symbols;
    known.clear();
    for (ItemsOp items : scheduled)
      if (failed(lower(items, symbols)))
        return signalPassFailure();
    if (failed(lowerWholeTensorOps()))
      return signalPassFailure();
    getOperation()->walk([](ScheduleOp op) { op.erase(); });
  }

private:
  LogicalResult collect(SmallVectorImpl<ItemsOp> &scheduled) {
    WalkResult result = getOperation()->walk([&](Operation *op) {
      auto items = dyn_cast<ItemsOp>(op);
      if (isa<AttentionOpInterface>(op) || (items && !items.isScheduled())) {
        op->emitError() << "has no order to lower; run " << (items ? "" : "--dash-tile and ")
                        << "--dash-apply-schedule first";
        return WalkResult::interrupt();
      }
      if (items)
        scheduled.push_back(items);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult lower(ItemsOp items, SymbolTableCollection &symbols) {
    auto op = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
    // Counted before the proof, which visits each slot.
    constexpr int64_t maxSlots = std::numeric_limits<int32_t>::max();
    if (int64_t tasks = toProblem(op.getProblem()).numTasks(); tasks > maxSlots)
      return items.emitError() << "loops can hold the contributions of at most " << maxSlots
                               << " tasks, got " << tasks;
    const auto &proven = getChildAnalysis<ProvenSchedule>(op);
    if (!proven.isValid())
      return failure();
    const Schedule &schedule = proven.getSchedule();
    auto function = items->getParentOfType<FunctionOpInterface>();
    if (contributions && function && !SymbolTable::symbolKnownUseEmpty(function, getOperation()))
      return function.emitError() << "has callers, which contributions=true would leave without an "
                                     "argument";
    markArguments(items, schedule);
    if (function) {
      if (known.insert({function.getOperation(), op}).second) // loops of one order are one problem
        addProblem(function, op.getProblem());
      function.walk([](linalg::FillOp fill) { lowerFill(fill); });
      items.walk([&](SoftcapOp op) { function->setAttr(softcapAttr, op.getCapAttr()); });
    }
    // Lengths that come with a launch are fixed here to those of the order.
    SinkGradientOp sink = findSinkGradient(items);
    if (sink && sink.getSequencesAttr())
      sink.setSequencesAttr(op.getProblem().getSequences());
    SymbolTable &table = symbols.getSymbolTable(SymbolTable::getNearestSymbolTable(items));
    FailureOr<int64_t> slots = lowerItems(items, schedule, table, {contributions});
    if (failed(slots))
      return failure();
    numSlots += *slots;
    ++numLowered;
    return success();
  }

  LogicalResult lowerWholeTensorOps() {
    WalkResult result = getOperation()->walk([](Operation *op) {
      LoopBuilder b(op->getLoc(), op);
      if (auto delta = dyn_cast<DeltaOp>(op))
        emitDelta(b, delta.getO(), delta.getDOut(), delta.getDelta());
      else if (auto gradient = dyn_cast<SinkGradientOp>(op))
        return lowerSinkGradient(b, gradient);
      else if (auto convert = dyn_cast<ConvertOp>(op))
        emitConvert(b, convert.getSource(), convert.getTarget(), convert.getScale());
      else if (auto combine = dyn_cast<CombineOp>(op))
        emitCombine(b, combine);
      else
        return WalkResult::advance();
      op->erase();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  static WalkResult lowerSinkGradient(LoopBuilder &b, SinkGradientOp op) {
    Value sequences;
    if (SequencesAttr list = op.getSequencesAttr()) {
      if (list.isOpen())
        return op.emitError() << "no scheduled 'dash.items' that read its delta state the lengths "
                                 "of its sequences: state them";
      NumberTable rows(/*columns=*/2);
      int64_t first = 0;
      for (int64_t count : list.getQ()) {
        rows.append({first, count});
        first += count;
      }
      SymbolTable symbols(SymbolTable::getNearestSymbolTable(op));
      Operation *before = op;
      while (before->getParentOp() != symbols.getOp())
        before = before->getParentOp();
      sequences = rows.emit(b, "dash_sink_sequences", symbols, before);
    }
    emitSinkGradient(b, op.getSink(), op.getLse(), op.getDelta(), op.getDsink(), sequences,
                     SinkGradientOp::rowsOfRun);
    op.erase();
    return WalkResult::advance();
  }

  llvm::DenseSet<std::pair<Operation *, Operation *>> known; ///< functions and orders of this run
};

} // namespace
