//===- PlanWorld.cpp - plan a world from a shell --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanWorld.h"
#include "dash/World/Documents.h"
#include "dash/World/VerifyWorld.h"
#include "dash/World/WorldKinds.h"
#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>
#include <numeric>

using namespace mlir::dash;
using namespace mlir::dash::world;
namespace cl = llvm::cl;

cl::OptionCategory mlir::dash::worldCategory("dash-plan --world", "Shares documents out over GPUs");

template <typename T> using Option = cl::opt<T>;
static Option<bool>
    isAsked("world",
            cl::desc("Share documents out over ranks, instead of ordering a kernel's tasks"),
            cl::cat(worldCategory));
static Option<std::string>
    documents("documents",
              cl::desc("A file of lengths, or lognormal:SEED, pareto:SEED, mixed:SEED"),
              cl::cat(worldCategory));
static Option<int64_t> tokens("tokens", cl::desc("Rows of each rank"), cl::init(32768),
                              cl::cat(worldCategory));
static Option<int64_t> ranks("ranks", cl::desc("Number of GPUs"), cl::init(8),
                             cl::cat(worldCategory));
static Option<int64_t> ranksPerNode("ranks-per-node", cl::desc("Of them in a node"), cl::init(8),
                                    cl::cat(worldCategory));
static Option<int64_t> heads("heads", cl::desc("Query heads"), cl::init(32),
                             cl::cat(worldCategory));
static Option<int64_t> kvHeads("kv-heads", cl::desc("Heads of K and V"), cl::init(8),
                               cl::cat(worldCategory));
static Option<int64_t> cutVersion("cut",
                                  cl::desc("Version of the cut; 0 is scaled down, for tests"),
                                  cl::init(1), cl::cat(worldCategory));
static Option<std::string> homes("homes", cl::desc("Where rows lie: packed or zigzag"),
                                 cl::init("packed"), cl::cat(worldCategory));
static Option<std::string> speeds("speeds",
                                  cl::desc("Slow or fast ranks, in thousandths: 3:900,17:950"),
                                  cl::cat(worldCategory));
static Option<int64_t> memory("memory", cl::desc("Bytes that a rank's buffers may take; 0 is any"),
                              cl::init(0), cl::cat(worldCategory));
static Option<std::string>
    kept("kept",
         cl::desc("What servers keep from forward to backward: none, inputs, or bytes of a rank"),
         cl::init("none"), cl::cat(worldCategory));
static Option<double> nvlink("nvlink", cl::desc("GB/s of a GPU within its node"), cl::init(450),
                             cl::cat(worldCategory));
static Option<double> network("network", cl::desc("GB/s of a GPU across nodes"), cl::init(50),
                              cl::cat(worldCategory));
static Option<uint64_t> seed("seed", cl::desc("Of kind random"), cl::init(0),
                             cl::cat(worldCategory));
static Option<std::string> path("path", cl::desc("The plan of kind=file"), cl::cat(worldCategory));
static Option<std::string> report("report", cl::desc("table, json, svg or trace"),
                                  cl::init("table"), cl::cat(worldCategory));
static Option<bool> compare("compare", cl::desc("A line for each kind, those to compare with too"),
                            cl::cat(worldCategory));
static Option<int64_t> oneRank("rank", cl::desc("All that one rank does, behind the table"),
                               cl::init(-1), cl::cat(worldCategory));

template <typename... Args> static llvm::Error refuse(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

llvm::Expected<bool> mlir::dash::isWorld() {
  if (isAsked)
    return true;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrences() && llvm::is_contained(option->Categories, &worldCategory))
      return refuse("--{0} is an option of --world", name);
  return false;
}

static llvm::Error readSpeeds(WorldProblem &problem) {
  llvm::SmallVector<llvm::StringRef> entries;
  llvm::StringRef(speeds).split(entries, ',', -1, /*KeepEmpty=*/false);
  if (!entries.empty())
    problem.speeds.assign(problem.ranks, 1000);
  for (llvm::StringRef entry : entries) {
    auto [rank, speed] = entry.split(':');
    int64_t at, thousandths;
    if (rank.getAsInteger(10, at) || speed.getAsInteger(10, thousandths) || at < 0 ||
        at >= problem.ranks)
      return refuse("expected --speeds=RANK:THOUSANDTHS,… of ranks 0 to {0}, got '{1}'",
                    problem.ranks - 1, entry);
    problem.speeds[at] = thousandths;
  }
  return llvm::Error::success();
}

