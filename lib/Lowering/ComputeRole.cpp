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

#include "ComputeRole.h"
#include "Program.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult ComputeRole::emit() {
  ItemsOp items = role.getItems();
  WalkOp walk = role.getWalk();
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
  waitForOldest(inFlight.size()); // around the loop nothing says whose registers they will be
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
}

LogicalResult dash::emitComputeRole(WorkerEntry &entry, RoleOp role, int64_t warpgroup) {
  return ComputeRole(entry, role, warpgroup).emit();
}
