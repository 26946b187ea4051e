//===- ChooseOrder.cpp - the order with the least predicted time ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/ChooseOrder.h"
#include "CoarseOrder.h"
#include "Search/PackItems.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/OrderWithin.h"
#include "dash/Schedule/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

static constexpr double infinity = std::numeric_limits<double>::infinity();

LogicalResult dash::forEachFixedKind(
    const ScheduleHeader &header, double limit, MLIRContext *context, EmitError emitError,
    llvm::function_ref<double(const ScheduleKind &, Schedule &, const ScheduleFacts &)> judge) {
  if (header.cut().hasRuns() && !header.problem.mask.isFull())
    return success(); // no kind serves it
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (kind->isSearched || !kind->isChosen(header.problem))
      continue;
    FailureOr<Order> order = kind->build(header, context, emitError);
    if (failed(order))
      return failure();
    FailureOr<Schedule> schedule = Schedule::get(header, std::move(*order), emitError);
    if (failed(schedule))
      return failure();
    FailureOr<ScheduleFacts> facts = verifyWithin(*schedule, limit, emitError);
    if (failed(facts))
      return failure();
    noteProgress([&] {
      return llvm::formatv("judged '{0}' by {1} tasks", kind->name, header.problem.numTasks())
          .str();
    });
    if (facts->makespan < limit)
      limit = judge(*kind, *schedule, *facts);
  }
  return success();
}

FailureOr<ChosenOrder> dash::chooseOrder(const ScheduleHeader &header, MLIRContext *context,
                                         EmitError emitError) {
  LayoutRequest request{header.problem,    header.parts, header.workers,
                        header.maxDqBytes, header.cost,  header.apart};
  ChosenOrder best;
  auto take = [&](const ScheduleKind &kind, Schedule &schedule, const ScheduleFacts &facts) {
    best.kind = &kind;
    best.proven = {std::move(schedule), facts};
    return facts.makespan;
  };
  // On full masks, a search often cannot beat a fixed kind. On other masks, no fixed kind comes as
  // close.
  bool isAuto = header.kind == autoKind;
  double enough = leastMakespan(request) * goodEnough;
  if (isAuto && header.problem.mask.isFull() &&
      failed(forEachFixedKind(header, enough, context, emitError, take)))
    return failure();
  if (best.proven)
    return best;
  double found = infinity;
  searchLayouts(request, [&](ListSchedule &run) {
    std::swap(best.found, run.table);
    return found = run.makespan;
  });
  // If two orders take equally long, kind=auto takes the one with formulas.
  double tie = isAuto ? 1 + 1e-9 : 1;
  if (failed(forEachFixedKind(header, found * tie, context, emitError, take)))
    return failure();
  return best;
}

/// Tasks of the largest problem that fixed kinds are judged by.
static constexpr int64_t mostTasksToJudge = 2 * mostTasksTogether;

