//===- ConvertToNvvm.cpp - ops of roles as instructions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect conversion: one pattern for each op (Convert{Order,Slots,Tiles,Memory}.cpp), and types
// that become many values. It decides nothing: the ops already state the waits, the layouts and the
// slots.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/Consumers.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Main/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CONVERTTONVVM
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

template <typename AttrT> static AttrT encodingOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<AttrT>(tensor.getEncoding()) : AttrT();
}
FragmentAttr dash::fragmentOf(Type type) { return encodingOf<FragmentAttr>(type); }
SwizzledAttr dash::swizzledOf(Type type) { return encodingOf<SwizzledAttr>(type); }

namespace {

/// A tile in registers becomes its registers, one in shared memory its address.
struct TileTypeConverter : TypeConverter {
  TileTypeConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](CyclesType type) { return IntegerType::get(type.getContext(), 32); });
    addConversion(
        [](RankedTensorType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
          Builder b(type.getContext());
          if (FragmentAttr layout = fragmentOf(type)) {
            bool isPacked = layout.getKind() == FragmentKind::Operand;
            types.append(layout.getNumRegisters(type.getShape()),
                         isPacked ? Type(b.getI32Type()) : Type(b.getF32Type()));
            return success();
          }
          if (!swizzledOf(type))
            return failure();
          types.push_back(b.getI32Type());
          return success();
        });
  }
};

struct ConvertToNvvm : public dash::impl::ConvertToNvvmBase<ConvertToNvvm> {
  using ConvertToNvvmBase::ConvertToNvvmBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp op) { found.push_back(op); });
    for (WorkersOp workers : found) {
      if (failed(check(workers)) || failed(convert(workers)))
        return signalPassFailure();
      ++numConverted;
    }
  }

