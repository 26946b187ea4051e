//===- CheckKernels.cpp - what kernels need from a program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CHECKKERNELS
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Checks one function with a scheduled problem, and the roles of its arguments.
class ProgramChecker {
public:
  ProgramChecker(FunctionOpInterface function, ItemsOp items, ScheduleOp schedule)
      : function(function), items(items), schedule(schedule) {}

  LogicalResult run() {
    if (failed(checkProblem()))
      return failure();
    if (isForward(items) ? failed(verifyForward(items))
                         : failed(checkSums()) || failed(checkFactors()))
      return failure();
    return failure(failed(checkArguments()) || failed(checkTensors()) || failed(checkMemory()));
  }

private:
  InFlightDiagnostic emitError() { return items.emitError(); }

  LogicalResult checkProblem() {
    ProblemAttr problem = schedule.getProblem();
    KernelCase one{problem.getHeadDim(), problem.getHeadDimV(), problem.getTiles(), items.getSide(),
                   isPart()};
    if (failed(verifyCovered(one, [&] { return emitError(); })))
      return failure();
    if (schedule.getParts() > 1 && !schedule.isOrdered())
      return emitError() << "kernels add parts in turns, and kind '" << schedule.getKind()
                         << "' gives none: order the problem with parts=1, or by another kind";
    if (schedule.getParts() > 1 && isApart())
      return emitError() << "kernels of a gradient apart cover 1 part, got " << schedule.getParts()
                         << ": order the problem with parts=1, or tile it with split=none";
    if (failed(checkList(items.getSequencesAttr())) || failed(verifyWidths(items)))
      return failure();
    if (schedule.getTable() && failed(checkSizes(problem)))
      return failure();
    if (FormulasAttr formulas = schedule.getFormulas();
        formulas && schedule.getWidth() > schedule.getWorkers() && formulas.dependsOn("width")) {
      auto error = emitError() << "an order made for " << schedule.getWidth()
                               << " workers may need as many at sizes that are known at run time "
                                  "only, got "
                               << schedule.getWorkers();
      error.attachNote() << "raise workers, lower for-workers (which changes the bits), or make a "
                            "table for stated sizes (form=table of --dash-apply-schedule)";
      return error;
    }
    if (failed(verifyProven(schedule, [&] { return emitError(); })))
      return failure();
    if (function->getNumRegions() != 1 || !function.getResultTypes().empty())
      return function.emitError() << "kernels cover functions without results";
    return success();
  }

  /// Whether the program has a part of the gradients: nothing of it is added in memory.
  bool isPart() { return !addsSums(function); }

  /// Whether the problem has other loops beside this one.
  bool isApart() {
    int64_t loops = 0;
    function.walk([&](ItemsOp) { ++loops; });
    return loops > 1;
  }

  /// Kernels of a list find lengths in a table, or get them when they run.
  LogicalResult checkList(SequencesAttr list) {
    if (!list)
      return success();
    if (items.getMask().getBlocks())
      return emitError() << "kernels cover bitmaps of batches of equal sequences, not of "
                            "'sequences'";
    if (schedule.getParts() > 1)
      return emitError() << "kernels cover parts of batches of equal sequences, not of "
                            "'sequences': order the problem with parts=1";
    if (list.isOpen() || schedule.getTable())
      return success();
    return emitError()
           << "kernels of stated 'sequences' take their order as a table (table=true of "
              "--dash-to-ptx, form=table of --dash-apply-schedule); for lengths that are "
              "known at run time, state 'sequences(<?>)'";
  }

  /// A table serves its own sizes only; types may leave them open.
  LogicalResult checkSizes(ProblemAttr problem) {
    SequencesAttr rows = problem.getSequences();
    bool isList = bool(items.getSequencesAttr());
    int64_t batch = rows.size();
    auto check = [&](int64_t heads, int64_t numRows, bool isKeyValue) {
      return verifySizes({batch, heads, numRows}, isKeyValue, [&] { return emitError(); });
    };
    int64_t qRows = isList ? rows.getTotalQ() : rows.getQ().front();
    int64_t kvRows = isList ? rows.getTotalKv() : rows.getKv().front();
    return failure(failed(check(problem.getHeads(), qRows, false)) ||
                   failed(check(problem.getKvHeads(), kvRows, true)));
  }

  /// Each argument is one tensor, or one number, of the program.
  LogicalResult checkArguments() {
    llvm::StringSet<> names;
    for (BlockArgument argument : function.getArguments()) {
      SmallVector<TensorRoleAttr> roles = rolesOf(argument);
      if (roles.size() > 1)
        return emitError() << "tensor '" << roles[1].getName()
                           << "' must be an argument of the function that is no other tensor too";
      if (roles.empty())
        return function.emitError()
               << "kernels cover functions of tensors and a scale: argument "
               << argument.getArgNumber() << " is none of the program's ('" << tensorAttr << "')";
      if (!roles.front().fits(argument.getType()))
        return function.emitError()
               << "argument " << argument.getArgNumber() << " is " << roles.front()
               << ", which its type cannot be, " << argument.getType();
      if (!names.insert(roles.front().getName()).second)
        return function.emitError() << "two arguments are '" << roles.front().getName()
                                    << "': kernels know tensors by their names";
    }
    return success();
  }