/// A problem of the same shape with at most `mostTasksToJudge` tasks, if that is possible. Formulas
/// walk the kv tiles of a head in waves as wide as the workers, head after head. So fewer kv heads
/// do, and fewer query heads of each, two if possible. Then rows are scaled to fewer waves, which
/// are filled as before; so is a window that would be wider than the rows. Without a mask, q rows
/// may be fewer, too.
static void makeSmaller(ScheduleHeader &header) {
  constexpr int64_t fewKvHeads = 8, mostWaves = 4, few = 2;
  Problem &problem = header.problem;
  bool isSmall = problem.numTasks() <= mostTasksToJudge &&
                 numItems(problem, header.parts) <= mostItemsTogether;
  if (isSmall || !llvm::all_equal(problem.sequences))
    return;
  const Problem whole = problem;
  // symmetric-shift walks pairs of tiles
  int64_t numWaves = llvm::divideCeil(problem.numKvTiles(0), 2 * header.workers);
  int64_t group = problem.groupSize(), tasksOfKvHead = group * problem.numTasksPerHead(0);
  int64_t kvHeads = mostTasksToJudge / std::max<int64_t>(tasksOfKvHead, 1);
  kvHeads = std::min(kvHeads, mostItemsTogether / (problem.numKvTiles(0) * header.parts));
  kvHeads = std::min(std::max(kvHeads, fewKvHeads), problem.numSequences() * problem.kvHeads);
  problem.sequences.resize(1);
  auto isEnough = [&](int64_t waves) {
    auto scale = [&](int64_t size, int64_t tile) -> int64_t {
      return llvm::divideCeil(llvm::divideCeil(size, tile) * waves, numWaves) * tile;
    };
    problem.kvHeads = kvHeads;
    problem.heads = kvHeads * group;
    const SequenceLengths &rows = whole.sequences.front();
    problem.sequences.front() = {scale(rows.q, problem.tiles.q), scale(rows.kv, problem.tiles.kv)};
    for (int64_t Mask::*side : {&Mask::left, &Mask::right})
      if (int64_t bound = whole.mask.*side; bound > problem.sequences.front().kv)
        problem.mask.*side = scale(bound, problem.tiles.kv);
    return problem.numTasks() <= mostTasksToJudge;
  };
  // Parts need their query heads.
  auto canHalve = [&](int64_t least) {
    return header.parts == 1 && group % 2 == 0 && group > least && group >= kvHeads;
  };
  int64_t waves = std::min(numWaves, mostWaves);
  for (int64_t least : {few, int64_t(1)}) {
    while (!isEnough(waves) && (kvHeads > least || canHalve(least)))
      (canHalve(least) ? group : kvHeads) /= 2;
    while (!isEnough(waves) && waves > least)
      --waves;
  }
  int64_t &rows = problem.sequences.front().q;
  while (problem.mask.isFull() && rows > problem.tiles.q && problem.numTasks() > mostTasksToJudge)
    rows = llvm::divideCeil(rows, 2 * problem.tiles.q) * problem.tiles.q;
}

FailureOr<FixedChoice> dash::chooseFixedKind(ScheduleHeader header, bool asFormulas,
                                             MLIRContext *context, EmitError emitError) {
  // Without chains all kinds that are chosen from have the same bits: neighbours may be looked at.
  bool bitsFollowKind = header.problem.hasChains();
  if (header.level >= DeterminismLevel::Batch && bitsFollowKind) {
    if (!llvm::all_equal(header.problem.sequences))
      return emitError() << "kind=auto cannot choose one kind for sequences of several lengths at "
                            "level '"
                         << stringifyDeterminismLevel(header.level)
                         << "' without looking at their neighbours: name a kind";
    header.problem.sequences.resize(1);
  }
  if (header.level >= DeterminismLevel::Machine && bitsFollowKind) {
    header.problem.heads = header.problem.groupSize();
    header.problem.kvHeads = 1;
    header.workers = header.width;
  }
  // Masks with rules have no formulas that a smaller problem could judge.
  if (header.problem.mask.isBand() && header.problem.hasChains())
    makeSmaller(header);
  if (failed(verifyFormulasServe(header, emitError)))
    return failure();
  FixedChoice best;
  double bound =
      leastMakespan({header.problem, header.parts, header.workers, header.maxDqBytes, header.cost});
  auto choose = [&](bool takesTables) {
    double least = infinity;
    auto take = [&](const ScheduleKind &kind, Schedule &schedule, const ScheduleFacts &facts) {
      if (!takesTables && schedule.isTable())
        return least;
      best = {&kind, schedule.isTable(), bound > 0 ? facts.makespan / bound : 1};
      return least = facts.makespan;
    };
    return forEachFixedKind(header, infinity, context, emitError, take);
  };
  if (failed(choose(/*takesTables=*/!asFormulas)) || (!best.kind && failed(choose(true))))
    return failure();
  return best;
}

const ScheduleKind &dash::searchedKind() {
  return **llvm::find_if(scheduleKinds(), [](auto *kind) { return kind->isSearched; });
}

