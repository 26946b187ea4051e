//===- FinishProgram.cpp - drop ops that kernels replace ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/Passes.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_FINISHPROGRAM
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Whether an op may be erased with its function: it has no effect, or allocates memory that is now
/// workspace.
static bool isScaffolding(Operation *op) {
  if (op->getName().getDialectNamespace() == DashDialect::getDialectNamespace())
    return false;
  return isa<memref::AllocOp, memref::DeallocOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
         isMemoryEffectFree(op);
}

namespace {

struct FinishProgram : public dash::impl::FinishProgramBase<FinishProgram> {
  using FinishProgramBase::FinishProgramBase;

  void runOnOperation() override {
    SmallVector<FunctionOpInterface> lowered;
    getOperation()->walk([&](Operation *op) {
      auto program = op->getAttrOfType<ProgramAttr>(programAttr);
      Operation *table = op->getParentOp();
      if (program && table && table->hasTrait<OpTrait::SymbolTable>())
        if (auto function = dyn_cast_if_present<FunctionOpInterface>(
                SymbolTable::lookupSymbolIn(table, program.getName())))
          lowered.push_back(function);
    });
    for (FunctionOpInterface function : lowered) {
      if (failed(checkLowered(function)))
        return signalPassFailure();
      function.erase();
      ++numFinished;
    }
    eraseUnusedSchedules();
  }

private:
  LogicalResult checkLowered(FunctionOpInterface function) {
    WalkResult result = function.getFunctionBody().walk([](Operation *op) {
      if (isScaffolding(op))
        return WalkResult::advance();
      op->emitError() << "was not lowered: no kernel does what it does";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
    if (!SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
      return function.emitError() << "has callers, but becomes kernels that a launcher starts";
    return success();
  }

  void eraseUnusedSchedules() {
    SmallVector<ScheduleOp> unused;
    getOperation()->walk([&](ScheduleOp op) {
      if (SymbolTable::symbolKnownUseEmpty(op, op->getParentOp()))
        unused.push_back(op);
    });
    for (ScheduleOp op : unused)
      op.erase();
  }
};

} // namespace
