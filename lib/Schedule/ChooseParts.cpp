//===- ChooseParts.cpp - into how many parts heads are cut ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few heads have few kv tiles, which leave workers idle; parts make more items of them, of some query heads each or of runs of
// their q tiles, each of which adds its sums in turn. Which is worth more, the cost model says: every number that is tried and
// that its bound leaves a chance is ordered.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/LayoutSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <limits>
#include <set>

using namespace mlir;
using namespace mlir::dash;

/// How much faster more parts than one have to be.
static constexpr double worthTheirSums = 1.01;

/// Runs of q tiles make items of a kv tile as long as there are not so many for each worker.
static constexpr int64_t enoughItems = 2;

/// Numbers of runs to try, least first: powers of two, and one and a half times each.
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
  for (int64_t part : llvm::seq_inclusive<int64_t>(1, group))
    if (group % part == 0)
      parts.push_back(part);
  // How long runs are worth to be follows from how many items are beside them, which no sequence knows from level batch on.
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
  if (!PartCut::isPossible(group, parts))
    return emitError() << "parts must divide the " << group
                       << " query heads of a kv head or be a multiple of them, got " << parts;
  if (int64_t runs = PartCut(problem, parts).runs(); runs > qTiles)
    return emitError() << parts << " parts cut the " << qTiles << " q tiles of a head into " << runs
                       << " runs, expected at most one a tile: state at most " << qTiles * group
                       << " parts";
  return success();
}

double dash::roundingTime(const ScheduleHeader &header) {
  if (header.parts == 1)
    return 0;
  return header.cost.convert * numItems(header.problem, /*parts=*/1) / header.workers;
}

double dash::priceInParts(const ScheduleHeader &header, double makespan) {
  return header.parts == 1 ? makespan : (makespan + roundingTime(header)) * worthTheirSums;
}

/// The order of least price; of two, that of fewer parts.
static FailureOr<ProvenOrder> buildBest(ScheduleHeader header, MLIRContext *context,
                                        EmitError emitError) {
  SmallVector<std::pair<double, int64_t>> candidates; // with the price that none is below
  for (int64_t parts : partsToTry(header)) {
    header.parts = parts;
    double bound =
        leastMakespan({header.problem, parts, header.workers, header.maxDqBytes, header.cost});
    candidates.emplace_back(priceInParts(header, bound), parts);
  }
  llvm::sort(candidates);
  std::optional<ProvenOrder> best;
  double least = std::numeric_limits<double>::infinity();
  for (auto [bound, parts] : candidates) {
    if (bound > least)
      break;
    header.parts = parts;
    FailureOr<ProvenOrder> built = buildSchedule(header, /*asFormulas=*/false, context, emitError);
    if (failed(built))
      return failure();
    double price = priceInParts(header, built->facts.makespan);
    if (best && std::pair(price, parts) > std::pair(least, best->schedule.parts))
      continue;
    best = std::move(*built);
    least = price;
  }
  return std::move(*best);
}

/// The number that a sequence of such lengths takes, whatever is beside it; of each that there are.
static FailureOr<int64_t> choosePartsApart(const ScheduleHeader &header, MLIRContext *context,
                                           EmitError emitError) {
  std::set<std::pair<int64_t, int64_t>> known;
  const SequenceLengths &first = header.problem.sequences.front();
  int64_t parts = 0; // of the first
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
    FailureOr<ProvenOrder> built = buildBest(std::move(alone), context, emitError);
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

FailureOr<ProvenOrder> dash::buildInParts(ScheduleHeader header, MLIRContext *context,
                                          EmitError emitError) {
  header.parts = 1;
  if (failed(verifyCountable(header.problem, emitError)))
    return failure();
  if (header.level == DeterminismLevel::Run)
    return buildBest(std::move(header), context, emitError);
  FailureOr<int64_t> parts = choosePartsApart(header, context, emitError);
  if (failed(parts))
    return failure();
  header.parts = *parts;
  return buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
}