/// Whether a problem is searched for with larger q tiles: that of one kv head, of too many tasks.
static bool isSearchedCoarsely(const ScheduleHeader &header) {
  const Problem &problem = header.problem;
  if (header.level != DeterminismLevel::Run || !problem.hasChains() ||
      problem.numSequences() * problem.kvHeads > 1 || !problem.mask.isBand() ||
      header.cut().hasRuns())
    return false;
  int64_t tasks = problem.numTasks();
  return tasks > mostTasksTogether && tasks <= mostTasksOfKvHead;
}

bool dash::isTooLargeToSearch(const ScheduleHeader &header) {
  const Problem &problem = header.problem;
  if (header.level == DeterminismLevel::Run) {
    int64_t tasks = problem.numTasks();
    return tasks > maxSynthesizedTasks ||
           (tasks > mostTasksTogether && problem.mask.isBand() && problem.hasChains() &&
            llvm::all_equal(problem.sequences) && !Bundles::of(header) &&
            !isSearchedCoarsely(header));
  }
  // Each sequence is judged alone. If a batch makes it too large for a table, the searching kind
  // refuses it; it never gets other bits.
  int64_t most = problem.mask.isBand() ? mostTasksAlone : maxSynthesizedTasks;
  int64_t heads = header.level == DeterminismLevel::Batch ? problem.heads : problem.groupSize();
  return llvm::any_of(llvm::seq(problem.numSequences()), [&](int64_t s) {
    bool isKnown = s > 0 && problem.sequences[s] == problem.sequences[s - 1];
    return !isKnown && problem.numTasksPerHead(s) * heads > most;
  });
}

static FailureOr<ProvenOrder> proveBuilt(ScheduleHeader header, const ScheduleKind &kind,
                                         Order order, EmitError emitError) {
  header.kind = kind.name.str();
  header.unordered = kind.isUnordered;
  if (kind.isSearched) {
    header.search = {searchVersion, searchBudget, header.maxDqBytes};
    if (auto *table = std::get_if<Table>(&order); table && header.parts == 1)
      dealEmptyItems(*table, header.cost, header.workers);
  }
  return dash::prove(Schedule::get(std::move(header), std::move(order), emitError), emitError);
}

/// Searches with larger q tiles, and refines what it finds. With kind=auto, a fixed kind that is as
/// good takes its place.
static FailureOr<ProvenOrder> buildCoarsely(ScheduleHeader header, MLIRContext *context,
                                            EmitError emitError) {
  int64_t factor = 2;
  while (header.problem.numTasks() > factor * mostTasksTogether)
    factor *= 2;
  CoarseProblem coarse(header, factor);
  FailureOr<ChosenOrder> chosen = chooseOrder(coarse.getHeader(), context, emitError);
  if (failed(chosen))
    return failure();
  if (header.kind == autoKind && chosen->proven && !chosen->proven->schedule.isTable()) {
    header.kind = chosen->kind->name.str();
    return buildOfKind(std::move(header), /*asFormulas=*/false, context, emitError);
  }
  Table found = chosen->proven ? writeOut(chosen->proven->schedule) : std::move(chosen->found);
  Table refined = coarse.refine(found);
  return proveBuilt(std::move(header), searchedKind(), std::move(refined), emitError);
}

FailureOr<const ScheduleKind *> dash::fixedKindForAll(ScheduleHeader header, double ofBound,
                                                      MLIRContext *context, EmitError emitError) {
  FailureOr<FixedChoice> fixed =
      chooseFixedKind(std::move(header), /*asFormulas=*/true, context, emitError);
  if (failed(fixed))
    return failure();
  return fixed->isTable || fixed->ofBound > ofBound * goodEnough ? nullptr : fixed->kind;
}

