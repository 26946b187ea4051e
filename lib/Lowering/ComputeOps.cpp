//===- ComputeOps.cpp - what one warpgroup does with tiles ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ComputeRole.h"
#include "Program.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SharedFactor ComputeRole::factorOf(const Tile &tile, RankedTensorType type, bool outerIsRow) {
  for (auto &[channel, use] : llvm::make_early_inc_range(unawaited))
    if (channel == tile.channel) {
      entry.shared.waitFull(b, entry.base, *channel, use);
      unawaited.erase(
          llvm::find_if(unawaited, [&](auto &slot) { return slot.first == tile.channel; }));
      break;
    }
  SharedFactor factor;
  factor.tile.address = entry.shared.tile(b, entry.base, *tile.channel, tile.index, tile.use);
  factor.tile.rows = type.getDimSize(0);
  factor.tile.columns = type.getDimSize(1);
  factor.outerIsRow = outerIsRow;
  return factor;
}

void ComputeRole::emitMatmul(MatmulOp op) {
  auto sums = cast<RankedTensorType>(op.getResult().getType());
  auto typeA = cast<RankedTensorType>(op.getA().getType());
  auto typeB = cast<RankedTensorType>(op.getB().getType());
  const Tile &a = tiles[op.getA()], &bTile = tiles[op.getB()];
  InFlight product{op.getResult(), {{bTile.channel, bTile.use}}};
  Product spec;
  spec.columns = columnsOf(sums);
  spec.depth = op.getTransposeA() ? typeA.getDimSize(0) : typeA.getDimSize(1);
  spec.b = factorOf(bTile, typeB, /*outerIsRow=*/op.getTransposeB());
  if (!hasRowsOf(sums))
    spec.b.firstOuter = warpgroup * spec.columns;
  if (a.channel) {
    spec.sharedA = factorOf(a, typeA, /*outerIsRow=*/!op.getTransposeA());
    if (hasRowsOf(sums))
      spec.sharedA->firstOuter = 64 * warpgroup;
    product.reads.push_back({a.channel, a.use});
  } else {
    spec.registersA = a.registers;
  }
  SmallVector<Value> accumulators;
  if (op.getAccumulate())
    accumulators = tiles[op.getAccumulate()].registers;
  tiles[op.getResult()] = {issueProduct(b, spec, accumulators)};
  inFlight.push_back(product);
}

void ComputeRole::waitForOldest(size_t number) {
  if (number == 0)
    return;
  SmallVector<Value> values;
  for (const InFlight &product : ArrayRef(inFlight).take_front(number))
    llvm::append_range(values, tiles[product.result].registers);
  values = waitProducts(b, inFlight.size() - number, values);
  auto next = values.begin();
  for (const InFlight &product : ArrayRef(inFlight).take_front(number))
    for (Value &value : tiles[product.result].registers)
      value = *next++;
  inFlight.erase(inFlight.begin(), inFlight.begin() + number);
}

void ComputeRole::waitForResult(Value tile) {
  for (size_t i = 0; i < inFlight.size(); ++i)
    if (inFlight[i].result == tile)
      return waitForOldest(i + 1);
}

