//===- OrderBuffer.cpp - an order as the main kernel reads it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderBuffer.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::verifyBufferFits(const Problem &problem, int64_t workers, EmitError emitError) {
  int64_t numWords = orderFirstItem(workers) + orderItemWords * numItems(problem, /*parts=*/1) +
                     orderVisitWords * problem.numTasks();
  constexpr int64_t maxWords = std::numeric_limits<int32_t>::max();
  if (numWords > maxWords)
    return emitError() << "an order of " << problem.numTasks() << " tasks takes " << numWords
                       << " words as a table for kernels, expected at most " << maxWords;
  return success();
}

std::vector<int32_t> dash::encodeOrder(const Schedule &schedule) {
  const Table &table = std::get<Table>(schedule.order());
  const Problem &problem = schedule.problem;
  int64_t numItems = table.items.size(), numVisits = table.visits.size();
  int64_t firstItem = orderFirstItem(schedule.workers);
  int64_t firstVisit = firstItem + orderItemWords * numItems;
  std::vector<int32_t> words(firstVisit + orderVisitWords * numVisits);
  words[OrderVersion] = orderVersion;
  words[OrderWorkers] = schedule.workers;
  words[OrderItems] = numItems;
  words[OrderFirstList] = orderHeaderWords;
  words[OrderFirstItem] = firstItem;
  words[OrderFirstVisit] = firstVisit;
  words[OrderVisits] = numVisits;

  // Lists: the items of a worker keep the order in which they were issued.
  int32_t *lists = words.data() + orderHeaderWords;
  for (const Item &item : table.items)
    ++lists[item.worker + 1];
  for (int64_t worker : llvm::seq(schedule.workers))
    lists[worker + 1] += lists[worker];
  std::vector<int32_t> next(lists, lists + schedule.workers);

  // The last turn of a chain: sequences of a batch are equal, so the first one's count for all.
  std::vector<int32_t> lastTurn;
  for (int64_t q : llvm::seq(problem.numQTiles(0)))
    lastTurn.push_back(problem.activeKv(0, q).size() - 1);
  for (int64_t i : llvm::seq(numItems)) {
    const Item &item = table.items[i];
    int32_t firstHead = schedule.firstHead(item);
    int32_t numItemVisits = table.visitsOf(i).size();
    int32_t record[] = {item.sequence,           item.kvHead,   item.kv, firstHead,
                        int32_t(table.begin[i]), numItemVisits, 1,       item.partTurn};
    std::copy(std::begin(record), std::end(record),
              words.begin() + firstItem + orderItemWords * next[item.worker]++);
    int32_t *visit = words.data() + firstVisit + orderVisitWords * table.begin[i];
    for (const Visit &task : table.visitsOf(i)) {
      int32_t isLast = task.turn == lastTurn[task.q];
      for (int32_t word : {task.head - firstHead, task.q, task.turn, isLast})
        *visit++ = word;
    }
  }
  return words;
}
