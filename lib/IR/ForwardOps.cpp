//===- ForwardOps.cpp - checks of attention's forward pass ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// AttentionFwdOp
//===----------------------------------------------------------------------===//

int64_t AttentionFwdOp::getHeadDim() { return typeOf(getQ()).getDimSize(HeadDim); }
int64_t AttentionFwdOp::getHeadDimV() { return typeOf(getV()).getDimSize(HeadDim); }

SmallVector<TensorOfOp> AttentionFwdOp::getTensors() {
  constexpr TensorSide q = TensorSide::Q, kv = TensorSide::KV;
  constexpr TensorAccess read = TensorAccess::Read, write = TensorAccess::Write;
  SmallVector<TensorOfOp> tensors;
  auto add = [&](StringRef name, Value value, TensorSide side, TensorAccess access,
                 TensorKind kind) {
    if (value)
      tensors.push_back(makeTensor(name, value, side, access, kind));
  };
  add("q", getQ(), q, read, TensorKind::Tile);
  add("k", getK(), kv, read, TensorKind::Tile);
  add("v", getV(), kv, read, TensorKind::Tile);
  add("o", getO(), q, write, TensorKind::Tile);
  add("lse", getLse(), q, write, TensorKind::LogRow);
  add("unrounded", getUnrounded(), q, write, TensorKind::Tile);
  add("scale", getScale(), q, read, TensorKind::Number);
  add("sink", getSink(), q, read, TensorKind::Head);
  return tensors;
}

LogicalResult AttentionFwdOp::verify() {
  auto named = [&](StringRef name, Value value) { return NamedMemRef{name, typeOf(value)}; };
  NamedMemRef q = named("q", getQ()), k = named("k", getK()), v = named("v", getV()),
              o = named("o", getO()), lse = named("lse", getLse());
  SmallVector<std::pair<NamedMemRef, unsigned>> numbers = {{lse, 3}};
  SmallVector<std::pair<StringRef, Value>> values = {{"q", getQ()}, {"k", getK()}, {"v", getV()}};
  if (getSink()) {
    numbers.push_back({named("sink", getSink()), 1});
    values.push_back({"sink", getSink()});
  }
  constexpr int64_t mostCut = int64_t(1) << 30; // and a sequence's rows, in 32 bits
  if (int64_t cut = getCut().value_or(0); cut > mostCut)
    return emitOpError() << "'cut' must be at most " << mostCut << ", got " << cut;
  auto emitHere = [&] { return emitOpError(); };
  int64_t fold = getFold().value_or(1);
  if (failed(verifyFold(emitHere, fold)) || failed(verifyFoldOfMask(emitHere, fold, getMask())))
    return failure();
  unsigned numInputs = values.size();
  values.append({{"o", getO()}, {"lse", getLse()}});
  SmallVector<NamedMemRef, 2> outputs = {o};
  if (getUnrounded()) {
    if (getCut())
      return emitOpError() << "'unrounded' is the output of keys that are not cut, got a cut of "
                           << *getCut() << ": leave out one of both";
    outputs.push_back(named("unrounded", getUnrounded()));
    numbers.push_back({outputs.back(), 4});
    values.push_back({"unrounded", getUnrounded()});
  }
  auto withOutputs = [&](SmallVector<NamedMemRef> some) {
    llvm::append_range(some, outputs);
    return some;
  };
  if (failed(verifyForms(*this, {q, k, v, o}, numbers)) || failed(verifyHeadDims(*this)) ||
      failed(verifySameSize(*this, HeadDim, {q, k})) ||
      failed(verifySameSize(*this, HeadDim, withOutputs({v}))) ||
      failed(verifySameSize(*this, Batch, withOutputs({q, k, v, lse}))) ||
      failed(verifySameSize(*this, Heads, withOutputs({q, lse}))) ||
      failed(verifySameSize(*this, Heads, {k, v})) ||
      failed(verifySameSize(*this, Rows, withOutputs({q, lse}))) ||
      failed(verifySameSize(*this, Rows, {k, v})) ||
      (getSink() && failed(verifyHeadsOf(*this, named("sink", getSink()), q))) ||
      failed(verifyCap(*this, "softcap", getSoftcapAttr())) ||
      failed(verifyProblem(*this, q.type, k.type, v.type, getSequencesAttr())) ||
      failed(verifyMask(*this, getMask(), q.type, k.type, getSequencesAttr())) ||
      failed(verifyFoldOfGroup(emitHere, fold, q.type.getDimSize(Heads), k.type.getDimSize(Heads))))
    return failure();
  return verifyOutputs(*this, values, numInputs);
}

