//===- World.cpp - the C API of worlds -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/World.h"
#include "Forks.h"
#include "ReportOutcome.h"
#include "dash/World/WorldKinds.h"
#include "dash/World/WorldReport.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

using namespace mlir::dash;
using namespace mlir::dash::world;

namespace {

struct WorldHandle {
  std::shared_ptr<const World> world;
  std::string certificate; ///< the last one returned
};

struct PlanHandle {
  std::shared_ptr<const World> world;
  WorldPlan plan;
  std::string report; ///< the last one returned
};

/// Lines of numbers, as many as fit.
class Lines {
public:
  Lines(int64_t *lines, size_t capacity) : out(lines), capacity(capacity) {}
  template <typename... Numbers> void add(Numbers... numbers) {
    if (count++ < capacity)
      for (int64_t number : {int64_t(numbers)...})
        *out++ = number;
  }
  size_t size() const { return count; }

private:
  int64_t *out;
  size_t capacity, count = 0;
};

} // namespace

static PlanHandle *get(DashWorldPlan plan) { return static_cast<PlanHandle *>(plan.ptr); }

static const Phase *findPhase(DashWorldPlan plan, int32_t pass, int64_t phase) {
  if (!plan.ptr || phase < 0)
    return nullptr;
  const WorldPlan &of = get(plan)->plan;
  if (pass == DASH_WORLD_FORWARD && phase < numForwardPhases)
    return &of.forward[phase];
  if (pass == DASH_WORLD_BACKWARD && phase < numBackwardPhases)
    return &of.backward[phase];
  return nullptr;
}

static launch::Outcome readProblem(const DashWorldProblem &given, WorldProblem &problem) {
  if ((!given.documents && given.numDocuments) || (!given.homes && given.numHomes) ||
      (!given.speeds && given.numSpeeds))
    return launch::fail(DASH_INVALID_ARGUMENT, "an array of the problem is NULL but not empty");
  if (!isGiven(given.element))
    return launch::fail(DASH_INVALID_ARGUMENT, "a string is NULL but not empty");
  problem.documents.assign(given.documents, given.documents + given.numDocuments);
  problem.heads = given.heads;
  problem.kvHeads = given.kvHeads;
  problem.headDim = given.headDim;
  problem.element = toStringRef(given.element).str();
  problem.isCausal = given.causal;
  problem.kept = given.kept;
  problem.cutVersion = given.cut;
  problem.ranks = given.ranks;
  problem.ranksPerNode = given.ranksPerNode;
  problem.speeds.assign(given.speeds, given.speeds + given.numSpeeds);
  problem.memory = given.memory;
  if (given.ranks < 1 || given.ranks > 1 << 16)
    return launch::fail(DASH_INVALID_ARGUMENT,
                        "expected from 1 to 65536 ranks, got " + llvm::Twine(given.ranks));
  problem.homes.resize(given.ranks);
  for (size_t i = 0; i < given.numHomes; ++i) {
    const int64_t *home = given.homes + 4 * i;
    if (home[0] < 0 || home[0] >= given.ranks)
      return launch::fail(DASH_INVALID_ARGUMENT,
                          "home " + llvm::Twine(i) + ": expected ranks 0 to " +
                              llvm::Twine(given.ranks - 1) + ", got " + llvm::Twine(home[0]));
    problem.homes[home[0]].push_back({home[1], home[2], home[3]});
  }
  llvm::Expected<WorldPrices> prices = WorldPrices::get(given.headDim);
  if (!prices)
    return launch::fail(DASH_INVALID_ARGUMENT, llvm::toString(prices.takeError()));
  problem.prices = *prices;
  if (given.nvlink != 0)
    problem.prices.nvlink = given.nvlink;
  if (given.network != 0)
    problem.prices.network = given.network;
  return std::nullopt;
}

static DashStatus refuseBy(llvm::Error error, DashDiagnosticHandler handler, void *userData) {
  return refuse(llvm::toString(std::move(error)).c_str(), handler, userData);
}

