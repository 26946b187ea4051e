//===- LoadRole.cpp - the warps that load ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread starts the copies; the copy engine says when a slot is full.
//
//===----------------------------------------------------------------------===//

#include "WorkerEntry.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class LoadRole {
public:
  LoadRole(WorkerEntry &entry, RoleOp role)
      : entry(entry), b(entry.b), role(role), order(b.parameter("workspace.order")) {}

  void emit() {
    ItemsOp items = role.getItems();
    role.walk([&](LoadOp load) {
      if (cast<MemRefType>(load.getSource().getType()).getRank() == 4)
        hopper::fenceDescriptor(b, entry.descriptor(nameOf(load)));
    });
    b.forEach(b.i32(0), order.readNumItems(b), b.i32(1), b.i32(0),
              [&](Value place, ValueRange carried) {
                ItemRecord item = order.readItem(b, place);
                values[items.getSequence()] = item.sequence;
                values[items.getKvHead()] = item.kvHead;
                values[items.getKvTile()] = item.kvTile;
                Value step = carried.front();
                for (Operation &op : items.getBody().front()) {
                  if (auto put = dyn_cast<PutOp>(op))
                    emitPut(put, place, {item.steps, item.sequence, item.kvHead, item.kvTile});
                  else if (auto walk = dyn_cast<WalkOp>(op))
                    step = emitWalk(walk, item, step);
                }
                return SmallVector<Value>{step};
              });
  }

private:
  StringRef nameOf(LoadOp load) const { return entry.names.lookup(load.getSource()); }

  Value emitWalk(WalkOp walk, const ItemRecord &item, Value firstStep) {
    SmallVector<Value> last =
        b.forEach(b.i32(0), item.rounds, b.i32(1), firstStep, [&](Value round, ValueRange carried) {
          SmallVector<Value> steps = b.forEach(
              b.i32(0), item.visits, b.i32(1), carried, [&](Value visit, ValueRange carried) {
                VisitRecord record = order.readVisit(b, item, round, visit);
                values[walk.getHead()] = record.head;
                values[walk.getQTile()] = record.qTile;
                Value lead = maskLead(entry, record.qTile, item.kvTile);
                for (auto put : walk.getBody().getOps<PutOp>())
                  emitPut(put, carried.front(), lead);
                return SmallVector<Value>{b.add(carried.front(), 1)};
              });
          return steps;
        });
    return last.front();
  }

  /// `words` say what to do to the role that gets the slot.
  void emitPut(PutOp put, Value use, ArrayRef<Value> words) {
    const Channel &channel = entry.shared.channel(put.getChannel());
    entry.shared.waitEmpty(b, entry.base, channel, use);
    if (entry.delays)
      hopper::sleepSometime(b);
    if (channel.tells) {
      Value wordsAt = entry.shared.words(b, entry.base, channel, use);
      for (auto [i, word] : llvm::enumerate(words))
        hopper::storeWord(b, word, b.add(wordsAt, 4 * i));
    }
    Value full = entry.shared.full(b, entry.base, channel, use);
    hopper::arriveExpecting(b, full, channel.slotBytes());
    for (auto [i, tile] : llvm::enumerate(put.getTiles())) {
      auto load = tile.getDefiningOp<LoadOp>();
      Value to = entry.shared.tile(b, entry.base, channel, i, use);
      Value sequence = values.lookup(load.getSequence()), head = values.lookup(load.getHead());
      Value index = values.lookup(load.getTile());
      auto type = cast<RankedTensorType>(tile.getType());
      if (type.getRank() == 2) {
        Value row = b.mul(index, type.getDimSize(0)), zero = b.i32(0);
        hopper::copyTile(b, entry.descriptor(nameOf(load)), {zero, row, zero, head, sequence}, to,
                         full);
        continue;
      }
      Value rows = b.parameter(nameOf(load) == "lse" ? "workspace.lse2" : "workspace.delta");
      int64_t bytes = channel.tileBytes(i);
      Value tileIndex = entry.tileIndex(sequence, head, index);
      hopper::copyBytes(b, b.offset(rows, b.mul(b.toI64(tileIndex), bytes)), bytes, to, full);
    }
  }

  WorkerEntry &entry;
  EntryBuilder &b;
  RoleOp role;
  OrderReader order;
  llvm::DenseMap<Value, Value>
      values; ///< indices of the IR, as this thread has them; looked up only
};

} // namespace

void dash::emitLoadRole(WorkerEntry &entry, RoleOp role) {
  entry.b.inOneLane(entry.b.special("laneid"), [&] { LoadRole(entry, role).emit(); });
}
