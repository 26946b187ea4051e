//===- Prepared.cpp - what the entry before the main kernel prepares ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prepared.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dash;

FailureOr<Prepared> dash::findPrepared(Operation *op, const Kernels &kernels) {
  ProgramAttr program = kernels.program;
  Prepared what;
  what.tasks = program.findTensor(TensorKind::Tasks);
  if (what.tasks && !what.tasks.isWritten()) {
    what.tasks = nullptr;
    return what;
  }
  what.lse = program.findTensor(TensorKind::LogRow);
  what.sink = program.findTensor(TensorKind::Head);
  what.summed = program.getSummed();
  auto ofQueries =
      llvm::find_if(what.summed, [](TensorRoleAttr sums) { return !sums.isKeyValue(); });
  auto delta = dyn_cast<DeltaOp>(op);
  what.delta = delta ? delta.getRole() : program.findTensor(TensorKind::Row);
  if (!what.lse || !what.delta)
    return kernels.module->emitError()
           << "expected 'tensors' of '" << programAttr << "' with "
           << (!what.lse ? "a log_row" : "a row") << "; run --dash-outline-program to make it";
  if (ofQueries != what.summed.end())
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

static FailureOr<bool> addsSumsOfQueries(FunctionOpInterface function) {
  FailureOr<Kernels> kernels = findKernels(&function.getFunctionBody().front().front());
  if (failed(kernels))
    return failure();
  return llvm::any_of(kernels->program.getSummed(),
                      [](TensorRoleAttr sums) { return !sums.isKeyValue(); });
}

/// Whether the function reads a tensor of a kind.
static bool takes(FunctionOpInterface function, TensorKind kind) {
  return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
    TensorRoleAttr role = roleOf(argument);
    return role && role.getKind() == kind && !role.isWritten();
  });
}

FailureOr<Operation *> dash::findPreparing(FunctionOpInterface function) {
  Operation *zeros = nullptr, *delta = nullptr;
  function.walk([&](linalg::FillOp op) { zeros = op; });
  function.walk([&](DeltaOp op) { delta = op; });
  if (delta || !(takes(function, TensorKind::Row) || takes(function, TensorKind::Tasks)))
    return delta;
  FailureOr<bool> addsSums = addsSumsOfQueries(function);
  if (failed(addsSums))
    return failure();
  if (*addsSums && !zeros)
    return function.emitError("takes delta, but there is no 'linalg.fill' of the sums of dQ to "
                              "make the entry of; run --dash-outline-program on what dash-tile "
                              "makes");
  return zeros ? zeros : function.getFunctionBody().front().getTerminator();
}
