//===- Prepared.cpp - what the entry before the main kernel prepares ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prepared.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

FailureOr<Prepared> dash::findPrepared(Operation *op, const Kernels &kernels) {
  ProgramAttr program = kernels.program;
  Prepared what;
  what.lse = program.findTensor(TensorKind::LogRow);
  what.sink = program.findTensor(TensorKind::Head);
  what.summed = program.getSummed();
  auto ofQueries =
      llvm::find_if(what.summed, [](TensorRoleAttr sums) { return !sums.isKeyValue(); });
  auto delta = dyn_cast<DeltaOp>(op);
  what.delta = delta ? delta.getRole() : program.findTensor(TensorKind::Row);
  if (!what.lse || !what.delta || ofQueries == what.summed.end())
    return kernels.module->emitError() << "expected 'tensors' of '" << programAttr << "' with "
                                       << (!what.lse     ? "a log_row"
                                           : !what.delta ? "a row"
                                                         : "a tile of queries that is written")
                                       << "; run --dash-outline-program to make it";
  what.ofQueries = *ofQueries;
  if (!delta)
    return what;
  what.factors = {roleOf(delta.getO()), roleOf(delta.getDOut())};
  if (!what.factors.o || !what.factors.gradient)
    return op->emitError()
           << "reads memory without a '#dash.tensor_role': expected arguments with '" << tensorAttr
           << "', as --dash-tile leaves them";
  return what;
}