//===----------------------------------------------------------------------===//
// Ops on tiles
//===----------------------------------------------------------------------===//

/// A tile of `expected` rows and columns, which `meaning` explains.
static LogicalResult verifyShape(Operation *op, StringRef name, RankedTensorType tile,
                                 ArrayRef<int64_t> expected, const Twine &meaning) {
  if (expected == tile.getShape())
    return success();
  return op->emitOpError() << "'" << name << "' must be " << formatShape(expected) << ", "
                           << meaning << ", got " << formatShape(tile.getShape());
}

/// A tile of one task: one row for each row of the q tile, one column for each of the kv tile.
static LogicalResult verifyScores(Operation *op, StringRef name, RankedTensorType tile) {
  ItemsOp items = getItems(op);
  if (!items) // lowered to loops
    return success();
  TilesAttr tiles = items.getTiles();
  return verifyShape(op, name, tile, {tiles.getRowsOfQ(), tiles.getKv()},
                     "rows of a q tile by rows of a kv tile");
}

static LogicalResult verifySums(Operation *op, RankedTensorType sum) {
  ItemsOp items = getItems(op);
  constexpr int64_t count = RunningSumOp::numSums;
  return items ? verifyShape(op, "sum", sum, {items.getTiles().getRowsOfQ(), count},
                             Twine(count) + " numbers for each row of a q tile")
               : success();
}

LogicalResult SinkStateOp::verify() {
  return failure(failed(verifyRows(*this, "max", getMax().getType())) ||
                 failed(verifySums(*this, getSum().getType())));
}

LogicalResult VisibleOp::verify() { return verifyScores(*this, "scores", getType()); }

LogicalResult RunningMaxOp::verify() {
  if (failed(verifyScores(*this, "scores", getScores().getType())) ||
      failed(verifyRows(*this, "max", getMax().getType())))
    return failure();
  double slack = getSlack().convertToDouble();
  if (slack >= 0 && slack <= mostSlack)
    return success();
  SmallString<16> text;
  getSlack().toString(text);
  return emitOpError() << "'slack' must be from 0 to " << int64_t(mostSlack) << ", got " << text;
}

LogicalResult ExponentialOp::verify() {
  return failure(failed(verifyScores(*this, "scores", getScores().getType())) ||
                 failed(verifyRows(*this, "max", getMax().getType())));
}

LogicalResult RunningSumOp::verify() {
  return failure(failed(verifyScores(*this, "probability", getProbability().getType())) ||
                 failed(verifySums(*this, getSum().getType())) ||
                 failed(verifyRows(*this, "factor", getFactor().getType())));
}

LogicalResult RescaleOp::verify() {
  return failure(failed(verifyRows(*this, "value", getValue().getType())) ||
                 failed(verifyRows(*this, "factor", getFactor().getType())));
}

LogicalResult FinishOp::verify() {
  return failure(failed(verifyRows(*this, "value", getValue().getType())) ||
                 failed(verifyRows(*this, "max", getMax().getType())) ||
                 failed(verifySums(*this, getSum().getType())));
}

LogicalResult StoreRowOp::verify() {
  return verifyTileOf(*this, getValue().getType(), getTarget().getType(),
                      /*mayBeWider=*/getValue().getType().getRank() == 2);
}
