//===- Planner.cpp - sizes in, order buffer out ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Planner.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/Kinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <list>
#include <map>
#include <mutex>

using namespace mlir;
using namespace mlir::dash;

/// Kept orders, latest first.
struct Planner::State {
  using Key = std::vector<int64_t>;
  using Kept = std::list<std::pair<Key, std::shared_ptr<const PlannedOrder>>>;

  explicit State(size_t mostKept) : mostKept(mostKept), context(MLIRContext::Threading::DISABLED) {}

  std::shared_ptr<const PlannedOrder> find(const Key &key) {
    std::lock_guard<std::mutex> lock(keptMutex);
    auto found = byKey.find(key);
    if (found == byKey.end())
      return nullptr;
    kept.splice(kept.begin(), kept, found->second);
    return found->second->second;
  }
  void keep(const Key &key, std::shared_ptr<const PlannedOrder> order) {
    std::lock_guard<std::mutex> lock(keptMutex);
    kept.emplace_front(key, std::move(order));
    byKey[key] = kept.begin();
    if (kept.size() > mostKept) {
      byKey.erase(kept.back().first);
      kept.pop_back();
    }
  }

  size_t mostKept;
  std::mutex keptMutex;
  Kept kept;
  std::map<Key, Kept::iterator> byKey;
  std::mutex buildMutex; ///< the context serves one thread at a time
  MLIRContext context;
};

Planner::Planner(size_t mostKept) : state(std::make_unique<State>(mostKept)) {}
Planner::~Planner() = default;

/// Everything that an order follows from, and what makes a request one that is refused.
static std::vector<int64_t> makeKey(const ScheduleHeader &request) {
  const Problem &problem = request.problem;
  auto bits = [](double value) { return llvm::bit_cast<int64_t>(value); };
  const Cost &cost = request.cost;
  std::vector<int64_t> key = {
      int64_t(request.level), request.workers,    request.width,
      bits(cost.compute),     bits(cost.reduce),  bits(cost.latency),
      cost.buffers,           request.maxDqBytes, problem.tiles.q,
      problem.tiles.kv,       problem.mask.left,  problem.mask.right,
      problem.heads,          problem.kvHeads,    problem.headDim,
      problem.headDimV,       request.parts,      int64_t(problem.mask.rules.size()),
      problem.numSequences()};
  for (const SequenceLengths &lengths : problem.sequences)
    llvm::append_values(key, lengths.q, lengths.kv);
  llvm::append_range(key, request.kind);
  return key;
}

static LogicalResult verifyRequest(const ScheduleHeader &request, EmitError emitError) {
  const Problem &problem = request.problem;
  auto isBetween = [&](StringRef name, int64_t value, int64_t least,
                       int64_t most) -> LogicalResult {
    if (value >= least && value <= most)
      return success();
    return emitError() << name << " must be from " << least << " to " << most << ", got " << value;
  };
  if (!problem.mask.rules.empty())
    return emitError() << "a planner serves masks without bitmaps; use dash-opt for others";
  if (request.parts != 1)
    return emitError() << "kernels read orders of one part, got " << request.parts;
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
  if (problem.heads % problem.kvHeads != 0)
    return emitError() << problem.heads << " heads are not a multiple of " << problem.kvHeads
                       << " kv heads";
  if (problem.mask.left < -1 || problem.mask.right < -1)
    return emitError() << "bounds of a mask must be at least -1, which is none";
  if (request.maxDqBytes < 0)
    return emitError() << "the limit of dQ in flight must be at least 0, got "
                       << request.maxDqBytes;
  return CostAttr::verify(emitError, APFloat(request.cost.compute), APFloat(request.cost.reduce),
                          APFloat(request.cost.latency), request.cost.buffers);
}

static FailureOr<PlannedOrder> build(ScheduleHeader header, MLIRContext *context,
                                     EmitError emitError) {
  if (failed(verifyRequest(header, emitError)) ||
      failed(verifyCountable(header.problem, emitError)))
    return failure();
  int64_t items = numItems(header.problem, header.parts), tasks = header.problem.numTasks();
  if (int64_t words = numOrderWords(header.workers, items, tasks); words > maxOrderWords)
    return emitError() << "an order of " << tasks << " tasks takes " << words
                       << " words as a table for kernels, expected at most " << maxOrderWords;
  FailureOr<Schedule> schedule =
      buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
  if (failed(schedule))
    return failure();
  FailureOr<ScheduleFacts> facts = verify(*schedule, emitError);
  if (failed(facts))
    return failure();
  if (!schedule->isOrdered())
    return emitError() << "kind '" << schedule->kind << "' has no order to plan";
  PlannedOrder order;
  order.kind = schedule->kind;
  order.facts = *facts;
  order.lowerBound = lowerBound(*schedule);
  Table written;
  const Table *table = std::get_if<Table>(&schedule->order());
  if (!table) {
    written = writeOut(*schedule);
    table = &written;
  }
  order.words = encodeOrder(schedule->problem, schedule->workers, table->items, table->visits);
  return order;
}

llvm::Expected<std::shared_ptr<const PlannedOrder>> Planner::plan(const ScheduleHeader &request) {
  State::Key key = makeKey(request);
  if (std::shared_ptr<const PlannedOrder> order = state->find(key))
    return order;
  std::lock_guard<std::mutex> lock(state->buildMutex);
  if (std::shared_ptr<const PlannedOrder> order = state->find(key))
    return order; // somebody else was faster
  std::string message;
  ScopedDiagnosticHandler collect(&state->context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(message);
    os << (message.empty() ? "" : "\n") << diagnostic;
    for (Diagnostic &note : diagnostic.getNotes())
      os << "; " << note;
    return success();
  });
  FailureOr<PlannedOrder> built =
      build(request, &state->context, [&] { return emitError(UnknownLoc::get(&state->context)); });
  if (failed(built))
    return llvm::createStringError(message);
  auto order = std::make_shared<const PlannedOrder>(std::move(*built));
  if (state->mostKept > 0)
    state->keep(key, order);
  return order;
}
