//===- ChooseParts.cpp - the number of parts, and what is kept apart ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few heads have few kv tiles, which leaves workers idle. Parts make more items: each has some
// query heads, or runs of their q tiles, and adds its sums in turn. Contributions that are kept
// apart wait for no turn, but are written and read once more. The cost model decides which is
// better: it orders every choice that its bound does not exclude.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/OrderWithin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <limits>
#include <set>

using namespace mlir;
using namespace mlir::dash;

/// How much faster more parts, or contributions that are kept apart, must be to justify their
/// memory.
static constexpr double worthTheirMemory = 1.01;

/// The most memory of contributions that a choice may take without being asked.
static constexpr double mostBytesApart = double(int64_t(256) << 20);

/// The largest number of items for each worker up to which runs of q tiles become items.
static constexpr int64_t enoughItems = 2;

/// The tasks that a choice orders, over all of its candidates; a search of few costs as much as
/// this many. The best bounds go first.
static constexpr int64_t mostTasksOfChoice = 2 * mostTasksTogether, tasksOfSearch = int64_t(1)
                                                                                    << 15;

/// Numbers of runs to try, in ascending order: powers of two, and one and a half times each.
static int64_t nextRuns(int64_t runs) {
  return runs < 3 ? runs + 1 : llvm::isPowerOf2_64(runs) ? runs + runs / 2 : runs / 3 * 4;
}

static int64_t mostQTiles(const Problem &problem) {
  int64_t most = 0;
  for (int64_t s : llvm::seq(problem.numSequences()))
    most = std::max(most, problem.numQTiles(s));
  return most;
}

SmallVector<int64_t> dash::partsToTry(const ScheduleHeader &header) {
  const Problem &problem = header.problem;
  int64_t group = problem.groupSize();
  SmallVector<int64_t> parts;
  if (!problem.hasChains())
    return {1};
  for (int64_t part : llvm::seq_inclusive<int64_t>(1, group))
    if (group % part == 0)
      parts.push_back(part);
  // The best length of runs depends on the other items, which no sequence knows from level batch
  // on.
  if (header.level != DeterminismLevel::Run)
    return parts;
  int64_t items = numItems(problem, group), most = mostQTiles(problem);
  for (int64_t before = 1, runs = 2; runs <= most && items * before < enoughItems * header.workers;
       before = std::exchange(runs, nextRuns(runs)))
    parts.push_back(group * runs);
  return parts;
}

LogicalResult dash::verifyParts(const Problem &problem, int64_t parts, EmitError emitError) {
  int64_t group = problem.groupSize(), qTiles = mostQTiles(problem);
  if (!problem.hasChains() && parts != 1)
    return emitError() << "items that own " << problem.ownTile()
                       << "s sum nothing across items, so they are in 1 part, got " << parts;
  if (!PartCut::isPossible(group, parts))
    return emitError() << "parts must divide the " << group
                       << " query heads of a kv head or be a multiple of them, got " << parts;
  if (int64_t runs = PartCut(problem, parts).runs(); runs > qTiles)
    return emitError() << parts << " parts cut the " << qTiles << " q tiles of a head into " << runs
                       << " runs, expected at most one a tile: state at most " << qTiles * group
                       << " parts";
  return success();
}

/// Contributions that are kept apart, in tiles of dQ: those that are read, or the places reserved
/// for them.
static double tilesApart(const ScheduleHeader &header, bool areRead) {
  const Problem &problem = header.problem;
  double tiles = 0;
  if (header.apart != Apart::None && header.parts > 1)
    tiles += double(numItems(problem, header.parts)) * 2 * problem.tiles.kv / problem.tiles.q;
  if (header.apart == Apart::All)
    tiles += areRead ? double(problem.numTasks()) : mostTasks(problem);
  return tiles;
}

double dash::roundingTime(const ScheduleHeader &header) {
  double time = header.cost.gather * tilesApart(header, /*areRead=*/true);
  if (header.parts > 1)
    time += header.cost.convert * numItems(header.problem, /*parts=*/1);
  return time / header.workers;
}

double dash::priceOf(const ScheduleHeader &header, double makespan) {
  double price = makespan + roundingTime(header);
  for (bool takesMemory : {header.parts > 1, header.apart != Apart::None})
    price *= takesMemory ? worthTheirMemory : 1;
  return price;
}

SmallVector<Apart, 3> dash::apartToTry(ScheduleHeader header) {
  SmallVector<Apart, 3> choices = {Apart::None};
  for (Apart apart : {Apart::Parts, Apart::All}) {
    header.apart = apart;
    double bytes = tilesApart(header, /*areRead=*/false) * header.problem.tiles.q *
                   header.problem.headDim * sizeof(float);
    if ((apart == Apart::All || header.parts > 1) && bytes <= mostBytesApart)
      choices.push_back(apart);
  }
  return choices;
}

void dash::chooseApart(ProvenOrder &proven) {
  Schedule &schedule = proven.schedule;
  Apart best = schedule.apart;
  double least = std::numeric_limits<double>::infinity();
  for (Apart apart : schedule.isOrdered() ? apartToTry(schedule) : SmallVector<Apart, 3>()) {
    schedule.apart = apart;
    double makespan = predictMakespan(schedule), price = priceOf(schedule, makespan);
    if (price >= least)
      continue;
    least = price;
    best = apart;
    proven.facts.makespan = makespan;
  }
  schedule.apart = best;
}

