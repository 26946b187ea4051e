//===- LeastMakespan.cpp - a lower bound of every order's time ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Replay/Clock.h"
#include "dash/Schedule/LayoutSearch.h"
#include "llvm/ADT/Sequence.h"
#include <map>

using namespace mlir;
using namespace mlir::dash;

double dash::leastMakespan(const LayoutRequest &request) {
  const Problem &problem = request.problem;
  const Cost &cost = request.cost;
  int64_t pieces = numPieces(problem, request.parts, cost);
  // most tasks first; items without tasks are left out
  std::map<int64_t, int64_t, std::greater<>> itemsOfTasks;
  PartCut cut(problem, request.parts);
  for (int64_t begin = 0, end; begin < problem.numSequences(); begin = end) {
    for (end = begin + 1;
         end < problem.numSequences() && problem.sequences[end] == problem.sequences[begin];)
      ++end;
    int64_t lines = problem.isCut() ? problem.numKeyPieces(begin) : cut.runs();
    for (int64_t tile : llvm::seq(problem.numOwnTiles(begin)))
      for (int64_t line : llvm::seq(lines))
        if (int64_t tasks = cut.numTasks(line, problem.activeWalked(begin, tile, line).size());
            tasks > 0)
          itemsOfTasks[tasks] +=
              (end - begin) * problem.ownHeads() * (request.parts / cut.runs()) * request.copies;
  }
  std::vector<int64_t> sum = {0}; // prefix sums of the tasks of items
  for (auto [tasks, items] : itemsOfTasks)
    for (int64_t i = 0; i < items; ++i)
      sum.push_back(sum.back() + tasks);
  int64_t items = sum.size() - 1;
  double least = timeWithoutWaiting(cost, pieces, sum.back(), items) / request.workers;
  for (int64_t k = 0; k * request.workers < items; ++k) {
    int64_t end = k * request.workers + 1;
    least = std::max(least, timeWithoutWaiting(cost, pieces, sum[end] - sum[end - k - 1], k + 1));
  }
  return least;
}
