//===- BalanceSlots.cpp - every slot waited for is passed on --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slot that is waited for and never passed on stops the role at the channel's other end, one lap
// of the ring later. So along every path a role arrives as often as it waits: both sides of a
// branch have the same balance, and an iteration of a loop leaves nothing over.
//
//===----------------------------------------------------------------------===//

#include "VerifyWaits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The surplus of waits over arrivals on a path, for the full and for the empty slots of a channel.
using Balance = llvm::MapVector<std::pair<Value, BarrierSide>, int64_t>;

int64_t &entry(Balance &balance, Value channel, BarrierSide side) {
  return balance.try_emplace({channel, side}, 0).first->second;
}

InFlightDiagnostic refuse(Operation *op, const std::pair<Value, BarrierSide> &key) {
  auto channel = key.first.getDefiningOp<ChannelOp>();
  return op->emitError() << "waits for slots of channel '" << channel.getName() << "' to be "
                         << stringifyBarrierSide(key.second);
}

void count(const Sync &sync, Balance &balance) {
  Value channel = sync.slot.channel;
  if (sync.kind == SyncKind::WaitForSlot && !sync.borrows) // a borrowed slot stays empty
    ++entry(balance, channel, sync.side);
  // A role that has read a full slot marks it empty, and the reverse.
  if (sync.kind == SyncKind::Arrive || sync.kind == SyncKind::Expect)
    --entry(balance, channel,
            sync.side == BarrierSide::Empty ? BarrierSide::Full : BarrierSide::Empty);
}

LogicalResult follow(Region &region, Balance &balance);

LogicalResult followBranch(scf::IfOp branch, Balance &balance) {
  Balance then, otherwise;
  if (failed(follow(branch.getThenRegion(), then)) ||
      failed(follow(branch.getElseRegion(), otherwise)))
    return failure();
  for (auto &[key, count] : then)
    if (int64_t other = entry(otherwise, key.first, key.second); other != count)
      return refuse(branch, key) << " " << count << " times more than it gives them on in one "
                                 << "branch, and " << other << " times in the other";
  for (auto &[key, count] : otherwise) {
    if (entry(then, key.first, key.second) != count)
      return refuse(branch, key) << " " << 0 << " times more than it gives them on in one "
                                 << "branch, and " << count << " times in the other";
    entry(balance, key.first, key.second) += count;
  }
  return success();
}

LogicalResult checkEven(Operation *op, const Balance &balance, StringRef where) {
  for (auto &[key, count] : balance)
    if (count != 0)
      return refuse(op, key) << " " << count << " times more than it gives them on " << where;
  return success();
}

LogicalResult follow(Region &region, Balance &balance) {
  for (Operation &op : region.getOps()) {
    for (const Sync &sync : syncsOf(&op))
      count(sync, balance);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (failed(followBranch(branch, balance)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Balance turn;
      if (failed(follow(loop.getRegion(), turn)) || failed(checkEven(loop, turn, "in each turn")))
        return failure();
    }
  }
  return success();
}

} // namespace

LogicalResult dash::verifyBalance(RoleOp role) {
  Balance balance;
  return failure(failed(follow(role.getBody(), balance)) ||
                 failed(checkEven(role, balance, "by the role's end")));
}
