//===- SlotUse.cpp - the use of a channel behind an index -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Steps/SlotUse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dash;

LinearIndex LinearIndex::of(Value index) {
  LinearIndex result;
  APInt number;
  if (matchPattern(index, m_ConstantInt(&number))) {
    result.constant = number.getSExtValue();
    return result;
  }
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    return of(add.getLhs()) + of(add.getRhs());
  if (auto sub = index.getDefiningOp<arith::SubIOp>())
    return of(sub.getLhs()) - of(sub.getRhs());
  result.terms.push_back({index, 1});
  return result;
}

LinearIndex LinearIndex::plus(const LinearIndex &other, int64_t times) const {
  LinearIndex result;
  result.constant = constant + times * other.constant;
  auto mine = terms.begin(), theirs = other.terms.begin();
  while (mine != terms.end() || theirs != other.terms.end()) {
    const void *first = mine == terms.end() ? nullptr : mine->first.getAsOpaquePointer();
    const void *second = theirs == other.terms.end() ? nullptr : theirs->first.getAsOpaquePointer();
    bool takesMine = mine != terms.end() && (!second || first <= second);
    bool takesTheirs = theirs != other.terms.end() && (!first || second <= first);
    Value value = takesMine ? mine->first : theirs->first;
    int64_t sum = 0;
    if (takesMine)
      sum += (mine++)->second;
    if (takesTheirs)
      sum += times * (theirs++)->second;
    if (sum != 0)
      result.terms.push_back({value, sum});
  }
  return result;
}

int64_t LinearIndex::timesOf(Value value) const {
  for (auto [term, times] : terms)
    if (term == value)
      return times;
  return 0;
}

LinearIndex LinearIndex::replace(Value value, const LinearIndex &by) const {
  int64_t times = timesOf(value);
  if (times == 0)
    return *this;
  LinearIndex old;
  old.terms.push_back({value, times});
  LinearIndex result = *this - old;
  for (int64_t i = 0; i < std::abs(times); ++i)
    result = times > 0 ? result + by : result - by;
  return result;
}

bool dash::mayShareSlot(const SlotUse &one, const SlotUse &other) {
  int64_t depth = one.channel.getDefiningOp<ChannelOp>().getDepth();
  return one.channel == other.channel && (one.use - other.use).mayBeMultipleOf(depth);
}

std::optional<SlotUse> dash::slotUseOf(const SlotRef &slot) {
  auto ring = slot.slot ? slot.slot.getDefiningOp<RingOp>() : RingOp();
  if (!ring || slot.slot != ring.getSlot() || ring.getChannel() != slot.channel)
    return std::nullopt;
  return SlotUse{slot.channel, LinearIndex::of(ring.getUse())};
}

LogicalResult dash::verifyWaitsAreOps(Operation *op) {
  auto isNumbered = [](const auto &one) { return one.slot.channel && !one.slot.slot; };
  bool isOfTiles =
      !isa<SlotAccessInterface>(op) &&
      llvm::any_of(sumAccessesOf(op), [](const SumAccess &sum) { return sum.isContribution(); });
  if (!isOfTiles && !isa<LoadOp, StoreOp>(op) && llvm::none_of(accessesOf(op), isNumbered) &&
      llvm::none_of(syncsOf(op), isNumbered))
    return success();
  return op->emitError("is no wait and no arrival yet; run --dash-insert-waits first");
}
