//===- ComputeRole.cpp - the warpgroups that multiply ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the program of one warpgroup from the tile ops of the role. Tiles are held in one of two ways: in
// registers, as the warpgroup's part, or in a slot of a channel. Products are issued where they stand and
// waited for where their values, or the slots that they read, are needed next: what overlaps follows from the
// order of the ops.
//
// The walk is a pipeline: ops of stage 0 work on the next step while those of stage 1 work on this one and those
// of stage 2 on the one before. First and last steps are peeled, because a branch around a product in flight
// would have ptxas wait for it.
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"
#include "Program.h"
#include "Wgmma.h"
#include "WorkerEntry.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

constexpr StringLiteral stageAttr = "dash.stage", orderAttr = "dash.order";
constexpr double log2e = 1.44269504088896340736;

/// A tile as the warpgroup has it: its part, in registers (floats of sums or of columns, words of a rounded
/// tile), or a slot of a channel.
struct Tile {
  SmallVector<Value> registers;
  const Channel *channel = nullptr;
  int64_t index = 0; ///< of the tile in its slot
  Value use;         ///< of the channel
};

class ComputeRole {
public:
  ComputeRole(WorkerEntry &entry, RoleOp role, int64_t warpgroup)
      : entry(entry), b(entry.b), role(role), warpgroup(warpgroup), warpgroups(role.getWarps() / 4),
        place(b), order(b.parameter("workspace.order")) {}

  LogicalResult emit();

private:
  // ---- Items and steps.
  void emitItem(ItemsOp items, Value item, Value firstStep);
  SmallVector<Value> emitWalk(WalkOp walk, Value steps, Value firstStep);
  SmallVector<Value> emitSteps(WalkOp walk, Value steps, Value step, ValueRange sums, bool isOne);
  /// Emits this step's ops, of the step before if `hasPrevious`, of the next if `hasNext`.
  void emitStep(WalkOp walk, Value step, bool hasPrevious, bool hasNext);
  void emitStage(int64_t stage, Value use);
  static bool isMadeAhead(Operation *op);
  SmallVector<Value> carriedValues(WalkOp walk);
  void setCarriedValues(WalkOp walk, ValueRange values, Value step);
  LogicalResult orderBody(WalkOp walk);

  // ---- Ops.
  void emitOp(Operation *op, Value use);
  void emitMatmul(MatmulOp op);
  void emitProbability(ProbabilityOp op);
  void emitScoreGradient(ScoreGradientOp op);
  void emitGet(GetOp op, Value use);
  void emitPut(PutOp op, Value use);
  void emitPublish(PublishOp op, Value use);
  void emitRelease(ReleaseOp op, Value use);
  void emitStore(StoreOp op);
  SharedFactor factorOf(const Tile &tile, RankedTensorType type, bool outerIsRow);
  /// This warpgroup's part of a product's sums: 64 rows of all, or some columns of 64 rows.
  bool hasRowsOf(RankedTensorType sums) const { return sums.getDimSize(0) == 64 * warpgroups; }
  int64_t columnsOf(RankedTensorType sums) const {
    return sums.getDimSize(1) / (hasRowsOf(sums) ? 1 : warpgroups);
  }

  // ---- The tensor core, which warpgroups use in turn: number 1 + i says that it is warpgroup i's.
  void takeTensorCore() {
    if (warpgroups > 1)
      hopper::syncNamed(b, 1 + warpgroup, 256);
  }
  void giveTensorCore() {
    if (warpgroups > 1)
      hopper::arriveNamed(b, 1 + (warpgroup + 1) % warpgroups, 256);
  }
  void syncWarpgroup() { hopper::syncNamed(b, 1 + warpgroups + warpgroup, 128); }
  /// One arrival a warp.
  void arrive(Value barrier) {
    hopper::syncWarp(b);
    hopper::arriveIf(b, b.equal(place.lane, 0), barrier);
  }

  // ---- Products in flight, oldest first.
  struct InFlight {
    Value result; ///< of the op
    SmallVector<std::pair<const Channel *, Value>> reads;
  };
  void waitForResult(Value tile);
  void waitForReaders(const Channel *channel, Value use);
  void waitForOldest(size_t number);

  WorkerEntry &entry;
  EntryBuilder &b;
  RoleOp role;
  int64_t warpgroup, warpgroups;
  ThreadPlace place;
  OrderReader order;

  static int64_t numberOf(Operation *op, StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  }

  SmallVector<Operation *> body;     ///< of the walk, as issued
  Value exponentScale;               ///< of scores, for exponentials to base 2
  llvm::DenseMap<Value, Tile> tiles; ///< looked up only
  SmallVector<InFlight> inFlight;
  // The item at hand.
  const Channel *itemChannel = nullptr, *stepChannel = nullptr; ///< whose words say what to do
  Value item;
  SmallVector<std::pair<const Channel *, Value>>
      unawaited;                ///< slots of the item that nobody waited for
  SmallVector<Value> itemWords; ///< steps, sequence, kv head, kv tile
  Value columnsHere;            ///< rows of the kv tile that are in the sequence
};

} // namespace

