//===- AsyncOps.cpp - ops of loops, waits and copies ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"

using namespace mlir;
using namespace mlir::dash;

static LogicalResult verifyElement(Operation *op, ChannelType channel, int64_t element) {
  int64_t last = int64_t(channel.getNumTiles()) - 1;
  if (element >= 0 && element <= last)
    return success();
  return op->emitOpError() << "element must be a tile of the slot, from 0 to " << last << ", got "
                           << element;
}

LogicalResult CopyInOp::verify() {
  return verifyElement(*this, getChannel().getType(), getElement());
}
LogicalResult CopyOutOp::verify() {
  return verifyElement(*this, getChannel().getType(), getElement());
}
LogicalResult SlotTileOp::verify() {
  return verifyElement(*this, getChannel().getType(), getElement());
}
LogicalResult LoadRowOp::verify() {
  return verifyElement(*this, getChannel().getType(), getElement());
}
LogicalResult LoadFactorOp::verify() {
  RankedTensorType tile = getTile().getType(), result = getType();
  if (tile.getShape() == result.getShape() && tile.getElementType() == result.getElementType())
    return success();
  return emitOpError() << "result must be the tile, " << formatShape(tile.getShape()) << " of "
                       << tile.getElementType() << ", got " << formatShape(result.getShape())
                       << " of " << result.getElementType();
}
LogicalResult StoreFragmentOp::verify() {
  return verifyElement(*this, getChannel().getType(), getElement());
}

LogicalResult MbarrierExpectOp::verify() {
  int64_t expected = getChannel().getType().getTilesBytes();
  if (int64_t(getBytes()) == expected)
    return success();
  return emitOpError() << "bytes must be " << expected << ", those of the tiles of a slot, got "
                       << getBytes();
}

static LogicalResult verifyIndices(Operation *op, ChannelType channel, size_t found) {
  if (found == channel.getNumIndices())
    return success();
  return op->emitOpError() << "a slot holds " << channel.getNumIndices() << " indices, got "
                           << found;
}

LogicalResult WriteIndicesOp::verify() {
  return verifyIndices(*this, getChannel().getType(), getIndices().size());
}
LogicalResult ReadIndicesOp::verify() {
  return verifyIndices(*this, getChannel().getType(), getIndices().size());
}

LogicalResult WgmmaWaitOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "pending must be at least 0, got " << int64_t(getPending());
  if (getInputs().getTypes() != getOutputs().getTypes())
    return emitOpError() << "results must have the types of the operands, "
                         << getInputs().getTypes() << ", got " << getOutputs().getTypes();
  return success();
}

LogicalResult LogProbabilityOp::verify() {
  int64_t expected = getScores().getType().getDimSize(1), found = getLse().getType().getDimSize(0);
  if (expected == found)
    return success();
  return emitOpError() << "'lse' must have " << expected
                       << " elements, one for each column of the scores, got " << found;
}

LogicalResult HeldOp::verify() {
  ChannelType channel = getChannel().getType();
  if (getTiles().size() == channel.getNumTiles() &&
      llvm::all_of_zip(getTiles().getTypes(), channel.getTiles(), fitsSlot))
    return success();
  return emitOpError() << "tiles must be those of a slot of " << channel << ", got "
                       << getTiles().getTypes();
}
