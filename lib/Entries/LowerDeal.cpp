//===- LowerDeal.cpp - the entry that deals items by work -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Order/DealRounds.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERDEAL
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct LowerDeal : public dash::impl::LowerDealBase<LowerDeal> {
  using LowerDealBase::LowerDealBase;

  void runOnOperation() override {
    SmallVector<Operation *> modules;
    getOperation()->walk([&](Operation *op) {
      if (op->hasAttrOfType<DealAttr>(dealAttr))
        modules.push_back(op);
    });
    for (Operation *module : modules) {
      FailureOr<Kernels> kernels = readKernels(module);
      if (failed(kernels) || failed(check(*kernels)))
        return signalPassFailure();
      buildDeal(*kernels, module->getAttrOfType<DealAttr>(dealAttr));
      ++numLowered;
    }
  }

private:
  static LogicalResult check(const Kernels &kernels) {
    if (int64_t workers = kernels.facts().getWorkers(); workers > DealAttr::maxWorkers)
      return kernels.module->emitError()
             << "deals items to at most " << DealAttr::maxWorkers << " workers, got " << workers;
    bool hasRegion = llvm::any_of(kernels.program.getWorkspace(), [](RegionAttr region) {
      return region.getName() == issueRegion;
    });
    if (hasRegion)
      return success();
    return kernels.module->emitError()
           << "deals items, but its workspace has no region '" << issueRegion
           << "' for them; run --dash-outline-program to make it";
  }
};

} // namespace
