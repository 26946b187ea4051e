//===- DealByWork.cpp - items to the worker that is free first ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DealByWork.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <functional>
#include <queue>

using namespace mlir;
using namespace mlir::dash;

SmallVector<int64_t> dash::sequencesByRows(const Problem &problem) {
  auto sequences = llvm::to_vector(llvm::seq(problem.numSequences()));
  auto rowsOf = [&](int64_t sequence) {
    const SequenceLengths &lengths = problem.sequences[sequence];
    return problem.ownsQ() ? lengths.kv : lengths.q;
  };
  llvm::sort(sequences, [&](int64_t a, int64_t b) {
    return std::pair(-rowsOf(a), a) < std::pair(-rowsOf(b), b);
  });
  return sequences;
}

void dash::dealByWork(MutableArrayRef<Item> items, function_ref<int64_t(const Item &)> priceOf,
                      int64_t workers) {
  using Free = std::pair<int64_t, int32_t>; // when, and who
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (int32_t worker : llvm::seq<int32_t>(workers))
    free.emplace(0, worker);
  for (Item &item : items) {
    auto [time, worker] = free.top();
    free.pop();
    item.worker = worker;
    free.emplace(time + priceOf(item), worker);
  }
}