/// The order of many heads in bundles. With kind=auto, a fixed kind orders the whole if it is best
/// for the first bundle, and as good for all heads.
static FailureOr<ProvenOrder> buildInBundles(ScheduleHeader header, const Bundles &bundles,
                                             MLIRContext *context, EmitError emitError) {
  if (header.kind == autoKind) {
    FailureOr<ProvenOrder> first = buildOfKind(bundles.headerOf(bundles.sizes().front()),
                                               /*asFormulas=*/false, context, emitError);
    if (failed(first))
      return failure();
    header.kind = searchedKind().name.str();
    if (!first->schedule.isTable()) {
      double ofBound = first->facts.makespan / lowerBound(first->schedule);
      FailureOr<const ScheduleKind *> kind = fixedKindForAll(header, ofBound, context, emitError);
      if (failed(kind))
        return failure();
      if (*kind)
        header.kind = (*kind)->name.str();
    }
    return buildOfKind(std::move(header), /*asFormulas=*/false, context, emitError);
  }
  SmallVector<ProvenOrder, 2> orders;
  for (int64_t size : bundles.sizes()) {
    FailureOr<ProvenOrder> built =
        buildOfKind(bundles.headerOf(size), /*asFormulas=*/false, context, emitError);
    if (failed(built))
      return failure();
    orders.push_back(std::move(*built));
  }
  SmallVector<Table, 2> tables;
  SmallVector<double, 2> makespans;
  for (const ProvenOrder &order : orders) {
    tables.push_back(writeOut(order.schedule));
    makespans.push_back(order.facts.makespan);
  }
  SmallVector<const Table *, 2> which;
  for (const Table &table : tables)
    which.push_back(&table);
  header.search = {searchVersion, searchBudget, header.maxDqBytes};
  Table whole = bundles.writeOut(which, bundles.deal(which, makespans));
  return dash::prove(Schedule::get(std::move(header), std::move(whole), emitError), emitError);
}

FailureOr<ProvenOrder> dash::buildOfKind(ScheduleHeader header, bool asFormulas,
                                         MLIRContext *context, EmitError emitError) {
  if (failed(verifyWithinLimits(header, emitError)))
    return failure();
  header.search = std::nullopt;
  const ScheduleKind *kind = findScheduleKind(header.kind);
  if (failed(verifyApart(header, emitError)))
    return failure();
  bool searches = header.kind == autoKind || (kind && kind->isSearched);
  bool fitsTable = header.problem.numTasks() <= maxTableRows;
  if (std::optional<Bundles> bundles = Bundles::of(header);
      bundles && searches && fitsTable && !asFormulas)
    return buildInBundles(std::move(header), *bundles, context, emitError);
  if (searches && !asFormulas && isSearchedCoarsely(header))
    return buildCoarsely(std::move(header), context, emitError);
  if (header.kind == autoKind) {
    bool isTooLarge = isTooLargeToSearch(header);
    // Nothing waits without chains, so there is nothing to search for.
    if (asFormulas || !header.problem.hasChains() || isTooLarge) {
      FailureOr<FixedChoice> fixed =
          chooseFixedKind(header, asFormulas || isTooLarge, context, emitError);
      if (failed(fixed))
        return failure();
      kind = fixed->kind;
    } else if (header.level == DeterminismLevel::Run) {
      FailureOr<ChosenOrder> chosen = chooseOrder(header, context, emitError);
      if (failed(chosen))
        return failure();
      if (!chosen->proven)
        return proveBuilt(std::move(header), searchedKind(), std::move(chosen->found), emitError);
      chosen->proven->schedule.kind = chosen->kind->name.str();
      return std::move(*chosen->proven);
    } else {
      kind = &searchedKind();
    }
  }
  if (!kind) {
    return emitError() << "unknown schedule '" << header.kind << "', expected one of "
                       << namesOfKinds(header.problem)
                       << (header.problem.ownsQ() ? " or auto" : ", auto or file");
  }
  if (!kind->serves(header.problem))
    return emitError() << "schedule '" << kind->name << "' serves no "
                       << header.problem.describeItems() << ": take "
                       << namesOfKinds(header.problem) << " or auto";
  header.kind = kind->name.str();
  header.unordered = kind->isUnordered;
  FailureOr<Order> order = kind->build(header, context, emitError);
  if (failed(order))
    return failure();
  return proveBuilt(std::move(header), *kind, std::move(*order), emitError);
}
