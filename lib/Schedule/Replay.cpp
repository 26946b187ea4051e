//===- Replay.cpp - run a schedule's lists in dependency order ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Replay.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

ChainIds::ChainIds(const Problem &problem) {
  int64_t size = 0;
  for (int64_t s = 0; s < problem.numSequences(); ++s) {
    base.push_back(size);
    qTiles.push_back(problem.numQTiles(s));
    size += problem.heads * qTiles.back();
  }
  base.push_back(size);
}

KvTileIds::KvTileIds(const Problem &problem) {
  int64_t size = 0;
  for (int64_t s = 0; s < problem.numSequences(); ++s) {
    base.push_back(size);
    kvTiles.push_back(problem.numKvTiles(s));
    size += problem.kvHeads * kvTiles.back();
  }
  base.push_back(size);
}

Replay::Replay(const Schedule &schedule, Visitor &visitor)
    : schedule(schedule), visitor(visitor), isOrdered(schedule.isOrdered()), reader(schedule),
      chains(schedule.problem), kvTiles(schedule.problem), listBegin(schedule.workers + 1),
      workers(schedule.workers) {
  // A counting sort by worker keeps the issue order within each list.
  for (const Item &item : schedule.items())
    ++listBegin[item.worker + 1];
  for (int64_t w = 0; w < schedule.workers; ++w)
    listBegin[w + 1] += listBegin[w];
  std::vector<int64_t> end(listBegin.begin(), listBegin.end() - 1);
  listItems.resize(schedule.items().size());
  for (auto [index, item] : llvm::enumerate(schedule.items()))
    listItems[end[item.worker]++] = index;
  next.resize(chains.size() + (schedule.parts > 1 ? kvTiles.size() : 0));
  numAsleep.resize(next.size());
}

bool Replay::tryTurn(int64_t chain, int32_t turn, int32_t worker, Outcome &outcome) {
  if (!isOrdered || next[chain] == turn)
    return true;
  bool isTaken = next[chain] > turn || !asleep.insert({{chain, turn}, worker}).second;
  ++numAsleep[chain];
  outcome = isTaken ? Outcome::TurnTaken : Outcome::Ran;
  return false;
}

void Replay::passTurn(int64_t chain) {
  int32_t turn = ++next[chain];
  if (numAsleep[chain] == 0)
    return;
  auto it = asleep.find({chain, turn});
  if (it == asleep.end())
    return;
  ready.push_back(it->second);
  asleep.erase(it);
  --numAsleep[chain];
}

Replay::Outcome Replay::advance(int32_t index) {
  Worker &worker = workers[index];
  ArrayRef<int32_t> items = list(index);
  Outcome outcome = Outcome::Ran;
  for (; worker.listPosition < int64_t(items.size()); ++worker.listPosition) {
    int64_t itemIndex = items[worker.listPosition];
    const Item &item = schedule.items()[itemIndex];
    if (!worker.inItem) {
      if (failed(reader.read(itemIndex, worker.visits)))
        return Outcome::Unreadable;
      if (failed(visitor.enterItem(itemIndex, worker.visits)))
        return Outcome::Refused;
      worker.inItem = true;
      worker.visitPosition = 0;
    }
    for (; worker.visitPosition < int64_t(worker.visits.size()); ++worker.visitPosition) {
      const Visit &visit = worker.visits[worker.visitPosition];
      int64_t chain = chains(item.sequence, visit.head, visit.q);
      if (!tryTurn(chain, visit.turn, index, outcome))
        return outcome;
      visitor.task(index, itemIndex, visit, chain);
      passTurn(chain);
    }
    if (schedule.parts > 1) {
      int64_t chain = chains.size() + kvTiles(item);
      if (!tryTurn(chain, item.partTurn, index, outcome))
        return outcome;
      visitor.leaveItem(itemIndex, chain - chains.size());
      passTurn(chain);
    }
    worker.inItem = false;
  }
  worker.visits.clear();
  ++numFinished;
  return outcome;
}

Replay::Outcome Replay::start(int64_t worker) {
  ++numStarted;
  ready.push_back(worker);
  while (!ready.empty())
    if (Outcome outcome = advance(ready.pop_back_val()); outcome != Outcome::Ran)
      return outcome;
  return Outcome::Ran;
}

Replay::Position Replay::position(int64_t index) const {
  const Worker &worker = workers[index];
  int64_t item = list(index)[worker.listPosition];
  if (worker.visitPosition < int64_t(worker.visits.size()))
    return {item, worker.visits[worker.visitPosition]};
  return {item, std::nullopt};
}
