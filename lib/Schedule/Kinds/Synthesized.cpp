//===- Synthesized.cpp - the best of many simulated orders ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free workers take items and choose q tiles that no other worker is adding to. The result is
// frozen. No fixed order wins on every mask. This one follows from the mask, and is never worse
// than the fixed ones: where one of them is better, it is that one.
//
// From level batch on, the search for a sequence's order sees only that sequence. At level machine
// it sees only one of its kv heads, on the stated number of workers. Lists do not change bits, so
// they are made for the whole problem.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/Verify.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::dash;

namespace mlir::dash::kinds {
extern const ScheduleKind Synthesized;
} // namespace mlir::dash::kinds

static LayoutRequest makeRequest(const ScheduleHeader &header) {
  return {header.problem, header.parts, header.workers, header.maxDqBytes, header.cost};
}

/// The same order with items sorted by the time of their first add, and parts by that of their
/// last. These times grow along lists and chains. So the order makes progress when it is issued to
/// at least as many workers, in any lists; ListScheduler.h gives the reason.
static Table inTimeOrder(const Schedule &schedule) {
  Table table = writeOut(schedule);
  std::vector<std::pair<double, int64_t>> starts, ends;
  for (int64_t item : llvm::seq<int64_t>(table.items.size())) {
    starts.emplace_back(std::numeric_limits<double>::infinity(), item);
    ends.emplace_back(0, item);
  }
  predict(schedule, [&](const TimedTask &task) {
    starts[task.item].first = std::min(starts[task.item].first, task.reduceStart);
    ends[task.item].first = std::max(ends[task.item].first, task.reduceEnd);
  });
  // Items without tasks whose adds have no price come last in both orders. Such an item may be a
  // part beside others of its kv tile.
  for (auto [start, end] : llvm::zip_equal(starts, ends))
    if (start.first == std::numeric_limits<double>::infinity())
      end.first = start.first;
  llvm::sort(starts);
  llvm::sort(ends);
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> turns;
  for (auto [time, index] : ends) {
    Item &item = table.items[index];
    item.partTurn = turns[{item.sequence, item.head, item.tile}]++;
  }
  Table sorted;
  for (auto [time, index] : starts) {
    sorted.items.push_back(table.items[index]);
    llvm::append_range(sorted.visits, table.visitsOf(index));
    sorted.begin.push_back(sorted.visits.size());
  }
  return sorted;
}

/// Adds a frozen order to a plan as a separate group. The plan refers to its visits.
static void append(Plan &plan, const Table &order, int32_t sequence, int32_t kvHead,
                   int32_t groupSize) {
  int32_t group = plan.groupDqBytes.size();
  plan.groupDqBytes.push_back(0);
  for (auto [index, item] : llvm::enumerate(order.items)) {
    PlannedItem planned;
    planned.item = item;
    planned.item.sequence = sequence;
    planned.item.head += kvHead;
    planned.group = group;
    planned.visits = order.visitsOf(index);
    planned.firstHead = kvHead * groupSize;
    plan.items.push_back(planned);
  }
}

/// An order of one sequence, or of one of its kv heads, and the number of workers it needs.
struct OrderAlone {
  Table table;
  int64_t width = 1;
};

