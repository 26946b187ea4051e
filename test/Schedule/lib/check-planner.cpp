//===- check-planner.cpp - the planner's memory, and its threads ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends with 1 and the first thing that is wrong.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/OrderPlanner.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstdlib>
#include <thread>

using namespace mlir;
using namespace mlir::dash;

using Planned = std::shared_ptr<const PlannedOrder>;

static void expect(bool holds, const llvm::Twine &what) {
  if (holds)
    return;
  llvm::errs() << "check-planner: error: expected " << what << "\n";
  std::exit(1);
}

static ScheduleHeader makeRequest(int64_t rows) {
  ScheduleHeader request;
  request.kind = "auto";
  request.workers = request.width = 8;
  request.problem.mask = Mask::causal();
  request.problem.heads = request.problem.kvHeads = 2;
  request.problem.sequences = {{rows, rows}};
  request.cost = Prices::shipped().of(request.problem);
  return request;
}

static OrderPlanner makePlanner(size_t mostKept) {
  PlannerOptions options;
  options.mostKept = mostKept;
  options.cacheFolder.clear();
  return OrderPlanner(std::move(options));
}

static Planned plan(OrderPlanner &planner, const ScheduleHeader &request) {
  llvm::Expected<Planned> order = planner.plan(request);
  if (!order) {
    llvm::errs() << "check-planner: error: " << llvm::toString(order.takeError()) << "\n";
    std::exit(1);
  }
  return *order;
}

static void checkMemory() {
  OrderPlanner planner = makePlanner(/*mostKept=*/2);
  Planned a = plan(planner, makeRequest(512)), b = plan(planner, makeRequest(1024));
  expect(plan(planner, makeRequest(512)) == a, "a request that was asked for before to be kept");
  Planned c = plan(planner, makeRequest(1536));
  expect(plan(planner, makeRequest(512)) == a, "the request that was asked for last to stay");
  expect(plan(planner, makeRequest(1536)) == c, "the request that was planned last to stay");
  Planned again = plan(planner, makeRequest(1024));
  expect(again != b, "what was asked for longest ago to go");
  expect(again->words == b->words, "the same order when it is planned anew");

  PlannerOptions small;
  small.mostKeptBytes = 1;
  small.cacheFolder.clear();
  OrderPlanner one(std::move(small));
  Planned large = plan(one, makeRequest(512));
  expect(plan(one, makeRequest(512)) == large, "one order to be kept, however large");
  plan(one, makeRequest(1024));
  expect(plan(one, makeRequest(512)) != large, "no more bytes to be kept than that");

  OrderPlanner forgetful = makePlanner(/*mostKept=*/0);
  Planned first = plan(forgetful, makeRequest(512)), second = plan(forgetful, makeRequest(512));
  expect(first != second && first->words == second->words,
         "nothing to be kept where none is to be");
}

/// Whatever an order follows from is a request of its own.
static void checkKeys() {
  OrderPlanner planner = makePlanner(/*mostKept=*/64);
  Planned base = plan(planner, makeRequest(1000));
  auto isAnother = [&](StringRef what, llvm::function_ref<void(ScheduleHeader &)> change) {
    ScheduleHeader request = makeRequest(1000);
    change(request);
    expect(plan(planner, request) != base, "another order for " + what);
  };
  isAnother("workers", [](ScheduleHeader &r) { r.workers = r.width = 7; });
  isAnother("a level", [](ScheduleHeader &r) { r.level = DeterminismLevel::Batch; });
  isAnother("a kind", [](ScheduleHeader &r) { r.kind = "shift"; });
  isAnother("a mask", [](ScheduleHeader &r) { r.problem.mask = Mask::full(); });
  isAnother("heads", [](ScheduleHeader &r) { r.problem.heads = 4; });
  isAnother("rows", [](ScheduleHeader &r) { r.problem.sequences = {{1000, 1064}}; });
  isAnother("a batch", [](ScheduleHeader &r) { r.problem.sequences.push_back({1000, 1000}); });
  isAnother("tiles", [](ScheduleHeader &r) { r.problem.tiles.q = 128; });
  isAnother("a head dim", [](ScheduleHeader &r) { r.problem.headDim = 64; });
  isAnother("a limit of dQ", [](ScheduleHeader &r) { r.maxDqBytes = 0; });
  for (double Cost::*price : {&Cost::compute, &Cost::reduce, &Cost::latency, &Cost::boundary})
    isAnother("a cost", [&](ScheduleHeader &r) { r.cost.*price += 0.1; });
  isAnother("a price of parts", [](ScheduleHeader &r) { r.cost.piece += 0.1; });
  isAnother("buffers", [](ScheduleHeader &r) { r.cost.buffers = 1; });
  expect(plan(planner, makeRequest(1000)) == base, "the first request to be kept beside them");
}

static void checkThreads() {
  constexpr int64_t numThreads = 4, numSizes = 6, rounds = 20;
  OrderPlanner planner = makePlanner(/*mostKept=*/3), alone = makePlanner(/*mostKept=*/numSizes);
  std::vector<Planned> expected;
  for (int64_t i = 0; i < numSizes; ++i)
    expected.push_back(plan(alone, makeRequest(256 * (i + 1))));
  std::atomic<int64_t> different = 0;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < numThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t round = 0; round < rounds; ++round) {
        int64_t size = (round * (thread + 1)) % numSizes;
        ScheduleHeader request = makeRequest(256 * (size + 1));
        different += plan(planner, request)->words != expected[size]->words;
        request.workers = 0; // refused, beside others that are served
        llvm::Expected<Planned> refused = planner.plan(request);
        different += bool(refused);
        if (!refused)
          llvm::consumeError(refused.takeError());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  expect(different == 0, "the same orders from several threads, and the same refusals");
}

int main() {
  checkMemory();
  checkKeys();
  checkThreads();
  llvm::outs() << "memory, keys and threads are right\n";
  return 0;
}
