//===- OrderPlanner.cpp - sizes in, order buffer out ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/OrderPlanner.h"
#include "OrderCache.h"
#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/Prices.h"
#include "dash/Schedule/Progress.h"
#include "dash/Support/CacheFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <utility>

using namespace mlir;
using namespace mlir::dash;

/// Stored orders, latest first, by the texts of their requests.
struct OrderPlanner::State {
  using Kept = std::list<std::pair<std::string, std::shared_ptr<const PlannedOrder>>>;

  explicit State(PlannerOptions options)
      : options(std::move(options)), disk(this->options.cacheFolder),
        context(MLIRContext::Threading::DISABLED) {}

  std::shared_ptr<const PlannedOrder> find(const std::string &key) {
    std::lock_guard<std::mutex> lock(keptMutex);
    auto found = byKey.find(key);
    if (found == byKey.end())
      return nullptr;
    kept.splice(kept.begin(), kept, found->second);
    return found->second->second;
  }
  void keep(const std::string &key, std::shared_ptr<const PlannedOrder> order) {
    if (options.mostKept == 0)
      return;
    std::lock_guard<std::mutex> lock(keptMutex);
    keptBytes += bytesOf(*order);
    kept.emplace_front(key, std::move(order));
    byKey[key] = kept.begin();
    while (kept.size() > 1 &&
           (kept.size() > options.mostKept || keptBytes > options.mostKeptBytes)) {
      keptBytes -= bytesOf(*kept.back().second);
      byKey.erase(kept.back().first);
      kept.pop_back();
    }
  }
  static uint64_t bytesOf(const PlannedOrder &order) {
    return order.words.size() * sizeof(int32_t);
  }
  // These are called with `buildMutex` held.
  using Planned = std::shared_ptr<const PlannedOrder>;
  FailureOr<Planned> plan(const ScheduleHeader &request, EmitError emitError);
  FailureOr<Planned> planInBundles(const ScheduleHeader &request, const Bundles &bundles,
                                   EmitError emitError);
  FailureOr<OrderChoice> choose(const ScheduleHeader &request, EmitError emitError);
  FailureOr<OrderChoice> chooseLarge(const ScheduleHeader &request, EmitError emitError);
  bool confirm(const ScheduleHeader &request, const OrderChoice &choice);
  /// Warns about a failure to store on disk.
  void warnOf(llvm::Error error) {
    if (!error)
      return;
    std::string message = llvm::toString(std::move(error));
    if (!std::exchange(hasWarned, true) && options.warn)
      options.warn("orders are not kept on disk: '" + disk.getFolder() + "': " + message);
  }

  PlannerOptions options;
  OrderCache disk;
  std::mutex keptMutex;
  Kept kept;
  std::map<std::string, Kept::iterator> byKey;
  uint64_t keptBytes = 0;
  std::map<std::string, OrderChoice> choices; ///< guarded by `buildMutex`
  std::mutex buildMutex;                      ///< the context serves one thread at a time
  bool hasWarned = false;
  std::atomic<int64_t> work = 0;
  MLIRContext context;
};

std::string dash::orderCacheFolder() {
  SmallString<128> folder(cacheFolder());
  if (!folder.empty())
    llvm::sys::path::append(folder, "orders");
  return std::string(folder);
}

OrderPlanner::OrderPlanner(PlannerOptions options)
    : state(std::make_unique<State>(std::move(options))) {}
OrderPlanner::~OrderPlanner() = default;

int64_t OrderPlanner::getWork() const { return state->work; }

