//===- OutlineProgram.cpp - a module for the kernels of a program ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProgram.h"
#include "dash/Entries/OrderTable.h"
#include "dash/Entries/Passes.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/PartCut.h"
#include "dash/IR/RunsAttr.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

namespace mlir::dash {
#define GEN_PASS_DEF_OUTLINEPROGRAM
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Each argument must have a role in the program.
static LogicalResult checkArguments(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments()) {
    TensorRoleAttr role = roleOf(argument);
    if (role && role.fits(argument.getType()))
      continue;
    auto error = function.emitError() << "expected argument " << argument.getArgNumber()
                                      << " to have a '#dash.tensor_role' ('" << tensorAttr
                                      << "') of its type, " << argument.getType() << ", found ";
    if (role)
      error << role;
    else
      error << "none";
    return error << "; run --dash-tile to put it there";
  }
  return success();
}

namespace {

struct OutlineProgram : public dash::impl::OutlineProgramBase<OutlineProgram> {
  using OutlineProgramBase::OutlineProgramBase;

  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<WorkersOp, 1>> found; // by function
    getOperation()->walk(
        [&](WorkersOp op) { found[op->getParentOfType<FunctionOpInterface>()].push_back(op); });
    if (found.empty())
      getOperation()->emitWarning() << "no 'dash.workers' to make kernels of; run "
                                       "--dash-assign-roles first";
    SymbolTableCollection symbols;
    for (auto &[function, workers] : found) {
      if (failed(outline(workers, symbols)))
        return signalPassFailure();
      ++numOutlined;
    }
  }

private:
  /// All workers of a function have the same order.
  LogicalResult outline(ArrayRef<WorkersOp> all, SymbolTableCollection &symbols) {
    WorkersOp workers = all.front();
    auto function = workers->getParentOfType<FunctionOpInterface>();
    if (!function)
      return workers.emitError() << "kernels are made of functions, and this stands in none";
    // All roles run the same items.
    ItemsOp items = (*workers.getRoles().begin()).getItems();
    auto schedule = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
    if (failed(verifyProven(schedule, [&] { return workers.emitError(); })))
      return failure();
    std::vector<int32_t> words;
    if (schedule.getTable()) {
      FailureOr<std::vector<int32_t>> encoded = encodeOrder(
          schedule, bool(items.getSequencesAttr()), [&] { return workers.emitError(); });
      if (failed(encoded))
        return failure();
      words = std::move(*encoded);
    }
    if (failed(checkArguments(function)))
      return failure();
    if (function.getName().empty() || !llvm::json::isUTF8(function.getName()))
      return function.emitError() << "its kernels need a name to stand in a manifest: give the "
                                     "function one, in UTF-8";
    std::string name = (function.getName() + kernelsSuffix).str();
    SymbolTable &table = symbols.getSymbolTable(SymbolTable::getNearestSymbolTable(function));
    if (table.lookup(name))
      return function.emitError() << "its kernels would be called '@" << name
                                  << "', which is taken";

    OpBuilder b(&getContext());
    auto kernels = gpu::GPUModuleOp::create(b, function.getLoc(), name);
    kernels->setAttr(programAttr, describeProgram(all, schedule, words.size(), tickets));
    if (schedule.getTable()) {
      auto type = RankedTensorType::get(words.size(), b.getI32Type());
      kernels->setAttr(orderBufferAttr, DenseElementsAttr::get(type, ArrayRef<int32_t>(words)));
    } else {
      kernels->setAttr(formulasAttr, schedule.getFormulas());
      if (schedule.getDealAttr())
        kernels->setAttr(dealAttr, schedule.getDealAttr());
      if (PartCut(toProblem(schedule.getProblem()), schedule.getParts()).hasRuns())
        kernels->setAttr(runsAttr, b.getUnitAttr());
    }
    table.insert(kernels, std::next(Block::iterator(function)));
    return success();
  }
};

} // namespace