/// The cheapest order. Among equally cheap ones, the one with fewer parts, which keeps less apart.
static FailureOr<ProvenOrder> buildOfLeastPrice(ScheduleHeader header, MLIRContext *context,
                                                EmitError emitError) {
  using Choice = std::tuple<double, int64_t, Apart>; // the price, or a lower bound of it
  SmallVector<Choice> candidates;
  SmallVector<int64_t> numbers =
      header.parts > 0 ? SmallVector<int64_t>{header.parts} : partsToTry(header);
  if (!header.choosesApart && header.apart == Apart::Parts && numbers.size() > 1)
    llvm::erase(numbers, 1); // adds nothing that could be kept apart
  for (int64_t parts : numbers) {
    header.parts = parts;
    double bound =
        leastMakespan({header.problem, parts, header.workers, header.maxDqBytes, header.cost});
    for (Apart apart :
         header.choosesApart ? apartToTry(header) : SmallVector<Apart, 3>{header.apart}) {
      ScheduleHeader one = header;
      one.apart = apart;
      candidates.emplace_back(priceOf(one, bound), parts, apart);
    }
  }
  llvm::sort(candidates);
  header.choosesApart = false;
  std::optional<ProvenOrder> best;
  Choice least;
  int64_t tasks = header.problem.numTasks() + tasksOfSearch, ordered = 0;
  for (auto [bound, parts, apart] : candidates) {
    if (best && (bound > std::get<double>(least) || ordered + tasks > mostTasksOfChoice))
      break;
    ordered += tasks;
    header.parts = parts;
    header.apart = apart;
    FailureOr<ProvenOrder> built = buildOfKind(header, /*asFormulas=*/false, context, emitError);
    if (failed(built))
      return failure();
    Choice found(priceOf(header, built->facts.makespan), parts, apart);
    if (best && found > least)
      continue;
    best = std::move(*built);
    least = found;
  }
  return std::move(*best);
}

/// The number of parts for a sequence of given lengths, whatever is beside it; for each pair of
/// lengths.
static FailureOr<int64_t> choosePartsOfEach(const ScheduleHeader &header, MLIRContext *context,
                                            EmitError emitError) {
  std::set<std::pair<int64_t, int64_t>> known;
  const SequenceLengths &first = header.problem.sequences.front();
  int64_t parts = 0; // the parts of the first sequence
  for (const SequenceLengths &lengths : header.problem.sequences) {
    if (!known.insert({lengths.q, lengths.kv}).second)
      continue;
    ScheduleHeader alone = header;
    alone.problem.sequences = {lengths};
    if (header.level >= DeterminismLevel::Machine) {
      alone.problem.heads = header.problem.groupSize();
      alone.problem.kvHeads = 1;
      alone.workers = header.width;
    }
    FailureOr<ProvenOrder> built = buildOfLeastPrice(std::move(alone), context, emitError);
    if (failed(built))
      return failure();
    if (parts == 0)
      parts = built->schedule.parts;
    if (built->schedule.parts != parts)
      return emitError() << "at level '" << stringifyDeterminismLevel(header.level)
                         << "' each sequence chooses its parts by itself: " << first.q << " x "
                         << first.kv << " rows take " << parts << ", " << lengths.q << " x "
                         << lengths.kv << " rows " << built->schedule.parts
                         << "; state parts, which all have";
  }
  return parts;
}

bool dash::chooseOnBundle(const ScheduleHeader &header, ScheduleHeader &bundle) {
  const ScheduleKind *kind = findScheduleKind(header.kind);
  std::optional<Bundles> bundles = Bundles::of(header);
  if (!bundles || (header.kind != autoKind && !(kind && kind->isSearched)))
    return false;
  bundle = bundles->headerOf(bundles->sizes().front());
  bundle.choosesApart = false; // of so many tasks, it would be too many bytes
  return true;
}

FailureOr<ProvenOrder> dash::buildBest(ScheduleHeader header, MLIRContext *context,
                                       EmitError emitError) {
  bool fitsTable = header.problem.numTasks() <= maxTableRows;
  if (ScheduleHeader bundle; fitsTable && chooseOnBundle(header, bundle)) {
    FailureOr<ProvenOrder> built = buildOfLeastPrice(std::move(bundle), context, emitError);
    if (failed(built))
      return failure();
    header.parts = built->schedule.parts;
    header.choosesApart = false;
    return buildOfKind(std::move(header), /*asFormulas=*/false, context, emitError);
  }
  if (header.kind == autoKind && header.level == DeterminismLevel::Run &&
      isTooLargeToSearch(header)) {
    header.parts = std::max<int64_t>(header.parts, 1);
    header.choosesApart = false;
    return buildOfKind(std::move(header), /*asFormulas=*/false, context, emitError);
  }
  if (header.level != DeterminismLevel::Run && header.parts == 0) {
    FailureOr<int64_t> parts = choosePartsOfEach(header, context, emitError);
    if (failed(parts))
      return failure();
    header.parts = *parts; // keeping apart changes no bit, so all sequences choose it together
  }
  return buildOfLeastPrice(std::move(header), context, emitError);
}