DashStatus dashWorldCreate(const DashWorldProblem *problem, DashDiagnosticHandler handler,
                           void *userData, DashWorld *world) {
  if (!problem || !world)
    return refuse("'problem' or 'world' is NULL", handler, userData);
  Inside inside;
  if (launch::Outcome left = inside.getOutcome())
    return report(left, handler, userData);
  WorldProblem read;
  if (launch::Outcome wrong = readProblem(*problem, read))
    return report(wrong, handler, userData);
  llvm::Expected<World> made = World::get(std::move(read));
  if (!made)
    return refuseBy(made.takeError(), handler, userData);
  auto handle = std::make_unique<WorldHandle>();
  handle->world = std::make_shared<const World>(std::move(*made));
  world->ptr = handle.release();
  return DASH_SUCCESS;
}

void dashWorldDestroy(DashWorld world) { delete static_cast<WorldHandle *>(world.ptr); }

DashStringRef dashWorldGetCertificate(DashWorld world, DashStringRef forward,
                                      const DashStringRef *leafKernels, size_t numLeafKernels) {
  if (!world.ptr || !isGiven(forward) || (!leafKernels && numLeafKernels))
    return noString();
  std::vector<std::string> kernels;
  for (const DashStringRef &kernel : llvm::ArrayRef(leafKernels, numLeafKernels)) {
    if (!isGiven(kernel))
      return noString();
    kernels.push_back(toStringRef(kernel).str());
  }
  auto *handle = static_cast<WorldHandle *>(world.ptr);
  handle->certificate = certifyWorld(*handle->world, toStringRef(forward), kernels);
  return toC(handle->certificate);
}

size_t dashWorldGetLeaves(DashWorld world, int64_t document, int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (!world.ptr)
    return 0;
  const World &of = *static_cast<WorldHandle *>(world.ptr)->world;
  if (document < 0 || document >= of.numDocuments())
    return 0;
  int64_t rows = of.problem().documents[document];
  for (int64_t leaf = 0; leaf < of.numLeaves(document); ++leaf) {
    int64_t first = of.leafFirst(document, leaf), end = of.leafEnd(document, leaf);
    LeafShape shape = of.cut().paddedShape(first, end, rows);
    out.add(first, end, shape.qRows, shape.context, shape.isPacked);
  }
  return out.size();
}

DashStatus dashWorldPlan(DashWorld world, DashStringRef kind, uint64_t seed,
                         DashDiagnosticHandler handler, void *userData, DashWorldPlan *plan) {
  if (!world.ptr || !plan)
    return refuse("'world' or 'plan' is NULL", handler, userData);
  if (!isGiven(kind))
    return refuse("a string is NULL but not empty", handler, userData);
  auto handle = std::make_unique<PlanHandle>();
  handle->world = static_cast<WorldHandle *>(world.ptr)->world;
  llvm::Expected<WorldPlan> made = planWorld(*handle->world, toStringRef(kind), seed);
  if (!made)
    return refuseBy(made.takeError(), handler, userData);
  handle->plan = std::move(*made);
  plan->ptr = handle.release();
  return DASH_SUCCESS;
}

DashStatus dashWorldReadPlan(DashStringRef path, DashDiagnosticHandler handler, void *userData,
                             DashWorld *world, DashWorldPlan *plan) {
  if (!world || !plan)
    return refuse("'world' or 'plan' is NULL", handler, userData);
  if (!isGiven(path))
    return refuse("a string is NULL but not empty", handler, userData);
  Inside inside;
  if (launch::Outcome left = inside.getOutcome())
    return report(left, handler, userData);
  llvm::Expected<FiledPlan> read = readPlan(toStringRef(path));
  if (!read)
    return refuseBy(read.takeError(), handler, userData);
  auto ofWorld = std::make_unique<WorldHandle>();
  ofWorld->world = std::make_shared<const World>(std::move(read->world));
  auto ofPlan = std::make_unique<PlanHandle>();
  ofPlan->world = ofWorld->world;
  ofPlan->plan = std::move(read->plan);
  world->ptr = ofWorld.release();
  plan->ptr = ofPlan.release();
  return DASH_SUCCESS;
}

void dashWorldPlanDestroy(DashWorldPlan plan) { delete get(plan); }