//===----------------------------------------------------------------------===//
// Items and steps
//===----------------------------------------------------------------------===//

LogicalResult ComputeRole::emit() {
  ItemsOp items = *role.getBody().getOps<ItemsOp>().begin();
  WalkOp walk = *items.getBody().getOps<WalkOp>().begin();
  if (failed(orderBody(walk)))
    return failure();
  auto tellsIn = [&](Region &region) {
    for (auto get : region.getOps<GetOp>())
      if (const Channel &channel = entry.shared.channel(get.getChannel()); channel.tells)
        return &channel;
    llvm_unreachable("the first get of a block tells");
  };
  itemChannel = tellsIn(items.getBody());
  stepChannel = tellsIn(walk.getBody());

  bool isFirst = warpgroup == 0, isLast = warpgroup == warpgroups - 1;
  exponentScale = b.f32(log2e);
  for (auto probability : walk.getBody().getOps<ProbabilityOp>())
    if (probability.getScale())
      exponentScale = b.mul(scaleFactor(b, probability.getScale()), exponentScale);
  b.ifThen(b.equal(place.thread, 0), [&] {
    role.walk([&](StoreOp store) {
      hopper::fenceDescriptor(b, entry.descriptor(entry.names.lookup(store.getTarget())));
    });
  });
  if (isLast)
    giveTensorCore(); // the first turn is warpgroup 0's
  b.forEach(b.i32(0), order.readNumItems(b), b.i32(1), b.i32(0),
            [&](Value place, ValueRange carried) {
              emitItem(items, place, carried.front());
              return SmallVector<Value>{b.add(carried.front(), itemWords[0])};
            });
  if (isFirst)
    takeTensorCore(); // given by the last step of all: leave no barrier half full
  return success();
}

LogicalResult ComputeRole::orderBody(WalkOp walk) {
  for (Operation &op : walk.getBody().front()) {
    if (isa<YieldOp>(op))
      continue;
    if (!op.hasAttrOfType<IntegerAttr>(stageAttr) || !op.hasAttrOfType<IntegerAttr>(orderAttr))
      return op.emitError() << "has no '" << stageAttr << "' and '" << orderAttr
                            << "'; run --dash-order-products first";
    body.push_back(&op);
  }
  llvm::sort(body, [](Operation *lhs, Operation *rhs) {
    return numberOf(lhs, orderAttr) < numberOf(rhs, orderAttr);
  });
  // One value stands for the next step's as soon as that is made: nothing may need this step's any more.
  for (Operation *op : body)
    for (Operation *user : op->getUsers())
      if (numberOf(op, stageAttr) == 0 && !isa<YieldOp>(user) && numberOf(user, stageAttr) > 0 &&
          numberOf(user, orderAttr) > numberOf(op, orderAttr))
        return user->emitError()
               << "uses this step's value after the next step's was made: give it "
                  "an '"
               << orderAttr << "' below " << numberOf(op, orderAttr);
  return success();
}

void ComputeRole::emitItem(ItemsOp items, Value itemNumber, Value firstStep) {
  item = itemNumber;
  unawaited.clear();
  for (Operation &op : items.getBody().front()) {
    auto get = dyn_cast<GetOp>(op);
    if (!get)
      break;
    const Channel &channel = entry.shared.channel(get.getChannel());
    if (&channel == itemChannel) {
      entry.shared.waitFull(b, entry.base, channel, item);
      itemWords = hopper::loadWords4(b, entry.shared.words(b, entry.base, channel, item), 0);
      for (Value &word : itemWords)
        word = b.uniform(word);
    } else {
      unawaited.push_back({&channel, item});
    }
    for (auto [index, tile] : llvm::enumerate(get.getTiles()))
      tiles[tile] = {{}, &channel, int64_t(index), item};
  }
  columnsHere = b.sub(entry.kvRows, b.mul(itemWords[3], entry.rowsOfKvTile()));

  for (Operation &op : items.getBody().front()) {
    if (auto walk = dyn_cast<WalkOp>(op)) {
      SmallVector<Value> sums = emitWalk(walk, itemWords[0], firstStep);
      auto next = sums.begin();
      for (Value result : walk.getResults()) {
        size_t number = columnsOf(cast<RankedTensorType>(result.getType())) / 2;
        tiles[result] = {SmallVector<Value>(next, next + number)};
        next += number;
      }
    } else if (!isa<GetOp>(op)) {
      emitOp(&op, item);
    }
  }
}