  /// Memory that is read and written is an argument, or the function's own memory, which becomes an
  /// argument.
  LogicalResult checkTensors() {
    llvm::SetVector<Value> outside;
    getUsedValuesDefinedAbove(items.getBody(), outside);
    outside.insert(items->operand_begin(), items->operand_end());
    function.walk([&](Operation *op) {
      if (isa<DeltaOp, SinkGradientOp, ConvertOp, CombineOp>(op))
        outside.insert(op->operand_begin(), op->operand_end());
    });
    for (Value value : outside)
      if (isa<MemRefType>(value.getType()) && !roleOf(value))
        return emitError() << "works on memory of type " << value.getType()
                           << " that has no '#dash.tensor_role': expected an argument with '"
                           << tensorAttr
                           << "', which --dash-tile puts there, or what 'dash.convert' "
                           << "rounds, or 'dash.combine' puts together, to one";
    return success();
  }

  LogicalResult checkMemory() {
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (type && (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1))
        return function.emitError() << "the last dimension of '" << roleOf(argument).getName()
                                    << "' must have a stride of 1, got type " << type;
    }
    return success();
  }

  /// Delta and dQ's sums are the function's own memory, which becomes workspace.
  LogicalResult checkSums() {
    DeltaOp delta;
    function.walk([&](DeltaOp op) { delta = op; });
    if (delta && !delta.getDelta().getDefiningOp<memref::AllocOp>())
      return emitError() << "delta must be computed by 'dash.delta' in memory that the function "
                            "allocates, or be an argument that nothing writes";
    if (failed(findConversions()))
      return failure();
    if (!convert && isPart())
      return verifyPart(items, schedule);
    Value sum = convert ? convert.getSource() : Value();
    if (!sum || !sum.getDefiningOp<memref::AllocOp>())
      return emitError() << "dq must be rounded by 'dash.convert', from sums that the function "
                            "allocates";
    for (Operation *user : sum.getUsers())
      if (auto fill = dyn_cast<linalg::FillOp>(user);
          fill && matchPattern(fill.getInputs().front(), m_AnyZeroFloat()))
        return success();
    return convert.emitError()
           << "sums that get no add must be zeros: expected a 'linalg.fill' of 0";
  }

  /// Finds the conversion of dQ and, with parts, those of dK and dV, whose sums are the function's
  /// own memory too.
  LogicalResult findConversions() {
    function.walk([&](ConvertOp op) {
      if (TensorRoleAttr role = roleOf(op.getTarget()); !role || !role.isKeyValue())
        convert = op;
      else
        ofKeys.push_back(op);
    });
    if (schedule.getParts() == 1)
      return success();
    for (BlockArgument argument : function.getArguments()) {
      TensorRoleAttr role = roleOf(argument);
      if (!role || !role.isWritten() || !role.isTile() || !role.isKeyValue())
        continue;
      auto *rounds =
          llvm::find_if(ofKeys, [&](ConvertOp op) { return roleOf(op.getTarget()) == role; });
      if (rounds == ofKeys.end() || !rounds->getSource().getDefiningOp<memref::AllocOp>())
        return emitError() << "with parts " << role.getName()
                           << " must be rounded by 'dash.convert', from sums that the function "
                              "allocates";
    }
    return success();
  }

  /// Scores, dQ and dK have the same factor: entries share one parameter.
  LogicalResult checkFactors() {
    if (!convert)
      return success();
    Value scale = convert.getScale();
    if (scale && !isa<BlockArgument>(scale) && !matchPattern(scale, m_Constant()))
      return convert.emitError() << "the scale must be an argument of the function or a constant";
    for (ConvertOp op : ofKeys)
      if (op.getScale() && op.getScale() != scale)
        return op.emitError()
               << "must have the scale of dq's 'dash.convert', or none: kernels have "
                  "one";
    WalkResult result = function.walk([&](Operation *op) {
      auto softcap = dyn_cast<SoftcapOp>(op);
      auto probability = dyn_cast<ProbabilityOp>(op);
      bool isCapped = probability && probability.getScores().getDefiningOp<SoftcapOp>();
      if (softcap ? softcap.getScale() == scale
                  : !probability || isCapped || probability.getScale() == scale)
        return WalkResult::advance();
      op->emitError() << "must have the scale of 'dash.convert': kernels have one";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  FunctionOpInterface function;
  ItemsOp items;
  ScheduleOp schedule;
  ConvertOp convert;             ///< for dQ
  SmallVector<ConvertOp> ofKeys; ///< for dK and dV, with parts
};

struct CheckKernels : public dash::impl::CheckKernelsBase<CheckKernels> {
  using CheckKernelsBase::CheckKernelsBase;

  void runOnOperation() override {
    SmallVector<ItemsOp> found;
    if (failed(collect(found)))
      return signalPassFailure();
    if (found.empty())
      getOperation()->emitWarning() << "no scheduled 'dash.items' to make kernels of; run "
                                       "--dash-tile and --dash-apply-schedule first";
    if (failed(verifyOneProblem(found)))
      return signalPassFailure();
    SymbolTableCollection symbols;
    for (ItemsOp items : found) {
      auto function = items->getParentOfType<FunctionOpInterface>();
      auto schedule = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
      if (failed(ProgramChecker(function, items, schedule).run()))
        return signalPassFailure();
      ++numCovered;
    }
  }

private:
  LogicalResult collect(SmallVectorImpl<ItemsOp> &found) {
    WalkResult result = getOperation()->walk([&](Operation *op) {
      auto items = dyn_cast<ItemsOp>(op);
      if (isa<AttentionOpInterface>(op) || (items && !items.isScheduled())) {
        op->emitError() << "has no order to make kernels of; run "
                        << (items ? "" : "--dash-tile and ") << "--dash-apply-schedule first";
        return WalkResult::interrupt();
      }
      if (items)
        found.push_back(items);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted() || !llvm::all_of(found, [](ItemsOp items) {
                     return succeeded(verifyIsKernel(items));
                   }));
  }
};

} // namespace
