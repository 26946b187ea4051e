//===- CheckItems.cpp - what loops need from scheduled items --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckItems.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::verifyAdds(ItemsOp items) {
  llvm::DenseMap<Value, Operation *> adds; // looked up only
  WalkResult result = items.walk([&](Operation *op) {
    if (isa<ReduceOp>(op)) {
      op->emitError() << "adds in no order, which has no bits to reproduce; use a schedule whose "
                         "kind is not 'unordered'";
      return WalkResult::interrupt();
    }
    auto add = dyn_cast<OrderedReduceOp>(op);
    if (!add)
      return WalkResult::advance();
    if (items.getBody().isAncestor(add.getTarget().getParentRegion())) {
      add.emitError() << "must add to memory from outside of 'dash.items'";
      return WalkResult::interrupt();
    }
    auto [other, isFirst] = adds.try_emplace(add.getTarget(), add);
    if (!isFirst) {
      auto diagnostic = add.emitError() << "adds to memory that another op adds to: give each a "
                                           "sum of its own";
      diagnostic.attachNote(other->second->getLoc()) << "the other";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult emitShapeCheck(LoopBuilder &b, ItemsOp items, Value tensor, StringRef name,
                                    ArrayRef<int64_t> shape, bool isOfTasks) {
  static constexpr StringRef names[] = {"batch", "heads", "rows", "head dim"};
  static constexpr StringRef namesOfTasks[] = {"tiles", "numbers of a tile"};
  ArrayRef<StringRef> dims(names);
  if (isOfTasks)
    dims = namesOfTasks;
  else if (shape.size() == 1) // gradient of a sink
    dims = dims.drop_front();
  auto type = cast<MemRefType>(tensor.getType());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!type.isDynamicDim(dim)) {
      if (type.getDimSize(dim) != size)
        return items.emitError() << dims[dim] << " of '" << name << "' must be " << size
                                 << ", as in the problem that the order was made for, got "
                                 << type.getDimSize(dim);
      continue;
    }
    Value isRight =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, b.dim(tensor, dim), b.index(size));
    std::string text = llvm::formatv("{0} of '{1}' must be {2}, the size that this program was "
                                     "made for",
                                     dims[dim], name, size);
    cf::AssertOp::create(b, isRight, text);
  }
  return success();
}

LogicalResult dash::emitSizeChecks(LoopBuilder &b, ItemsOp items, const Problem &problem) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> tensors = {items.getQ(), items.getK(), items.getV()};
  auto function = items->getParentOfType<FunctionOpInterface>();
  if (function && items->getBlock() == &function.getFunctionBody().front()) {
    tensors.assign(function.getArguments().begin(), function.getArguments().end());
    b.setInsertionPointToStart(items->getBlock());
  }
  llvm::SmallPtrSet<void *, 16> seen; // looked up only
  for (Value tensor : tensors) {
    if (!seen.insert(tensor.getAsOpaquePointer()).second)
      continue;
    for (TensorRoleAttr role : rolesOf(tensor)) {
      if (!role.fits(tensor.getType()))
        return items.emitError() << "needs " << describeRole(role) << " to be as its role says, "
                                 << role << ", got type " << tensor.getType();
      SmallVector<int64_t> shape = shapeOfTensor(role, problem, bool(items.getSequencesAttr()));
      if (!shape.empty() && failed(emitShapeCheck(b, items, tensor, role.getName(), shape,
                                                  role.getKind() == TensorKind::Tasks)))
        return failure();
    }
  }
  return success();
}