private:
  static LogicalResult check(WorkersOp workers) {
    if (!workers->getParentOp()->hasAttr(entryAttr))
      return workers.emitError() << "stands in no entry; run --dash-outline-workers first";
    for (RoleOp role : workers.getRoles())
      if (role.isConsumer() && !role.getWarpgroup())
        return role.emitError() << "is of several warpgroups; run --dash-split-warpgroups first";
    if (int64_t multiplying = getNumMultiplying(workers);
        barriersOfWarpgroup * multiplying > namedBarriers)
      return workers.emitError() << "has " << multiplying << " warpgroups that multiply, with "
                                 << barriersOfWarpgroup << " named barriers each, but a block has "
                                 << namedBarriers << ": fewer consumers, or fewer rows of tiles";
    WalkResult result = workers.walk([&](Operation *op) {
      if (auto trace = dyn_cast<TraceOp>(op); trace && trace.getEvent() == TraceEvent::Item &&
                                              workers.getTraceEvery() > 1 &&
                                              !isa<scf::IfOp>(op->getParentOp())) {
        op->emitError() << "is of every item, and its workers have 'trace_every' "
                        << workers.getTraceEvery() << "; run --dash-sample-trace first";
        return WalkResult::interrupt();
      }
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType()) && !operand.getDefiningOp<TensorOp>()) {
          op->emitError("works on memory that is no 'dash.tensor'; run --dash-outline-workers "
                        "first");
          return WalkResult::interrupt();
        }
      for (Type type : op->getResultTypes())
        if (isa<RankedTensorType>(type) && !fragmentOf(type) && !swizzledOf(type)) {
          op->emitError() << "gives a tile without a layout, " << type
                          << "; run --dash-distribute-tiles first";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted() || !llvm::all_of(workers.getRoles(), [](RoleOp role) {
                     return succeeded(checkScale(role));
                   }));
  }

  /// The factor on scores of an op that has one.
  static std::optional<Value> scaleOf(Operation *op) {
    return llvm::TypeSwitch<Operation *, std::optional<Value>>(op)
        .Case<LogProbabilityOp, RunningMaxOp, ExponentialOp>([](auto op) { return op.getScale(); })
        .Default(std::nullopt);
  }

  /// A consumer keeps one scale over its whole life.
  static LogicalResult checkScale(RoleOp role) {
    Operation *first = nullptr;
    WalkResult result = role.walk([&](Operation *op) {
      std::optional<Value> scale = scaleOf(op);
      if (!scale)
        return WalkResult::advance();
      first = first ? first : op;
      if (scale == scaleOf(first))
        return WalkResult::advance();
      auto diagnostic =
          op->emitError("has another scale than the logarithm before: a kernel has one "
                        "for all, a value in front of its workers");
      diagnostic.attachNote(first->getLoc()) << "the logarithm before";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Checks that tensors copied by descriptors have one, and that it copies panels in the layout of
  /// slots.
  static LogicalResult checkMaps(WorkersOp workers, ProgramAttr program) {
    WalkResult result = workers.walk([&](Operation *op) {
      for (const SlotAccess &copy : copiesOf(op)) {
        TensorRoleAttr role = roleOf(copy.memory.tensor);
        if (!hasDescriptor(copy.memory))
          continue;
        if (std::optional<int64_t> number = program.findMap(role)) {
          TensorMapAttr map = program.getMaps()[*number];
          SwizzledAttr layout = copy.getLayout();
          if (!layout || layout == map.getLayout())
            continue;
          op->emitError() << "copies " << describeRole(role) << " in panels of "
                          << layout.getBytes() << " bytes, and 'maps' of its kernels say "
                          << map.getBytes() << "; run --dash-outline-workers to make them agree";
          return WalkResult::interrupt();
        }
        op->emitError() << "copies " << describeRole(role)
                        << ", which 'maps' of its kernels do not have; run --dash-outline-program "
                           "to make them";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Names of the entry's parameters that ops read.
  static SmallVector<std::string> neededParameters(WorkersOp workers, const Kernels &kernels) {
    SmallVector<std::string> names{"heads", "q_rows", "kv_rows"};
    auto needRegion = [&](const Twine &name) { names.push_back(("workspace." + name).str()); };
    if (kernels.isList()) {
      names.push_back("q_tiles");
      needRegion("order");
    }
    auto needSums = [&](Value sums, std::string (*region)(TensorRoleAttr)) {
      TensorRoleAttr tensor = roleOf(sums);
      needRegion(region(tensor));
      if (tensor.isKeyValue())
        names.push_back("kv_heads");
    };
    workers.walk([&](Operation *op) {
      if (isa<NumItemsOp, ReadItemOp, ReadVisitOp, ReadPartOp>(op))
        needRegion("order");
      if (isa<DrawItemOp>(op))
        needRegion(drawnRegion);
      if (isa<TraceOp>(op))
        needRegion("trace");
      auto needTasks = [&](Value tasks) {
        std::string tensor = roleOf(tasks).getName().str();
        names.append({tensor, tensor + ".stride." + strideOfTasks.str()});
      };
      for (const SumAccess &one : sumAccessesOf(op))
        if (one.sum.isOfTask())
          needTasks(one.sum.tensor);
        else
          needSums(one.sum.tensor, one.action == SumAction::Keep ? &contributionsRegion
                                   : one.isContribution()        ? &sumsRegion
                                                                 : &turnsRegion);
      if (auto store = dyn_cast<StoreRowOp>(op)) {
        TensorRoleAttr role = roleOf(store.getTarget());
        std::string tensor = role.getName().str();
        if (role.getAccess() == TensorAccess::Sum) {
          needRegion(piecesRegion(role));
          names.push_back(keyPieces.str());
        } else {
          names.append({tensor, tensor + ".stride.batch", tensor + ".stride.head"});
          if (role.isTile())
            names.push_back(tensor + ".stride.row");
        }
      }
      if (auto sink = dyn_cast<SinkStateOp>(op))
        names.push_back(roleOf(sink.getSink()).getName().str());
      for (const SlotAccess &copy : copiesOf(op))
        if (copy.memory.isOfTask())
          needTasks(copy.memory.tensor);
        else
          needRegion(hasDescriptor(copy.memory) ? "descriptors"
                                                : rowsRegion(roleOf(copy.memory.tensor)));
    });
    return names;
  }

  static LogicalResult convert(WorkersOp workers) {
    Operation *entry = workers->getParentOp();
    FailureOr<Kernels> kernels = readKernels(entry->getParentOp());
    if (failed(kernels))
      return failure();
    if (failed(checkMaps(workers, kernels->program)))
      return failure();
    for (const std::string &name : neededParameters(workers, *kernels))
      if (!findParameter(entry, name))
        return workers.emitError() << "stands in an entry without the parameter '" << name
                                   << "'; run --dash-outline-workers first";
    MainKernel kernel(workers, *kernels);
    for (RoleOp role : workers.getRoles())
      kernel.enter(role);

    MLIRContext *context = workers.getContext();
    TileTypeConverter types;
    RewritePatternSet patterns(context);
    populateOrderPatterns(types, kernel, patterns);
    populateSlotPatterns(types, kernel, patterns);
    populateTilePatterns(types, kernel, patterns);
    populateSoftmaxPatterns(types, kernel, patterns);
    populateMemoryPatterns(types, kernel, patterns);
    populateTracePatterns(types, kernel, patterns);
    ConversionTarget target(*context);
    target.addLegalDialect("arith", "llvm", "nvvm", "scf");
    target.addIllegalDialect<DashDialect>();
    target.addLegalOp<WorkersOp, ChannelOp, RoleOp, WarpOfRoleOp>();
    target.addDynamicallyLegalOp<arith::ConstantOp>(
        [&](arith::ConstantOp op) { return types.isLegal(op.getType()); });
    scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns, target);
    ConversionConfig config;
    config.allowPatternRollback = false; // a failure is final, and MLIR 22 crashes as it undoes
    if (failed(applyFullConversion(workers, target, std::move(patterns), config)))
      return failure();
    for (auto tensor : llvm::make_early_inc_range(workers->getBlock()->getOps<TensorOp>()))
      if (tensor->use_empty())
        tensor.erase();
    return success();
  }
};

} // namespace