/// The order of one sequence, or of one of its kv heads. It must serve alone and among others,
/// which it cannot know. So it is judged alone and among a few of its own kind. The fewer workers
/// it is made for, the more copies run side by side: if it has few items, half and a quarter of the
/// workers are tried too.
static FailureOr<OrderAlone> synthesizeAlone(const ScheduleHeader &alone, MLIRContext *context,
                                             EmitError emitError) {
  constexpr int64_t company = 8;
  constexpr double weightAlone = 0.25; // weight of a run alone, which is also the first of many
  constexpr double forFewer =
      1.06; // an order for fewer workers leaves some idle if it has little company
  Problem repeated = alone.problem;
  repeated.sequences.resize(company, alone.problem.sequences.front());
  ListSchedule run;
  auto judge = [&](const Table &order, int64_t width) {
    double price = 0;
    for (int64_t copies : {int64_t(1), company}) {
      Plan plan;
      plan.pieces = numPieces(alone.problem, alone.parts, alone.cost);
      for (int64_t copy : llvm::seq(copies))
        append(plan, order, copy, /*kvHead=*/0, /*groupSize=*/0);
      Dispatch dispatch;
      dispatch.workers = alone.workers;
      dispatch.choosesVisits = false;
      double makespan = std::numeric_limits<double>::infinity();
      for (int64_t lanes = std::min(alone.workers / width, copies); lanes >= 1; lanes /= 2) {
        dispatch.lanes = lanes;
        (void)runListScheduler(repeated, plan, withSlowHops(alone.cost), dispatch, run);
        makespan = std::min(makespan, run.makespan);
      }
      price += copies == 1 ? weightAlone * makespan : makespan / copies;
    }
    return price;
  };

  OrderAlone best;
  double least = std::numeric_limits<double>::infinity();
  auto consider = [&](Table &order, int64_t width) {
    double price = judge(order, width) * (width < alone.workers ? forFewer : 1);
    if (price >= least)
      return;
    least = price;
    best.width = width;
    std::swap(best.table, order);
  };
  int64_t items = numItems(alone.problem, alone.parts);
  for (int64_t share : {1, 2, 4}) {
    int64_t width = alone.workers / share;
    if (share > 1 && (width < 2 || items > 4 * alone.workers))
      break;
    for (int64_t copies : {1, 3, 7}) {
      LayoutRequest request = makeRequest(alone);
      request.workers = width;
      request.copies = copies;
      searchLayouts(request, [&](ListSchedule &found) {
        consider(found.table, width);
        return std::numeric_limits<double>::infinity();
      });
    }
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (failed(forEachFixedKind(alone, infinity, context, emitError,
                              [&](const ScheduleKind &, Schedule &schedule, const ScheduleFacts &) {
                                Table order = inTimeOrder(schedule);
                                consider(order, alone.workers);
                                return infinity;
                              })))
    return failure();
  return best;
}

/// Combines the orders of sequences, or of their kv heads.
static FailureOr<Order> synthesizeEach(const ScheduleHeader &header, MLIRContext *context,
                                       EmitError emitError) {
  const Problem &problem = header.problem;
  bool isByKvHead = header.level >= DeterminismLevel::Machine;
  // Long sequences first, as in a search over all sequences.
  std::vector<std::pair<int64_t, int64_t>> sequences;
  for (int64_t s : llvm::seq(problem.numSequences()))
    sequences.emplace_back(-problem.numTasksPerHead(s), s);
  llvm::sort(sequences);

  std::map<std::pair<int64_t, int64_t>, OrderAlone> orders; // key: lengths
  int64_t width = 1;
  Plan plan;
  plan.pieces = numPieces(problem, header.parts, header.cost);
  for (auto [tasks, sequence] : sequences) {
    SequenceLengths lengths = problem.sequences[sequence];
    auto [order, isNew] = orders.try_emplace({lengths.q, lengths.kv});
    if (isNew) {
      ScheduleHeader alone = header;
      alone.problem.sequences = {lengths};
      if (isByKvHead) {
        alone.problem.heads = problem.groupSize();
        alone.problem.kvHeads = 1;
        alone.workers = header.width;
      }
      FailureOr<OrderAlone> found = synthesizeAlone(alone, context, emitError);
      if (failed(found))
        return failure();
      order->second = std::move(*found);
      width = std::max(width, order->second.width);
    }
    for (int64_t kvHead : llvm::seq<int64_t>(isByKvHead ? problem.kvHeads : 1))
      append(plan, order->second.table, sequence, kvHead, problem.groupSize());
  }

  // Lists do not change bits: takes the best of several numbers of lanes whose workers suffice.
  int64_t most = std::clamp<int64_t>(header.workers / width, 1, plan.groupDqBytes.size());
  ListSchedule best, run;
  Dispatch dispatch;
  dispatch.workers = header.workers;
  dispatch.choosesVisits = false;
  for (int64_t lanes : llvm::reverse(llvm::seq_inclusive<int64_t>(1, most))) {
    dispatch.lanes = lanes;
    if (failed(runListScheduler(problem, plan, header.cost, dispatch, run)))
      continue;
    dispatch.limit = run.makespan;
    std::swap(best, run);
  }
  return Order(std::move(best.table));
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  if (int64_t tasks = header.problem.numTasks(); tasks > maxSynthesizedTasks) {
    InFlightDiagnostic error = emitError() << "schedule 'synthesized' writes out at most "
                                           << maxSynthesizedTasks << " tasks, got " << tasks;
    error.attachNote() << "use a kind that is formulas, such as 'shift' or 'symmetric-shift'";
    return error;
  }
  if (header.width > header.workers) {
    InFlightDiagnostic error = emitError() << "schedule 'synthesized' is made for " << header.width
                                           << " workers at level 'machine', got " << header.workers
                                           << " workers";
    error.attachNote() << "lower for-workers (which changes the bits)";
    return error;
  }
  if (header.level != DeterminismLevel::Run) {
    // The combined order makes progress because times grow along chains, so adds wait for their
    // turns here.
    ScheduleHeader waiting = header;
    waiting.apart = Apart::None;
    return synthesizeEach(waiting, context, emitError);
  }
  FailureOr<ChosenOrder> chosen = chooseOrder(header, context, emitError);
  if (failed(chosen))
    return failure();
  return chosen->proven ? chosen->proven->schedule.order() : Order(std::move(chosen->found));
}

static StringRef purpose(const Mask &) {
  return "searched for on this very problem; any mask will do, and other sizes need another search";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Synthesized = {"synthesized",
                                         "the best of many simulated orders, for any mask", build,
                                         purpose, /*isSearched=*/true};
} // namespace mlir::dash::kinds