static LogicalResult verifyRequest(const ScheduleHeader &request, EmitError emitError) {
  const Problem &problem = request.problem;
  auto isBetween = [&](StringRef name, int64_t value, int64_t least,
                       int64_t most) -> LogicalResult {
    if (value >= least && value <= most)
      return success();
    return emitError() << name << " must be from " << least << " to " << most << ", got " << value;
  };
  if (!problem.mask.rules.empty())
    return emitError()
           << "a planner serves masks without bitmaps and unions; use dash-opt for others";
  if (problem.sequences.empty() || !llvm::all_equal(problem.sequences))
    return emitError() << "kernels read orders of a batch of equal sequences, got "
                       << (problem.sequences.empty() ? "none" : "unequal ones");
  for (auto [name, value, most] :
       {std::tuple("q rows", problem.sequences.front().q, maxRows),
        {"kv rows", problem.sequences.front().kv, maxRows},
        {"q rows of a tile", problem.tiles.q, maxRows},
        {"kv rows of a tile", problem.tiles.kv, maxRows},
        {"heads", problem.heads, maxChains},
        {"kv heads", problem.kvHeads, problem.heads},
        {"head dim", problem.headDim, maxRows},
        {"workers", request.workers, maxWorkers},
        {"the workers that an order is made for", request.width, maxWorkers}})
    if (failed(isBetween(name, value, 1, most)))
      return failure();
  if (failed(verifyFold(emitError, problem.tiles.fold)))
    return failure();
  if (problem.heads % problem.kvHeads != 0)
    return emitError() << problem.heads << " heads are not a multiple of " << problem.kvHeads
                       << " kv heads";
  if (failed(verifyFoldOfGroup(emitError, problem.tiles.fold, problem.heads, problem.kvHeads)))
    return failure();
  if (failed(verifyParts(problem, request.parts, emitError)))
    return failure();
  if (problem.mask.left < -1 || problem.mask.right < -1)
    return emitError() << "bounds of a mask must be at least -1, which is none";
  if (request.maxDqBytes < 0)
    return emitError() << "the limit of dQ in flight must be at least 0, got "
                       << request.maxDqBytes;
  return failure(failed(verifyCost(request.cost, emitError)) ||
                 failed(verifyWithinLimits(request, emitError)));
}

static LogicalResult verifyWords(const ScheduleHeader &header, EmitError emitError) {
  int64_t items = numItems(header.problem, header.parts), tasks = header.problem.numTasks();
  if (int64_t words = numOrderWords(header.workers, items, tasks); words > maxOrderWords)
    return emitError() << "an order of " << tasks << " tasks takes " << words
                       << " words as a table for kernels, expected at most " << maxOrderWords;
  return success();
}

static PlannedOrder encode(const ProvenOrder &proven) {
  const Schedule &schedule = proven.schedule;
  PlannedOrder order;
  order.kind = schedule.kind;
  order.facts = proven.facts;
  order.lowerBound = lowerBound(schedule);
  Table written;
  const Table *table = std::get_if<Table>(&schedule.order());
  if (!table) {
    written = writeOut(schedule);
    table = &written;
  }
  order.words =
      encodeOrder(schedule.problem, schedule.parts, schedule.workers, table->items, table->visits);
  return order;
}

static FailureOr<PlannedOrder> build(ScheduleHeader header, MLIRContext *context,
                                     EmitError emitError) {
  if (failed(verifyWords(header, emitError)))
    return failure();
  FailureOr<ProvenOrder> proven =
      buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
  if (failed(proven))
    return failure();
  if (!proven->schedule.isOrdered())
    return emitError() << "kind '" << proven->schedule.kind << "' has no order to plan";
  proven = asTable(std::move(*proven), emitError); // as the compiler makes one
  if (failed(proven))
    return failure();
  return encode(*proven);
}

template <typename ResultT>
llvm::Expected<ResultT> OrderPlanner::run(const ScheduleHeader &request,
                                          function_ref<FailureOr<ResultT>(EmitError)> build) {
  std::string message;
  ScopedDiagnosticHandler collect(&state->context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(message);
    os << (message.empty() ? "" : "\n") << diagnostic;
    for (Diagnostic &note : diagnostic.getNotes())
      os << "; " << note;
    return success();
  });
  ProgressScope progress(state->options.progress);
  llvm::scope_exit count([&] { state->work += progress.getWork(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&state->context)); };
  if (succeeded(verifyRequest(request, emitError)))
    if (FailureOr<ResultT> built = build(emitError); succeeded(built))
      return std::move(*built);
  return llvm::createStringError(message);
}

llvm::Expected<std::shared_ptr<const PlannedOrder>>
OrderPlanner::plan(const ScheduleHeader &request) {
  using Kept = std::shared_ptr<const PlannedOrder>;
  if (Kept order = state->find(describeRequest(request)))
    return order;
  std::lock_guard<std::mutex> lock(state->buildMutex);
  return run<Kept>(request, [&](EmitError emitError) { return state->plan(request, emitError); });
}

