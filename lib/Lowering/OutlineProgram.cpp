//===- OutlineProgram.cpp - a module for the kernels of a program ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckProgram.h"
#include "DescribeProgram.h"
#include "OrderBuffer.h"
#include "dash/IR/Arguments.h"
#include "dash/Lowering/Passes.h"
#include "dash/Lowering/ProgramAttrs.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_OUTLINEPROGRAM
#include "dash/Lowering/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct OutlineProgram : public dash::impl::OutlineProgramBase<OutlineProgram> {
  using OutlineProgramBase::OutlineProgramBase;

  void runOnOperation() override {
    SmallVector<ScheduledOp> found;
    if (failed(collect(found)))
      return signalPassFailure();
    if (found.empty())
      getOperation()->emitWarning() << "no scheduled 'dash.items' to make kernels of; run "
                                       "--dash-tile and --dash-apply-schedule first";
    if (failed(checkFunctions(found)))
      return signalPassFailure();
    SymbolTableCollection symbols;
    for (const ScheduledOp &scheduled : found) {
      auto function = scheduled.op->getParentOfType<FunctionOpInterface>();
      if (failed(outline(function, scheduled, symbols)))
        return signalPassFailure();
      ++numOutlined;
    }
  }

private:
  LogicalResult collect(SmallVectorImpl<ScheduledOp> &found) {
    WalkResult result = getOperation()->walk([&](Operation *op) {
      auto items = dyn_cast<ItemsOp>(op);
      if (isa<AttentionBwdOp>(op) || (items && !items.isScheduled())) {
        op->emitError() << "has no order to make kernels of; run "
                        << (items ? "" : "--dash-tile and ") << "--dash-apply-schedule first";
        return WalkResult::interrupt();
      }
      if (std::optional<ScheduledOp> scheduled = asScheduled(op))
        found.push_back(std::move(*scheduled));
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult checkFunctions(ArrayRef<ScheduledOp> found) {
    Operation *last = nullptr;
    for (const ScheduledOp &scheduled : found) {
      auto function = scheduled.op->getParentOfType<FunctionOpInterface>();
      if (!function)
        return scheduled.op->emitError()
               << "kernels are made of functions, and this stands in none";
      if (function == last)
        return scheduled.op->emitError()
               << "kernels cover one problem a function, and this is the second";
      last = function;
    }
    return success();
  }

  LogicalResult outline(FunctionOpInterface function, const ScheduledOp &scheduled,
                        SymbolTableCollection &symbols) {
    auto order = symbols.lookupNearestSymbolFrom<ScheduleOp>(scheduled.op, scheduled.order);
    if (isa<TableAttr>(order.getOrder()) &&
        failed(verifyBufferFits(toProblem(order.getProblem()), order.getWorkers(),
                                [&] { return scheduled.op->emitError(); })))
      return failure();
    const auto &proven = getChildAnalysis<ProvenSchedule>(order);
    if (!proven.isValid())
      return failure();
    const Schedule &schedule = proven.getSchedule();
    FailureOr<ProgramTensors> tensors = checkProgram(function, scheduled, schedule);
    if (failed(tensors))
      return failure();
    std::string name = (function.getName() + kernelsSuffix).str();
    SymbolTable &table = symbols.getSymbolTable(SymbolTable::getNearestSymbolTable(function));
    if (table.lookup(name))
      return function.emitError() << "its kernels would be called '@" << name
                                  << "', which is taken";

    OpBuilder b(&getContext());
    auto kernels = gpu::GPUModuleOp::create(b, function.getLoc(), name);
    int64_t numOrderWords = 0;
    if (schedule.isTable()) {
      std::vector<int32_t> words = encodeOrder(schedule);
      numOrderWords = words.size();
      auto type = RankedTensorType::get(numOrderWords, b.getI32Type());
      kernels->setAttr(orderBufferAttr, DenseElementsAttr::get(type, ArrayRef<int32_t>(words)));
    } else {
      kernels->setAttr(formulasAttr, order.getOrder());
    }
    kernels->setAttr(programAttr, describeProgram(function.getName(), *tensors, schedule,
                                                  proven.getFacts(), numOrderWords));
    table.insert(kernels, std::next(Block::iterator(function)));
    nameArguments(function, *tensors);
    return success();
  }

  void nameArguments(FunctionOpInterface function, const ProgramTensors &tensors) {
    Builder b(&getContext());
    for (auto [role, argument] : llvm::zip_equal(tensorRoles(), tensors.tensors))
      function.setArgAttr(argument.getArgNumber(), argumentNameAttr, b.getStringAttr(role.name));
    if (tensors.scale)
      function.setArgAttr(tensors.scale.getArgNumber(), argumentNameAttr, b.getStringAttr("scale"));
  }
};

} // namespace
