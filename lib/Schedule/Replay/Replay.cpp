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
    tiles.push_back(problem.numWalkedTiles(s));
    size += problem.walkedHeads() * tiles.back();
  }
  base.push_back(size);
}

OwnTileIds::OwnTileIds(const Problem &problem) {
  int64_t size = 0;
  for (int64_t s = 0; s < problem.numSequences(); ++s) {
    base.push_back(size);
    tiles.push_back(problem.numOwnTiles(s));
    size += problem.ownHeads() * tiles.back();
  }
  base.push_back(size);
}

ReplayState::ReplayState(const Schedule &schedule)
    : schedule(schedule), reader(schedule), chains(schedule.problem), ownTiles(schedule.problem),
      listBegin(schedule.workers + 1), workers(schedule.workers),
      turns(chains.size() + (schedule.parts > 1 ? ownTiles.size() : 0)) {
  // A counting sort by worker keeps the issue order within each list.
  for (const Item &item : schedule.items())
    ++listBegin[item.worker + 1];
  for (int64_t w = 0; w < schedule.workers; ++w)
    listBegin[w + 1] += listBegin[w];
  std::vector<int64_t> end(listBegin.begin(), listBegin.end() - 1);
  listItems.resize(schedule.items().size());
  for (auto [index, item] : llvm::enumerate(schedule.items()))
    listItems[end[item.worker]++] = index;
}

ReplayState::Position ReplayState::position(int64_t index) const {
  const Worker &worker = workers[index];
  int64_t item = list(index)[worker.listPosition];
  if (worker.visitPosition < int64_t(worker.visits.size()))
    return {item, worker.visits[worker.visitPosition]};
  return {item, std::nullopt};
}
