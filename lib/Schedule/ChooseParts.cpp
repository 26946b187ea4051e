//===- ChooseParts.cpp - into how many parts heads are cut ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few heads have few kv tiles, which leave workers idle; parts make more items of them, each of which adds its sums in
// turn. Which is worth more, the cost model says: every number that its bound leaves a chance is ordered.
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

SmallVector<int64_t> dash::possibleParts(const Problem &problem) {
  auto divides = [&](int64_t parts) { return problem.groupSize() % parts == 0; };
  return llvm::to_vector(
      llvm::make_filter_range(llvm::seq_inclusive<int64_t>(1, problem.groupSize()), divides));
}

LogicalResult dash::verifyParts(const Problem &problem, int64_t parts, EmitError emitError) {
  int64_t group = problem.groupSize(), qTiles = 0;
  if (!PartCut::isPossible(group, parts))
    return emitError() << "parts must divide the " << group
                       << " query heads of a kv head or be a multiple of them, got " << parts;
  for (int64_t s : llvm::seq(problem.numSequences()))
    qTiles = std::max(qTiles, problem.numQTiles(s));
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
  for (int64_t parts : possibleParts(header.problem)) {
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
  if (header.problem.groupSize() == 1)
    return buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
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
