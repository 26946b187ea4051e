//===- ReduceRole.cpp - the warps that add dQ -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ordered add. Everything about it is done by one thread, because groups of copies belong to a thread:
//
//   1. wait until the tile's counter is the turn (acquire), then for the slot to be full;
//   2. a proxy fence, then the add; the first turn stores, so nothing needs to be zero before;
//   3. wait until the copy is complete, not only read: `.read` frees the slot, never the turn;
//   4. a proxy fence, then the counter goes up (release); the last turn sets it back to 0.
//
// A warp never waits for a turn while an add of its own is unreleased: that would be a cycle that no
// verifier of schedules sees. So each warp has one slot, and finishes one tile before it looks at the next.
//
//===----------------------------------------------------------------------===//

#include "WorkerEntry.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class ReduceRole {
public:
  ReduceRole(WorkerEntry &entry, RoleOp role, Value warpOfRole)
      : entry(entry), b(entry.b), role(role), warp(warpOfRole),
        order(b.parameter("workspace.order")) {}

  void emit() {
    ItemsOp items = role.getItems();
    b.forEach(b.i32(0), order.readNumItems(b), b.i32(1), b.i32(0),
              [&](Value place, ValueRange carried) {
                ItemRecord item = order.readItem(b, place);
                for (auto walk : items.getBody().getOps<WalkOp>())
                  emitWalk(walk, item, carried.front());
                return SmallVector<Value>{b.add(carried.front(), item.steps)};
              });
    if (!isOrdered)
      hopper::waitCopies(b);
  }

private:
  /// The steps of this warp: those whose number over the worker's life is its own modulo all warps.
  void emitWalk(WalkOp walk, const ItemRecord &item, Value firstStep) {
    int64_t warps = role.getWarps();
    Value begin = b.remainder(b.sub(b.add(warp, warps), b.remainder(firstStep, warps)), warps);
    SmallVector<Value> start = inRounds(item, b.i32(0), begin);
    b.forEach(begin, item.steps, b.i32(warps), start, [&](Value step, ValueRange place) {
      Value round = place[0], visit = place[1];
      record = order.readVisit(b, item, round, visit);
      sequence = item.sequence;
      use = b.add(firstStep, step);
      unfinished = Value();
      for (Operation &op : walk.getBody().front()) {
        if (auto get = dyn_cast<GetOp>(op))
          channel = &entry.shared.channel(get.getChannel());
        else if (isa<OrderedReduceOp>(op))
          emitOrderedReduce();
        else if (isa<ReduceOp>(op))
          emitReduce();
        else if (isa<ReleaseOp>(op))
          hopper::arrive(b, entry.shared.empty(b, entry.base, *channel, use));
      }
      if (unfinished)
        finishOrderedReduce();
      return inRounds(item, round, b.add(visit, warps));
    });
  }

  /// Round and visit, where `visit` is less than all warps behind the end of its round: a division would cost
  /// registers.
  SmallVector<Value> inRounds(const ItemRecord &item, Value round, Value visit) {
    for (int64_t i = 0; i < role.getWarps(); ++i) {
      Value isBehind = b.compare(arith::CmpIPredicate::sle, item.visits, visit);
      round = b.choose(isBehind, b.add(round, 1), round);
      visit = b.choose(isBehind, b.sub(visit, item.visits), visit);
    }
    return {round, visit};
  }

  Value tileIndex() const { return entry.tileIndex(sequence, record.head, record.qTile); }
  int64_t bytes() const { return channel->tileBytes(0); }
  Value sumAt(Value tile) const {
    return b.offset(b.parameter("workspace.dq_sum"), b.mul(b.toI64(tile), bytes()));
  }
  /// The slot of the turn, among as many for each tile as there are kv tiles.
  Value contributionAt(Value tile) const {
    Value kvTiles = b.ceilDiv(entry.kvRows, entry.rowsOfKvTile());
    Value slot = b.add(b.mul(b.toI64(tile), b.toI64(kvTiles)), b.toI64(record.turn));
    return b.offset(b.parameter("workspace.contributions"), b.mul(slot, bytes()));
  }
  void delay() {
    if (entry.delays)
      hopper::sleepSometime(b);
  }
  Value source() const { return entry.shared.tile(b, entry.base, *channel, 0, use); }

  void emitOrderedReduce() {
    Value tile = tileIndex();
    unfinished = b.offset(b.parameter("workspace.turns"), b.mul(b.toI64(tile), 4));
    delay();
    hopper::waitAcquire(b, unfinished, record.turn);
    entry.shared.waitFull(b, entry.base, *channel, use);
    delay();
    hopper::fenceGlobal(b);
    Value to = sumAt(tile), from = source();
    if (entry.keepsContributions)
      hopper::storeBytes(b, from, contributionAt(tile), bytes());
    b.ifElse(
        b.equal(record.turn, 0),
        [&] {
          hopper::storeBytes(b, from, to, bytes());
          return SmallVector<Value>{};
        },
        [&] {
          hopper::addFloats(b, from, to, bytes());
          return SmallVector<Value>{};
        });
    hopper::commitCopies(b);
    hopper::waitCopiesRead(b);
  }

  void finishOrderedReduce() {
    hopper::waitCopies(b);
    delay();
    hopper::fenceGlobal(b);
    b.ifElse(
        b.equal(record.isLast, 0),
        [&] {
          hopper::addRelease(b, unfinished);
          return SmallVector<Value>{};
        },
        [&] {
          hopper::storeRelaxed(b, unfinished, b.i32(0));
          return SmallVector<Value>{};
        });
  }

  void emitReduce() {
    isOrdered = false;
    entry.shared.waitFull(b, entry.base, *channel, use);
    hopper::addFloats(b, source(), sumAt(tileIndex()), bytes());
    hopper::commitCopies(b);
    hopper::waitCopiesRead(b);
  }

  WorkerEntry &entry;
  EntryBuilder &b;
  RoleOp role;
  Value warp;
  OrderReader order;
  // The step at hand.
  const Channel *channel = nullptr;
  VisitRecord record;
  Value sequence, use;
  Value unfinished; ///< the counter of an add that is not released yet
  bool isOrdered = true;
};

} // namespace

void dash::emitReduceRole(WorkerEntry &entry, RoleOp role, Value warpOfRole) {
  entry.b.inOneLane(entry.b.special("laneid"), [&] { ReduceRole(entry, role, warpOfRole).emit(); });
}