void ComputeRole::waitForReaders(const Channel *channel, Value use) {
  for (size_t i = inFlight.size(); i-- > 0;)
    if (llvm::is_contained(inFlight[i].reads, std::make_pair(channel, use)))
      return waitForOldest(i + 1);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Number in `columns` of the q row of sum i.
static size_t columnOf(size_t i) { return i / 4 * 2 + i % 2; }

void ComputeRole::emitProbability(ProbabilityOp op) {
  waitForResult(op.getScores());
  const SmallVector<Value> &scores = tiles[op.getScores()].registers;
  const SmallVector<Value> &lse = tiles[op.getLse()].registers;
  SmallVector<Value> result;
  for (auto [i, score] : llvm::enumerate(scores))
    result.push_back(hopper::exp2(b, b.fma(score, exponentScale, b.negate(lse[columnOf(i)]))));

  // Few tiles have hidden elements: where the mask's edge is, and at the end of the kv rows.
  Value use = tiles[op.getLse()].use;
  Value lead = hopper::loadWord(b, entry.shared.words(b, entry.base, *stepChannel, use));
  lead = b.uniform(lead);
  Value isCut = b.below(columnsHere, entry.rowsOfKvTile());
  Value hides = arith::OrIOp::create(b, b.below(lead, entry.rowsOfKvTile() - 1), isCut);
  auto hide = [&] {
    SmallVector<Value> visible = result;
    Value toDiagonal = b.sub(b.sub(place.row, place.column), lead);
    Value toEnd = b.sub(columnsHere, place.row);
    for (int64_t half : {0, 1}) {
      // Row j is hidden from column i iff i + lead < j, and altogether past the end.
      int64_t row = 64 * warpgroup + 8 * half;
      Value isPast = b.below(toEnd, row + 1);
      Value first = b.choose(isPast, b.i32(fullLead), b.add(toDiagonal, row));
      for (size_t i = 2 * half; i < visible.size(); i += 4)
        for (size_t e : {0, 1}) {
          Value isHidden = b.below(b.i32(i / 4 * 8 + e), first);
          visible[i + e] = b.choose(isHidden, b.f32(0), visible[i + e]);
        }
    }
    return visible;
  };
  tiles[op.getResult()] = {b.ifElse(hides, hide, [&] { return result; })};
}

void ComputeRole::emitScoreGradient(ScoreGradientOp op) {
  waitForResult(op.getGradient());
  const SmallVector<Value> &p = tiles[op.getProbability()].registers;
  const SmallVector<Value> &gradient = tiles[op.getGradient()].registers;
  const SmallVector<Value> &delta = tiles[op.getDelta()].registers;
  SmallVector<Value> sums;
  for (size_t i = 0; i < p.size(); ++i)
    sums.push_back(b.mul(p[i], b.sub(gradient[i], delta[columnOf(i)])));
  tiles[op.getResult()] = {packFactor(b, sums)};
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

void ComputeRole::emitGet(GetOp op, Value use) {
  const Channel &channel = entry.shared.channel(op.getChannel());
  entry.shared.waitFull(b, entry.base, channel, use);
  for (auto [index, value] : llvm::enumerate(op.getTiles())) {
    Tile &tile = tiles[value] = {{}, &channel, int64_t(index), use};
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 1) // early: they are there when the product is
      tile.registers = loadColumns(b, place, entry.shared.tile(b, entry.base, channel, index, use),
                                   type.getDimSize(0));
  }
}

void ComputeRole::emitPut(PutOp op, Value use) {
  const Channel &channel = entry.shared.channel(op.getChannel());
  for (auto [index, value] : llvm::enumerate(op.getTiles())) {
    waitForResult(value);
    auto type = cast<RankedTensorType>(value.getType());
    const SmallVector<Value> &registers = tiles[value].registers;
    if (index == 0)
      entry.shared.waitEmpty(b, entry.base, channel, use);
    Value at = entry.shared.tile(b, entry.base, channel, index, use);
    if (type.getElementType().isF32())
      storeFragment(b, place, registers, b.add(at, warpgroup * 64 * 4 * columnsOf(type)));
    else
      storeRows(b, place, registers, b.add(at, warpgroup * 64 * 128), type.getDimSize(0) * 128);
  }
}

void ComputeRole::emitPublish(PublishOp op, Value use) {
  hopper::fenceSharedWrites(b);
  arrive(entry.shared.full(b, entry.base, entry.shared.channel(op.getChannel()), use));
}

void ComputeRole::emitRelease(ReleaseOp op, Value use) {
  const Channel &channel = entry.shared.channel(op.getChannel());
  waitForReaders(&channel, use);
  arrive(entry.shared.empty(b, entry.base, channel, use));
}

/// Through this warpgroup's own rows of the slot that the op names, and out by the copy engine.
void ComputeRole::emitStore(StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  auto name = op->getAttrOfType<StringAttr>(stagingAttr);
  const Channel *staging = nullptr;
  for (auto channel : entry.workers.getBody().getOps<ChannelOp>())
    if (channel.getNameAttr() == name)
      staging = &entry.shared.channel(channel.getResult());
  SmallVector<Value> sums = tiles[op.getValue()].registers;
  if (op.getScale()) {
    Value scale = scaleFactor(b, op.getScale());
    for (Value &sum : sums)
      sum = b.mul(sum, scale);
  }
  int64_t panelBytes = type.getDimSize(0) * 128;
  Value rows = b.add(entry.shared.tile(b, entry.base, *staging, 0, item), warpgroup * 64 * 128);
  storeRows(b, place, packFactor(b, sums), rows, panelBytes);
  hopper::fenceSharedWrites(b);
  syncWarpgroup();
  b.ifThen(b.equal(place.thread, 0), [&] {
    Value descriptor = entry.descriptor(entry.names.lookup(op.getTarget()));
    Value row = b.add(b.mul(itemWords[3], type.getDimSize(0)), 64 * warpgroup), zero = b.i32(0);
    for (int64_t panel : llvm::seq(type.getDimSize(1) / 64))
      hopper::storeTile(b, b.add(rows, panel * panelBytes), descriptor,
                        {zero, row, b.i32(panel), itemWords[2], itemWords[1]});
    hopper::commitCopies(b);
    hopper::waitCopiesRead(b);
  });
  syncWarpgroup();
}

void ComputeRole::emitOp(Operation *op, Value use) {
  if (auto matmul = dyn_cast<MatmulOp>(op))
    emitMatmul(matmul);
  else if (auto probability = dyn_cast<ProbabilityOp>(op))
    emitProbability(probability);
  else if (auto round = dyn_cast<RoundOp>(op))
    tiles[round.getResult()] = {packFactor(b, tiles[round->getOperand(0)].registers)};
  else if (auto gradient = dyn_cast<ScoreGradientOp>(op))
    emitScoreGradient(gradient);
  else if (auto get = dyn_cast<GetOp>(op))
    emitGet(get, use);
  else if (auto put = dyn_cast<PutOp>(op))
    emitPut(put, use);
  else if (auto publish = dyn_cast<PublishOp>(op))
    emitPublish(publish, use);
  else if (auto release = dyn_cast<ReleaseOp>(op))
    emitRelease(release, use);
  else if (auto store = dyn_cast<StoreOp>(op))
    emitStore(store);
  else if (isa<TakeTensorCoreOp>(op))
    takeTensorCore();
  else if (isa<GiveTensorCoreOp>(op))
    giveTensorCore();
  else
    llvm_unreachable("checkWorkers has refused what no case is for");
}
