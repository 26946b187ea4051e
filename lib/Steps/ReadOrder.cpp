//===- ReadOrder.cpp - items and walks as loops over the order buffer -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every role of a persistent CTA runs the list of its worker. Producers and reducers read it; a
// consumer is told in slots. From here on each use of a channel has a number, counted over the
// worker's whole life: those of an item are its place in the list, those of a step follow from item
// to item. Where an item uses a channel of steps behind its walk, too (sums over parts leave
// through the slots of sums of steps), those uses follow its steps.
//
//===----------------------------------------------------------------------===//

#include "EraseUnused.h"
#include "RoleLoops.h"
#include "dash/Steps/Passes.h"

namespace mlir::dash {
#define GEN_PASS_DEF_READORDER
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ReadOrder : public dash::impl::ReadOrderBase<ReadOrder> {
  void runOnOperation() override {
    // Consumers first: what they are told is found in what producers put.
    SmallVector<RoleOp> consumers, others;
    getOperation()->walk([&](RoleOp role) {
      if (role.getItems())
        (role.isConsumer() ? consumers : others).push_back(role);
    });
    ItemUses itemUses;
    getOperation()->walk([&](ChannelOp channel) {
      if (int64_t count = channel.getNumItemUses())
        itemUses[channel] = count;
    });
    for (RoleOp role : llvm::concat<RoleOp>(consumers, others)) {
      if (failed(writeRoleLoops(role, itemUses)))
        return signalPassFailure();
      ++numLowered;
    }
    eraseUnused(getOperation());
  }
};

} // namespace
