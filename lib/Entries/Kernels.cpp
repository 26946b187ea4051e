//===- Kernels.cpp - a module of kernels ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/Kernels.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/PtxName.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dash;

bool Kernels::handsOut() const {
  return llvm::any_of(program.getWorkspace(),
                      [](RegionAttr region) { return region.getName() == drawnRegion; });
}

std::string Kernels::entryName(EntryRole role) const {
  return (ptxNameOf(program.getName()) + "_" + stringifyEntryRole(role)).str();
}

FailureOr<Kernels> dash::readKernels(Operation *module) {
  auto program = module->getAttrOfType<ProgramAttr>(programAttr);
  if (!program)
    return module->emitError() << "does not say which program its kernels are of ('" << programAttr
                               << "'); run --dash-outline-program to make it";
  FactsAttr facts = program.getFacts();
  KernelCase one{facts.getHeadDim(), facts.getHeadDimV(), facts.getTiles(), facts.getOwn(),
                 program.getSummed().empty()};
  if (failed(verifyCovered(one, [&] { return module->emitError(); })))
    return failure();
  return Kernels{module, program};
}

FailureOr<Kernels> dash::findKernels(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  Operation *module = nullptr;
  if (function)
    if (Operation *table = SymbolTable::getNearestSymbolTable(function))
      module = SymbolTable::lookupSymbolIn(table, (function.getName() + kernelsSuffix).str());
  if (!module)
    return op->emitError() << "has no kernels to be part of; run --dash-outline-program first";
  return readKernels(module);
}
