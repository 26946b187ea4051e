//===- LowerOrder.cpp - the entry that evaluates formulas -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block is one worker. It visits all items, and counts those of the workers before it: this is
// where its list begins. Then it writes its own items in issue order. So no block waits for
// another. Lines of visits belong to no worker; all threads of the grid share them.
//
//===----------------------------------------------------------------------===//

#include "Order/OrderBuilder.h"
#include "dash/Entries/Passes.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERORDER
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct LowerOrder : public dash::impl::LowerOrderBase<LowerOrder> {
  using LowerOrderBase::LowerOrderBase;

  void runOnOperation() override {
    SmallVector<Operation *> modules;
    getOperation()->walk([&](Operation *op) {
      if (op->hasAttrOfType<FormulasAttr>(formulasAttr))
        modules.push_back(op);
    });
    for (Operation *module : modules) {
      FailureOr<Kernels> kernels = readKernels(module);
      if (failed(kernels))
        return signalPassFailure();
      auto formulas = module->getAttrOfType<FormulasAttr>(formulasAttr);
      if (kernels->isList())
        buildOrderOfList(*kernels, formulas);
      else
        OrderBuilder(*kernels, formulas).build();
      ++numLowered;
    }
  }
};

} // namespace
