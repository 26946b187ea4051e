//===- check-planner.cpp - the planner's memory, and its threads ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends with 1 and the first thing that is wrong.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/Bundles.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/OrderPlanner.h"
#include "dash/Schedule/Progress.h"
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
  request.cost = Prices::shipped().of(request.problem, Priced::Whole);
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

/// The schedule of a request, proven, as dash-opt builds it.
static ProvenOrder build(const ScheduleHeader &request) {
  static MLIRContext context(MLIRContext::Threading::DISABLED);
  FailureOr<ProvenOrder> built = buildSchedule(request, /*asFormulas=*/false, &context,
                                               [] { return emitError(UnknownLoc::get(&context)); });
  expect(succeeded(built), "an order");
  return std::move(*built);
}

/// Bundles of one size and of two, of several sequences and of groups of heads: what they make is
/// an order of the whole, and no worse than those of bundles.
static void checkBundles(int64_t batch, int64_t kvHeads, int64_t group, int64_t parts,
                         int64_t together, SmallVector<int64_t> sizes) {
  ScheduleHeader request = makeRequest(1024);
  request.kind = "synthesized";
  request.parts = parts;
  request.problem.kvHeads = kvHeads;
  request.problem.heads = kvHeads * group;
  request.problem.sequences.assign(batch, {1000, 1024});
  int64_t tasksOfKvHead = request.problem.numTasks() / (batch * kvHeads);
  expect(!Bundles::of(request), "a small problem to be ordered as a whole");
  std::optional<Bundles> bundles = Bundles::of(request, /*mostTasks=*/together * tasksOfKvHead + 1);
  expect(bundles && ArrayRef(bundles->sizes()) == ArrayRef(sizes), "bundles of these sizes");

  std::vector<Table> tables;
  std::vector<double> makespans;
  double ofBound = 0;
  for (int64_t size : bundles->sizes()) {
    ProvenOrder one = build(bundles->headerOf(size));
    tables.push_back(writeOut(one.schedule));
    makespans.push_back(one.facts.makespan);
    ofBound = std::max(ofBound, one.facts.makespan / lowerBound(one.schedule));
  }
  std::vector<const Table *> orders;
  for (const Table &table : tables)
    orders.push_back(&table);
  Bundles::Items dealt = bundles->deal(orders, makespans);
  Table whole = bundles->writeOut(orders, dealt);
  expect(bundles->encode(orders, dealt) ==
             encodeOrder(request.problem, parts, request.workers, whole.items, whole.visits),
         "the same words from bundles as from the whole");
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  FailureOr<ProvenOrder> proven =
      prove(Schedule::get(request, Order(std::move(whole)), emitError), emitError);
  expect(succeeded(proven), "bundles to make an order of the whole");
  expect(proven->facts.makespan <= 1.05 * ofBound * lowerBound(proven->schedule),
         "an order of the whole as near to its bound as those of bundles");
  expect(std::abs(proven->facts.makespan / dealt.makespan - 1) < 0.1, "a good estimate");
}

/// Problems beyond what is ordered as a whole: in bundles, and one kv head with larger q tiles. The
/// planner makes the same as dash-opt, with no more work however large the problem is.
static void checkManyTasks() {
  ScheduleHeader request = makeRequest(32768);
  request.kind = "synthesized";
  request.workers = request.width = 132;
  request.problem.heads = request.problem.kvHeads = 41;
  OrderPlanner planner = makePlanner(/*mostKept=*/64);
  Planned order = plan(planner, request);
  int64_t items = 41 * 256, tasks = request.problem.numTasks(), words = order->words.size();
  expect(tasks > mostTasksTogether, "more tasks than are ordered as a whole");
  expect(words <= numOrderWords(132, items, tasks / 41 * 21 + tasks / 41 * 20),
         "the visits of one bundle of each size");
  ProvenOrder built = build(request);
  const auto &table = std::get<Table>(built.schedule.order());
  expect(order->words == encodeOrder(request.problem, 1, 132, table.items, table.visits),
         "the words that dash-opt writes");
  expect(std::abs(built.facts.makespan / order->facts.makespan - 1) < 0.01, "a good estimate");
  expect(built.facts.makespan < 1.02 * order->lowerBound, "an order near the bound");
  int64_t work = planner.getWork();
  expect(work > 0 && work < 8 * mostTasksTogether, "a bounded number of tasks simulated");
  request.problem.heads = request.problem.kvHeads = 41 * 64;
  plan(planner, request);
  expect(planner.getWork() - work < 8 * mostTasksTogether, "no more of them for 64 times as many");

  request.problem.heads = 3;
  request.problem.kvHeads = 1;
  request.problem.sequences = {{131072, 131072}};
  OrderPlanner other = makePlanner(/*mostKept=*/64);
  Planned one = plan(other, request);
  expect(one->facts.makespan < 1.02 * one->lowerBound, "an order of one kv head near the bound");
  expect(other.getWork() < 8 * mostTasksTogether, "one kv head to be searched for in larger tiles");
}

/// Progress is told after a while, and not too often.
static void checkProgress() {
  SmallVector<std::string> said;
  std::function<void(StringRef)> say = [&](StringRef text) { said.push_back(text.str()); };
  auto note = [] { noteProgress([] { return "done " + std::string("so much"); }); };
  note(); // where nothing is said
  ProgressScope scope(say);
  note();
  expect(said.empty(), "nothing to be said at once");
  std::this_thread::sleep_for(std::chrono::milliseconds(210));
  note();
  note();
  expect(said.size() == 1 && StringRef(said[0]).starts_with("done so much, after 0."),
         "one line after a while");
  std::function<void(StringRef)> none;
  {
    ProgressScope inner(none);
    countWork(3);
    expect(inner.getWork() == 3, "work to be counted where nothing is said");
  }
  countWork(2);
  expect(scope.getWork() == 2, "work of a scope to be its own");
}

int main() {
  checkMemory();
  checkKeys();
  checkThreads();
  checkProgress();
  checkBundles(/*batch=*/1, /*kvHeads=*/6, /*group=*/1, /*parts=*/1, /*together=*/2, {2});
  checkBundles(/*batch=*/1, /*kvHeads=*/7, /*group=*/2, /*parts=*/1, /*together=*/3, {3, 2});
  checkBundles(/*batch=*/2, /*kvHeads=*/4, /*group=*/2, /*parts=*/2, /*together=*/3, {2});
  checkBundles(/*batch=*/1, /*kvHeads=*/11, /*group=*/2, /*parts=*/4, /*together=*/4, {4, 3});
  checkManyTasks();
  llvm::outs() << "memory, keys, threads and bundles are right\n";
  return 0;
}
