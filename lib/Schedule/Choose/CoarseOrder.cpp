//===- CoarseOrder.cpp - search with larger q tiles -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CoarseOrder.h"
#include "Replay/Replay.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

CoarseProblem::CoarseProblem(const ScheduleHeader &fine, int64_t factor)
    : fine(fine), coarse(fine), factor(factor) {
  coarse.problem.tiles.q *= factor;
  for (double Cost::*price : {&Cost::compute, &Cost::reduce, &Cost::piece, &Cost::gather})
    coarse.cost.*price *= factor;
}

Table CoarseProblem::refine(const Table &order) const {
  const Problem &problem = fine.problem;
  ChainIds chains(problem);
  auto run = [&](const Item &item, const Visit &visit) {
    int64_t begin = visit.tile * factor;
    return TileRange{begin, std::min(begin + factor, problem.numQTiles(item.sequence))};
  };
  // Where a mask's edge cuts a run, some of its tiles have no task, and their chains lack a turn.
  std::vector<SmallVector<int32_t, 0>> lacking(chains.size());
  for (auto [index, item] : llvm::enumerate(order.items)) {
    TileRange active = problem.activeQ(item.sequence, item.tile).hull();
    for (const Visit &visit : order.visitsOf(index)) {
      TileRange tiles = run(item, visit);
      if (tiles.begin >= active.begin && tiles.end <= active.end)
        continue;
      for (int64_t q : llvm::seq(tiles.begin, tiles.end))
        if (q < active.begin || q >= active.end)
          lacking[chains(item.sequence, visit.head, q)].push_back(visit.turn);
    }
  }

  Table table;
  table.items = order.items;
  table.begin.reserve(order.items.size() + 1);
  table.visits.reserve(problem.numTasks());
  for (auto [index, item] : llvm::enumerate(order.items)) {
    TileRange active = problem.activeQ(item.sequence, item.tile).hull();
    for (const Visit &visit : order.visitsOf(index)) {
      TileRange tiles = run(item, visit);
      for (int64_t q : llvm::seq(std::max(tiles.begin, active.begin),
                                 std::max(active.begin, std::min(tiles.end, active.end)))) {
        int32_t turn = visit.turn;
        for (int32_t other : lacking[chains(item.sequence, visit.head, q)])
          turn -= other < visit.turn;
        table.visits.push_back({visit.head, int32_t(q), turn});
      }
    }
    table.begin.push_back(table.visits.size());
  }
  return table;
}
