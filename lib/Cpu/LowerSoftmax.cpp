//===- LowerSoftmax.cpp - the ops of a forward's task ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ItemsLowering.h"
#include "SoftmaxLoops.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult ItemsLowering::lowerVisible(VisibleOp op) {
  FailureOr<IsVisible> isVisible =
      visibilityAt(op, op.getSequence(), op.getKvTile(), op.getQTile());
  if (failed(isVisible))
    return failure();
  emitVisible(b, bufferOf(op.getScores()), makeBuffer(op.getResult()), *isVisible);
  return success();
}

void ItemsLowering::lowerCompute(SinkStateOp op) {
  emitSinkState(b, lookup(op.getSink()), lookup(op.getHead()), schedule.problem.tiles.fold,
                makeBuffer(op.getMax()), makeBuffer(op.getSum()));
}

void ItemsLowering::lowerCompute(RunningMaxOp op) {
  Value scores = bufferOf(op.getScores()), max = bufferOf(op.getMax());
  emitRunningMax(b, scores, max, lookup(op.getScale()), op.getSlack().convertToFloat(),
                 makeBuffer(op.getNext()), makeBuffer(op.getFactor()));
}

void ItemsLowering::lowerCompute(ExponentialOp op) {
  Value scores = bufferOf(op.getScores()), max = bufferOf(op.getMax());
  emitExponential(b, scores, max, lookup(op.getScale()), makeBuffer(op.getResult()));
}

void ItemsLowering::lowerCompute(RunningSumOp op) {
  Value probability = bufferOf(op.getProbability()), sum = bufferOf(op.getSum());
  emitRunningSum(b, probability, sum, bufferOf(op.getFactor()), makeBuffer(op.getResult()));
}

void ItemsLowering::lowerCompute(RescaleOp op) {
  Value value = bufferOf(op.getValue());
  emitRescale(b, value, bufferOf(op.getFactor()), makeBuffer(op.getResult()));
}

void ItemsLowering::lowerCompute(FinishOp op) {
  Value value = bufferOf(op.getValue()), max = bufferOf(op.getMax()), sum = bufferOf(op.getSum());
  emitFinish(b, value, max, sum, makeBuffer(op.getOutput()), makeBuffer(op.getLse()));
}