FailureOr<OrderPlanner::State::Planned> OrderPlanner::State::plan(const ScheduleHeader &request,
                                                                  EmitError emitError) {
  std::string key = describeRequest(request);
  if (Planned order = find(key))
    return order; // another thread was faster
  const ScheduleKind *kind = findScheduleKind(request.kind);
  bool searches = request.kind == autoKind || (kind && kind->isSearched);
  if (std::optional<Bundles> bundles = Bundles::of(request); bundles && searches) {
    FailureOr<Planned> order = planInBundles(request, *bundles, emitError);
    if (succeeded(order))
      keep(key, *order);
    return order;
  }
  if (Planned order = disk.find(request)) {
    keep(key, order);
    return order;
  }
  FailureOr<PlannedOrder> built = build(request, &context, emitError);
  if (failed(built))
    return failure();
  auto order = std::make_shared<const PlannedOrder>(std::move(*built));
  warnOf(disk.keep(request, *order));
  keep(key, order);
  return Planned(order);
}

/// Plans bundles of each size, which are proven, and deals their items out again and again. Nothing
/// here grows with the tasks of the whole.
FailureOr<OrderPlanner::State::Planned>
OrderPlanner::State::planInBundles(const ScheduleHeader &request, const Bundles &bundles,
                                   EmitError emitError) {
  ScheduleHeader named = request;
  if (request.kind == autoKind) {
    FailureOr<OrderChoice> choice = chooseLarge(request, emitError);
    if (failed(choice))
      return failure();
    named.kind = choice->kind;
    if (!choice->isTable)
      return plan(named, emitError);
  }
  SmallVector<Table, 2> tables;
  SmallVector<double, 2> makespans;
  double ofBound = 1;
  auto order = std::make_shared<PlannedOrder>();
  order->lowerBound = leastMakespan(
      {request.problem, request.parts, request.workers, request.maxDqBytes, request.cost});
  for (int64_t size : bundles.sizes()) {
    ScheduleHeader one = bundles.headerOf(size);
    one.kind = named.kind;
    FailureOr<Planned> planned = plan(one, emitError);
    if (failed(planned))
      return failure();
    std::optional<Table> table = decodeOrder((*planned)->words, one);
    assert(table && "the words of a planned order hold it");
    tables.push_back(std::move(*table));
    makespans.push_back((*planned)->facts.makespan);
    order->kind = (*planned)->kind;
    order->lowerBound = std::max(order->lowerBound, (*planned)->lowerBound);
    if ((*planned)->lowerBound > 0)
      ofBound = std::max(ofBound, makespans.back() / (*planned)->lowerBound);
    noteProgress([&] {
      return llvm::formatv("ordered {0} of {1} kv heads, which serve all", size,
                           request.problem.kvHeads * request.problem.numSequences())
          .str();
    });
  }
  SmallVector<const Table *, 2> orders;
  for (const Table &table : tables)
    orders.push_back(&table);
  Bundles::Items dealt = bundles.deal(orders, makespans);
  double makespan = std::max(dealt.makespan, ofBound * order->lowerBound);
  order->facts = {request.workers, /*dynamicIssue=*/false, makespan};
  order->words = bundles.encode(orders, dealt);
  return Planned(order);
}

static ScheduleHeader nameOrder(ScheduleHeader request, const OrderChoice &choice) {
  request.kind = choice.kind;
  request.parts = choice.parts;
  request.apart = choice.apart;
  request.choosesApart = false;
  return request;
}

/// Accepts a choice from the disk if its order is there too and both agree. A table is read and
/// proven as for a plan, which then has it. Formulas are built, which needs no search.
bool OrderPlanner::State::confirm(const ScheduleHeader &request, const OrderChoice &choice) {
  ScheduleHeader named = nameOrder(request, choice);
  auto isIt = [&](bool isTable, double makespan, double bound) {
    return isTable == choice.isTable && makespan == choice.makespan && bound == choice.lowerBound;
  };
  if (choice.isTable) {
    std::shared_ptr<const PlannedOrder> order = disk.find(named);
    if (!order || !isIt(true, order->facts.makespan, order->lowerBound))
      return false;
    keep(describeRequest(named), order);
    return true;
  }
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  FailureOr<ProvenOrder> built = buildSchedule(named, /*asFormulas=*/false, &context, emitError);
  return succeeded(built) &&
         isIt(built->schedule.isTable(), built->facts.makespan, lowerBound(built->schedule));
}