SmallVector<Value> ComputeRole::emitWalk(WalkOp walk, Value steps, Value firstStep) {
  SmallVector<Value> zeros;
  for (Value init : walk.getInits())
    zeros.append(columnsOf(cast<RankedTensorType>(init.getType())) / 2, b.f32(0));
  auto awaited = unawaited;
  auto branch = [&](bool isOne) {
    unawaited = awaited;
    return emitSteps(walk, steps, firstStep, zeros, isOne);
  };
  return b.ifElse(
      b.below(b.i32(1), steps), [&] { return branch(/*isOne=*/false); },
      [&] {
        return b.ifElse(
            b.equal(steps, 1), [&] { return branch(/*isOne=*/true); },
            [&] {
              // Nothing to compute; what was loaded must have come all the same.
              for (auto [channel, use] : awaited)
                entry.shared.waitFull(b, entry.base, *channel, use);
              return zeros;
            });
      });
}

SmallVector<Value> ComputeRole::emitSteps(WalkOp walk, Value steps, Value step, ValueRange sums,
                                          bool isOne) {
  auto next = sums.begin();
  for (Value carried : walk.getCarried()) {
    size_t number = columnsOf(cast<RankedTensorType>(carried.getType())) / 2;
    tiles[carried] = {SmallVector<Value>(next, next + number)};
    next += number;
  }
  emitStage(0, step);
  if (!isOne) {
    emitStep(walk, step, /*hasPrevious=*/false, /*hasNext=*/true);
    Value second = b.add(step, 1), last = b.sub(b.add(step, steps), b.i32(1));
    SmallVector<Value> carried = b.forEach(
        second, last, b.i32(1), carriedValues(walk), [&](Value number, ValueRange values) {
          setCarriedValues(walk, values, number);
          emitStep(walk, number, /*hasPrevious=*/true, /*hasNext=*/true);
          return carriedValues(walk);
        });
    setCarriedValues(walk, carried, last);
    step = last;
  }
  emitStep(walk, step, /*hasPrevious=*/!isOne, /*hasNext=*/false);
  emitStage(2, step);
  SmallVector<Value> results;
  for (Value carried : walk.getCarried())
    llvm::append_range(results, tiles[carried].registers);
  return results;
}

void ComputeRole::emitStage(int64_t stage, Value use) {
  for (Operation *op : body)
    if (numberOf(op, stageAttr) == stage)
      emitOp(op, use);
}

void ComputeRole::emitStep(WalkOp walk, Value step, bool hasPrevious, bool hasNext) {
  Value previous = b.add(step, -1), next = b.add(step, 1);
  for (Operation *op : body) {
    int64_t stage = numberOf(op, stageAttr);
    if (stage == 0 ? hasNext : stage == 1 || hasPrevious)
      emitOp(op, stage == 0 ? next : stage == 1 ? step : previous);
  }
  for (auto [carried, value] : llvm::zip_equal(walk.getCarried(), walk.getYield().getValues())) {
    waitForResult(value);
    tiles[carried] = tiles[value];
  }
}

/// A value in registers that the next step needs.
bool ComputeRole::isMadeAhead(Operation *op) {
  return numberOf(op, stageAttr) == 0 && op->getNumResults() == 1 && !isa<GetOp>(op) &&
         llvm::any_of(op->getUsers(), [](Operation *user) {
           return !isa<YieldOp>(user) && numberOf(user, stageAttr) > 0;
         });
}

/// What one step hands to the next in registers: the sums, and what is made ahead.
SmallVector<Value> ComputeRole::carriedValues(WalkOp walk) {
  SmallVector<Value> values;
  for (Value carried : walk.getCarried())
    llvm::append_range(values, tiles[carried].registers);
  for (Operation *op : body)
    if (isMadeAhead(op))
      llvm::append_range(values, tiles[op->getResult(0)].registers);
  return values;
}

void ComputeRole::setCarriedValues(WalkOp walk, ValueRange values, Value step) {
  auto next = values.begin();
  auto take = [&](Value tile) {
    SmallVector<Value> &registers = tiles[tile].registers;
    for (Value &value : registers)
      value = *next++;
  };
  for (Value carried : walk.getCarried())
    take(carried);
  for (Operation *op : body) {
    if (numberOf(op, stageAttr) != 0)
      continue;
    if (isMadeAhead(op))
      take(op->getResult(0));
    else if (auto get = dyn_cast<GetOp>(op))
      for (Value tile : get.getTiles())
        tiles[tile].use = step;
  }
  for (InFlight &product : inFlight)
    product.reads.clear(); // of slots that are released only after their sums were used
}

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

LogicalResult dash::emitComputeRole(WorkerEntry &entry, RoleOp role, int64_t warpgroup) {
  return ComputeRole(entry, role, warpgroup).emit();
}
