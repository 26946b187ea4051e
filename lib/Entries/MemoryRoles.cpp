//===- MemoryRoles.cpp - the memory that ops of a main kernel use ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MemoryRoles.h"
#include "dash/IR/SlotAccess.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dash;

static LogicalResult checkRole(Operation *op, Value memory, StringRef expected,
                               llvm::function_ref<bool(TensorRoleAttr)> isRight) {
  TensorRoleAttr role = roleOf(memory);
  if (role && isRight(role))
    return success();
  auto error = op->emitError() << "expected " << expected << ", got ";
  if (role)
    return error << describeRole(role);
  return memory.getDefiningOp<memref::AllocOp>()
             ? error << "sums that no 'dash.convert' rounds to an argument with '" << tensorAttr
                     << "'"
             : error << "memory without a '#dash.tensor_role' ('" << tensorAttr
                     << "'); run --dash-tile to put it on arguments";
}

LogicalResult dash::checkMemoryRoles(Operation *op, ProgramAttr program) {
  auto hasMap = [&](TensorRoleAttr role) { return program.findMap(role).has_value(); };
  auto isOfTasks = [](TensorRoleAttr role) { return role.getKind() == TensorKind::Tasks; };
  for (const SlotAccess &copy : copiesOf(op)) {
    Value tensor = copy.memory.tensor;
    if (copy.memory.isOfTask()) {
      if (failed(checkRole(op, tensor, "tiles of tasks", isOfTasks)))
        return failure();
      continue;
    }
    bool isOfRows = cast<MemRefType>(tensor.getType()).getRank() == 3;
    if (failed(
            copy.kind == AccessKind::Read
                ? checkRole(op, tensor, "a tile that is written and has a descriptor",
                            [&](TensorRoleAttr role) { return role.isWritten() && hasMap(role); })
            : isOfRows ? checkRole(op, tensor, "one number a row",
                                   [](TensorRoleAttr role) { return role.isPerRow(); })
                       : checkRole(op, tensor, "a tile that has a descriptor", hasMap)))
      return failure();
  }
  auto isSummed = [&](TensorRoleAttr role) {
    return llvm::any_of(program.getSummed(),
                        [&](TensorRoleAttr tensor) { return tensor.getSums() == role; });
  };
  for (const SumAccess &sum : sumAccessesOf(op))
    if (failed(sum.sum.isOfTask() ? checkRole(op, sum.sum.tensor, "tiles of tasks", isOfTasks)
                                  : checkRole(op, sum.sum.tensor,
                                              "sums that kernels have a region for", isSummed)))
      return failure();
  return success();
}
