//===- PipelineOps.cpp - roles and channels -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

#define GET_TYPEDEF_CLASSES
#include "dash/IR/DashTypes.cpp.inc"

void DashDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dash/IR/DashTypes.cpp.inc"
      >();
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<Type> tiles) {
  for (Type tile : tiles) {
    auto tensor = dyn_cast<RankedTensorType>(tile);
    if (!tensor || !tensor.hasStaticShape())
      return emitError() << "a slot holds ranked tensors of static shape, got " << tile;
  }
  return success();
}

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

LogicalResult WorkersOp::verify() { return success(); }

LogicalResult ChannelOp::verify() {
  if (getDepth() < 1)
    return emitOpError() << "depth must be at least 1, got " << getDepth();
  return success();
}

LogicalResult RoleOp::verify() {
  if (getWarps() < 1)
    return emitOpError() << "warps must be at least 1, got " << getWarps();
  return success();
}

static LogicalResult verifyTiles(Operation *op, TypeRange tiles, ChannelType channel) {
  if (llvm::equal(tiles, channel.getTiles()))
    return success();
  return op->emitOpError() << "tiles must be those of a slot of " << channel << ", got " << tiles;
}

LogicalResult PutOp::verify() {
  return verifyTiles(*this, getTiles().getTypes(), getChannel().getType());
}

LogicalResult GetOp::verify() {
  return verifyTiles(*this, getTiles().getTypes(), getChannel().getType());
}
