//===- CheckProgram.cpp - what kernels need of a program ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckProgram.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dash;

std::optional<ScheduledOp> dash::asScheduled(Operation *op) {
  auto items = dyn_cast<ItemsOp>(op);
  if (!items || !items.isScheduled())
    return std::nullopt;
  return ScheduledOp{op, items.getOrderAttr(), items.getSequencesAttr(), items.getQ(),
                     nameTensors(items)};
}

ArrayRef<TensorRole> dash::tensorRoles() {
  static constexpr TensorRole roles[] = {
      {"q", false, false, false},  {"k", false, true, false},  {"v", false, true, false},
      {"do", false, false, false}, {"o", false, false, false}, {"lse", false, false, true},
      {"dq", true, false, false},  {"dk", true, true, false},  {"dv", true, true, false}};
  return roles;
}

namespace {

class ProgramChecker {
public:
  ProgramChecker(FunctionOpInterface function, const ScheduledOp &scheduled,
                 const Schedule &schedule)
      : function(function), scheduled(scheduled), schedule(schedule) {}

  FailureOr<ProgramTensors> run() {
    if (failed(checkProblem()) || failed(checkSums()) || failed(checkFactors()) ||
        failed(findTensors()) || failed(checkMemory()))
      return failure();
    return std::move(found);
  }

private:
  InFlightDiagnostic emitError() { return scheduled.op->emitError(); }

  LogicalResult checkProblem() {
    const Problem &problem = schedule.problem;
    Type element = cast<MemRefType>(scheduled.q.getType()).getElementType();
    if (!element.isBF16())
      return emitError() << "kernels cover elements of type 'bf16', got " << element;
    if ((problem.headDim != 64 && problem.headDim != 128) || problem.headDimV != problem.headDim)
      return emitError() << "kernels cover head dims 64 and 128, the same for q and v, got "
                         << problem.headDim << " and " << problem.headDimV;
    if (!problem.mask.isFull() && !problem.mask.isCausal())
      return emitError() << "kernels cover the masks full and causal, got "
                         << cast<ItemsOp>(scheduled.op).getMask();
    if ((problem.tiles.q != 64 && problem.tiles.q != 128) || problem.tiles.kv != 128)
      return emitError() << "kernels cover q tiles of 64 and 128 rows and kv tiles of 128, got "
                         << problem.tiles.q << " and " << problem.tiles.kv;
    if (schedule.parts != 1)
      return emitError() << "kernels cover one part a kv head, got parts(" << schedule.parts << ")";
    if (scheduled.sequences)
      return emitError() << "kernels cover batches of equal sequences, not 'sequences'";
    if (!schedule.isTable() && schedule.width > schedule.workers && dependsOnWidth()) {
      auto error = emitError() << "an order made for " << schedule.width
                               << " workers may need as many at sizes that are known at run time "
                                  "only, got "
                               << schedule.workers;
      error.attachNote() << "raise workers, lower for-workers (which changes the bits), or make a "
                            "table for stated sizes (form=table of --dash-apply-schedule)";
      return error;
    }
    if (function->getNumRegions() != 1 || !function.getResultTypes().empty())
      return function.emitError() << "kernels cover functions without results";
    return success();
  }

  /// Whether the order has waves, whose width is the workers that it is made for.
  bool dependsOnWidth() const {
    constexpr unsigned width = 4; // among the inputs of each formula: Formulas.h
    const auto &formulas = std::get<Formulas>(schedule.order());
    auto uses = [](AffineExpr expr) { return expr.isFunctionOfSymbol(width); };
    return llvm::any_of(
        llvm::concat<const FormulaPiece>(formulas.item, formulas.visit, formulas.turn),
        [&](const FormulaPiece &piece) {
          return llvm::any_of(piece.value.getResults(), uses) ||
                 (piece.hasCondition() && llvm::any_of(piece.condition.getConstraints(), uses));
        });
  }

  /// The name of an argument, seen as it is or with other stated sizes.
  StringRef nameOf(BlockArgument argument) {
    StringRef name = scheduled.names.lookup(argument);
    for (Operation *user : argument.getUsers())
      if (auto cast = dyn_cast<memref::CastOp>(user); cast && name.empty())
        name = scheduled.names.lookup(cast.getResult());
    return name;
  }

  LogicalResult findTensors() {
    llvm::StringMap<BlockArgument> arguments;
    BlockArgument unknown;
    for (BlockArgument argument : function.getArguments()) {
      StringRef name = nameOf(argument);
      bool isKnown = name == "scale" || llvm::any_of(tensorRoles(), [&](const TensorRole &role) {
                       return role.name == name;
                     });
      if (!isKnown || !arguments.try_emplace(name, argument).second)
        unknown = argument;
    }
    for (const TensorRole &role : tensorRoles()) {
      BlockArgument argument = arguments.lookup(role.name);
      if (!argument)
        return emitError() << "tensor '" << role.name
                           << "' must be an argument of the function that is no other tensor too";
      found.tensors.push_back(argument);
    }
    found.scale = arguments.lookup("scale");
    if (unknown)
      return function.emitError() << "kernels cover functions of tensors and a scale: argument "
                                  << unknown.getArgNumber() << " is none of the program's";
    return success();
  }

  LogicalResult checkMemory() {
    for (auto [role, argument] : llvm::zip_equal(tensorRoles(), found.tensors)) {
      auto type = cast<MemRefType>(argument.getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
        return function.emitError() << "the last dimension of '" << role.name
                                    << "' must have a stride of 1, got type " << type;
    }
    return success();
  }

  /// Delta and dQ's sums: memory of the function's own, which becomes the workspace's.
  LogicalResult checkSums() {
    DeltaOp delta;
    function.walk([&](DeltaOp op) { delta = op; });
    if (!delta || !delta.getDelta().getDefiningOp<memref::AllocOp>())
      return emitError() << "delta must be computed by 'dash.delta', in memory that the function "
                            "allocates";
    function.walk([&](ConvertOp op) { convert = op; });
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

  /// The factor on the scores is that on dQ and dK: entries share one parameter.
  LogicalResult checkFactors() {
    Value scale = convert.getScale();
    if (scale && !isa<BlockArgument>(scale) && !matchPattern(scale, m_Constant()))
      return convert.emitError() << "the scale must be an argument of the function or a constant";
    WalkResult result = function.walk([&](ProbabilityOp op) {
      if (op.getScale() == scale)
        return WalkResult::advance();
      op.emitError() << "must have the scale of 'dash.convert': kernels have one";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  FunctionOpInterface function;
  const ScheduledOp &scheduled;
  const Schedule &schedule;
  ProgramTensors found;
  ConvertOp convert;
};

} // namespace

FailureOr<ProgramTensors> dash::checkProgram(FunctionOpInterface function,
                                             const ScheduledOp &scheduled,
                                             const Schedule &schedule) {
  return ProgramChecker(function, scheduled, schedule).run();
}