static llvm::Expected<WorldProblem> readProblem(const SharedOptions &shared) {
  WorldProblem problem;
  problem.heads = heads;
  problem.kvHeads = kvHeads;
  problem.headDim = shared.headDim;
  problem.cutVersion = cutVersion;
  problem.ranks = ranks;
  problem.ranksPerNode = ranksPerNode;
  problem.memory = memory;
  if (kept == "none" || kept == "inputs")
    problem.kept = kept == "inputs" ? keepsAll : 0;
  else if (llvm::StringRef(kept).getAsInteger(10, problem.kept) || problem.kept < 0)
    return refuse("expected --kept=none, inputs or a number of bytes, got '{0}'", kept.getValue());
  if (ranks < 1 || ranks > 1 << 16 || tokens < 1 || tokens > 1 << 24)
    return refuse("expected from 1 to 65536 --ranks of 1 to 16777216 --tokens, got {0} of {1}",
                  ranks.getValue(), tokens.getValue());
  if (documents.empty())
    return refuse("expected --documents=FILE, lognormal:SEED, pareto:SEED or mixed:SEED");
  llvm::Expected<std::vector<int64_t>> made = makeDocuments(documents, ranks * tokens);
  if (!made)
    return made.takeError();
  problem.documents = std::move(*made);
  for (auto [document, rows] : llvm::enumerate(problem.documents))
    if (rows < 1 || rows > 2097152) // before they are laid out
      return refuse("document {0}: expected from 1 to 2097152 rows, got {1}", document, rows);
  int64_t rows = std::accumulate(problem.documents.begin(), problem.documents.end(), int64_t(0));
  int64_t each = tokens.getNumOccurrences() ? tokens.getValue() : (rows + ranks - 1) / ranks;
  if (rows > each * ranks)
    return refuse("documents have {0} rows, and {1} ranks of {2} rows have room for {3}", rows,
                  ranks.getValue(), each, each * ranks);
  if (homes != "packed" && homes != "zigzag")
    return refuse("expected --homes=packed or zigzag, got '{0}'", homes.getValue());
  problem.homes = homes == "packed" ? packedHomes(problem.documents, ranks, each)
                                    : zigzagHomes(problem.documents, ranks);
  if (llvm::Error error = readSpeeds(problem))
    return std::move(error);
  llvm::Expected<WorldPrices> prices = WorldPrices::get(shared.headDim, shared.costs);
  if (!prices)
    return prices.takeError();
  problem.prices = *prices;
  problem.prices.nvlink = nvlink;
  problem.prices.network = network;
  return problem;
}

/// How long one core is busy: the minimum of several runs.
static llvm::Error measure(llvm::raw_ostream &os, const World &world, llvm::StringRef name,
                           unsigned repeats) {
  const WorldKind *kind = findWorldKind(name);
  double least[2] = {1e300, 1e300};
  for (unsigned i = 0; i < repeats; ++i) {
    std::clock_t begin = std::clock();
    WorldPlan plan = completePlan(world, name.str(), kind->place(world, seed));
    std::clock_t planned = std::clock();
    if (llvm::Error error = verifyWorld(world, plan))
      return error;
    std::clock_t proven = std::clock();
    least[0] = std::min(least[0], 1e3 * double(planned - begin) / CLOCKS_PER_SEC);
    least[1] = std::min(least[1], 1e3 * double(proven - planned) / CLOCKS_PER_SEC);
  }
  os << llvm::formatv("  planner      {0:f1} ms of one core, proof {1:f1} ms: the least of {2}\n",
                      least[0], least[1], repeats);
  return llvm::Error::success();
}

static llvm::Expected<FiledPlan> makePlan(const SharedOptions &shared) {
  if (shared.kind == "file") {
    if (path.empty())
      return refuse("expected --path=PLAN.json beside --kind=file");
    if (documents.getNumOccurrences())
      return refuse("a plan from a file has its documents and ranks: leave out --documents");
    return readPlan(path);
  }
  if (!path.empty())
    return refuse("--path is for --kind=file");
  llvm::Expected<WorldProblem> problem = readProblem(shared);
  if (!problem)
    return problem.takeError();
  llvm::Expected<World> world = World::get(std::move(*problem));
  if (!world)
    return world.takeError();
  if (compare)
    return FiledPlan{std::move(*world), {}};
  llvm::Expected<WorldPlan> plan =
      world::planWorld(*world, shared.kind.empty() ? "heads-first" : shared.kind, seed);
  if (!plan)
    return plan.takeError();
  return FiledPlan{std::move(*world), std::move(*plan)};
}

llvm::Expected<std::string> mlir::dash::planWorld(const SharedOptions &shared) {
  WriteReport write = findReport(report);
  if (!write)
    return refuse("expected --report=table, json, svg or trace, got '{0}'", report.getValue());
  if (compare &&
      (report.getNumOccurrences() || oneRank.getNumOccurrences() || shared.kind == "file"))
    return refuse("--compare is a report by itself, of all kinds: leave out --report, --rank and "
                  "--kind=file");
  llvm::Expected<FiledPlan> made = makePlan(shared);
  if (!made)
    return made.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (compare) {
    if (llvm::Error error = writeComparison(os, made->world, seed))
      return std::move(error);
    return text;
  }
  if (oneRank.getNumOccurrences() && (oneRank < 0 || oneRank >= made->world.problem().ranks))
    return refuse("expected --rank from 0 to {0}, got {1}", made->world.problem().ranks - 1,
                  oneRank.getValue());
  write(os, made->world, made->plan);
  if (report == "table" && shared.repeats && shared.kind != "file")
    if (llvm::Error error = measure(os, made->world, made->plan.kind, shared.repeats))
      return std::move(error);
  if (oneRank >= 0)
    writeRank(os, made->world, made->plan, oneRank);
  return text;
}