llvm::Expected<OrderChoice> OrderPlanner::choose(ScheduleHeader request) {
  request.kind = autoKind.str();
  request.apart = Apart::None; // as the key says
  request.choosesApart = true;
  std::lock_guard<std::mutex> lock(state->buildMutex);
  ScheduleHeader stated = request;
  stated.parts = request.parts == 0 ? 1 : request.parts;
  return run<OrderChoice>(stated,
                          [&](EmitError emitError) { return state->choose(request, emitError); });
}

FailureOr<OrderChoice> OrderPlanner::State::choose(const ScheduleHeader &request,
                                                   EmitError emitError) {
  constexpr size_t mostChoices = 4096;
  std::string key = describeChoice(request);
  if (auto found = choices.find(key); found != choices.end())
    return found->second;
  std::optional<OrderChoice> choice;
  if (Bundles::of(request) || isTooLargeToSearch(request)) {
    FailureOr<OrderChoice> large = chooseLarge(request, emitError);
    if (failed(large))
      return failure();
    choice = std::move(*large);
  } else if (choice = disk.findChoice(request); !choice || !confirm(request, *choice)) {
    FailureOr<ProvenOrder> built =
        buildSchedule(request, /*asFormulas=*/false, &context, emitError);
    if (failed(built))
      return failure();
    const Schedule &schedule = built->schedule;
    choice = {schedule.kind,      schedule.parts,        schedule.apart,
              schedule.isTable(), built->facts.makespan, lowerBound(schedule)};
    if (choice->isTable) {
      ScheduleHeader named = nameOrder(request, *choice);
      if (failed(verifyWords(named, emitError)))
        return failure();
      auto order = std::make_shared<const PlannedOrder>(encode(*built));
      warnOf(disk.keep(named, *order));
      keep(describeRequest(named), order);
    }
    warnOf(disk.keepChoice(request, *choice));
  }
  if (choices.size() >= mostChoices)
    choices.clear();
  choices[key] = *choice;
  return std::move(*choice);
}

/// The choice for a problem that is not ordered as a whole: that of its first bundle, or formulas.
/// Its time is the bound times what a smaller problem takes of its own bound.
FailureOr<OrderChoice> OrderPlanner::State::chooseLarge(const ScheduleHeader &request,
                                                        EmitError emitError) {
  OrderChoice choice;
  double ofBound = 1;
  if (ScheduleHeader bundle; chooseOnBundle(request, bundle)) {
    FailureOr<OrderChoice> first = choose(bundle, emitError);
    if (failed(first))
      return failure();
    choice = std::move(*first);
    ofBound = choice.lowerBound > 0 ? choice.makespan / choice.lowerBound : 1;
    const ScheduleKind *kind = nullptr;
    if (!choice.isTable) {
      ScheduleHeader stated = request;
      stated.parts = choice.parts;
      FailureOr<const ScheduleKind *> fixed = fixedKindForAll(stated, ofBound, &context, emitError);
      if (failed(fixed))
        return failure();
      kind = *fixed;
    }
    choice.isTable = !kind;
    choice.kind = (kind ? *kind : searchedKind()).name.str();
  } else {
    ScheduleHeader stated = request;
    stated.parts = std::max<int64_t>(request.parts, 1);
    FailureOr<FixedChoice> fixed =
        chooseFixedKind(stated, /*asFormulas=*/true, &context, emitError);
    if (failed(fixed))
      return failure();
    choice.kind = fixed->kind->name.str();
    choice.parts = stated.parts;
    ofBound = fixed->ofBound;
  }
  choice.lowerBound = leastMakespan(
      {request.problem, choice.parts, request.workers, request.maxDqBytes, request.cost});
  choice.makespan = ofBound * choice.lowerBound;
  return choice;
}