static DashWorldFigures toSeconds(const Figures &f) {
  constexpr double seconds = 1e-12;
  return {double(f.layer) * seconds,
          double(f.compute) * seconds,
          double(f.exchange) * seconds,
          f.hidden,
          f.balance,
          double(f.even) * seconds,
          double(f.uncut) * seconds,
          double(f.bound) * seconds};
}

void dashWorldPlanGetFacts(DashWorldPlan plan, DashWorldFacts *facts) {
  if (!facts)
    return;
  *facts = DashWorldFacts();
  if (!plan.ptr)
    return;
  const World &world = *get(plan)->world;
  const WorldPlan &of = get(plan)->plan;
  facts->numRuns = of.runs.size();
  facts->numFolds = of.folds.size();
  facts->numForwardPhases = numForwardPhases;
  facts->numBackwardPhases = numBackwardPhases;
  for (int64_t rank = 0; rank < world.problem().ranks; ++rank) {
    facts->memory = std::max(facts->memory, memoryOf(world, of, rank));
    facts->kept = std::max(facts->kept, of.keptBytes[rank]);
  }
  facts->forward = toSeconds(figuresOf(world, forwardLoad(world, of), /*isForward=*/true));
  facts->backward = toSeconds(figuresOf(world, backwardLoad(world, of)));
}

size_t dashWorldPlanGetRuns(DashWorldPlan plan, int64_t rank, int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (plan.ptr)
    for (const Run &run : get(plan)->plan.runs)
      if (rank == -1 || run.rank == rank)
        out.add(run.rank, run.document, run.kvHead, run.firstLeaf, run.endLeaf);
  return out.size();
}

size_t dashWorldPlanGetKept(DashWorldPlan plan, int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (plan.ptr)
    for (const KeptHeads &heads : get(plan)->plan.kept)
      out.add(heads.document, heads.kvHead, heads.kvHeads);
  return out.size();
}

size_t dashWorldPlanGetMessages(DashWorldPlan plan, int32_t pass, int64_t phase, int64_t rank,
                                int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (const Phase *of = findPhase(plan, pass, phase))
    for (const Message &m : of->messages)
      if (rank == -1 || m.from == rank || m.to == rank)
        out.add(m.from, m.to, m.what, m.document, m.kvHead, m.kvHeads, m.first, m.end, m.node.level,
                m.node.index, m.sendOffset, m.receiveOffset, m.bytes);
  return out.size();
}

size_t dashWorldPlanGetBuffers(DashWorldPlan plan, int32_t pass, int64_t phase, int64_t rank,
                               int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (const Phase *of = findPhase(plan, pass, phase))
    for (size_t one = 0; one < of->sendBytes.size(); ++one)
      if (rank == -1 || int64_t(one) == rank)
        out.add(of->sendBytes[one], of->receiveBytes[one]);
  return out.size();
}

size_t dashWorldPlanGetFolds(DashWorldPlan plan, int64_t rank, int64_t *lines, size_t capacity) {
  Lines out(lines, capacity);
  if (plan.ptr)
    for (const Fold &fold : get(plan)->plan.folds)
      if (rank == -1 || fold.rank == rank)
        out.add(int64_t(fold.stage), fold.rank, fold.document, fold.kvHead, fold.kvHeads,
                fold.node.level, fold.node.index, fold.first, fold.end);
  return out.size();
}

DashStringRef dashWorldGetPhaseName(int32_t pass, int64_t phase) {
  WorldPlan none;
  beginPhases(none);
  PlanHandle handle{nullptr, std::move(none), {}};
  const Phase *of = findPhase({&handle}, pass, phase);
  return of ? DashStringRef{of->name.data(), of->name.size()} : noString(); // names are literals
}

DashStringRef dashWorldPlanGetReport(DashWorldPlan plan, DashStringRef format) {
  if (!plan.ptr || !isGiven(format))
    return noString();
  WriteReport write = findReport(toStringRef(format));
  if (!write)
    return noString();
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os, *get(plan)->world, get(plan)->plan);
  get(plan)->report = std::move(text);
  return toC(get(plan)->report);
}
