//===- dash-plan.cpp - sizes in, order buffer out -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of dash/Schedule/OrderPlanner.h. It writes the buffer that a kernel reads, and
// times how long a runtime would wait for it.
//
//===----------------------------------------------------------------------===//

#include "PlanWorld.h"
#include "dash/Schedule/OrderPlanner.h"
#include "dash/Schedule/Sizes.h"
#include "dash/Support/InitTool.h"
#include "dash/Support/Version.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <chrono>

using namespace mlir;
using namespace mlir::dash;
namespace cl = llvm::cl;

static cl::OptionCategory category("dash-plan");
static cl::opt<std::string> kind("kind", cl::desc("What builds the order, or `auto`"),
                                 cl::init("auto"), cl::cat(category));
static cl::opt<std::string> sizes("sizes",
                                  cl::desc("As in --dash-apply-schedule: q:8192,batch:2,heads:16"),
                                  cl::cat(category));
static cl::opt<std::string> mask("mask", cl::desc("full, causal, or window:LEFT,RIGHT"),
                                 cl::init("causal"), cl::cat(category));
static cl::opt<std::string> level("level", cl::desc("run, batch or machine"), cl::init("run"),
                                  cl::cat(category));
static cl::opt<int64_t> workers("workers", cl::desc("Number of lists"), cl::init(132),
                                cl::cat(category));
static cl::opt<int64_t> forWorkers("for-workers",
                                   cl::desc("Workers that an order of level machine is made for"),
                                   cl::init(32), cl::cat(category));
static cl::opt<int64_t> parts("parts",
                              cl::desc("Parts of a kv head's query heads, as the program has them"),
                              cl::init(1), cl::cat(category));
static cl::opt<std::string> apart("apart",
                                  cl::desc("What the program keeps apart: none, parts or all"),
                                  cl::init("none"), cl::cat(category));
static cl::opt<int64_t> headDim("head-dim", cl::desc("Columns of Q, K and V"), cl::init(128),
                                cl::cat(category));
static cl::opt<std::string> costs("costs",
                                  cl::desc("A file of costs; those of an H200 come with dash"),
                                  cl::init(""), cl::cat(category));
static cl::opt<std::string> card("card",
                                 cl::desc("Instead, the card whose costs are taken: h100 or h200"),
                                 cl::init(""), cl::cat(category));
static cl::opt<bool> cache("cache",
                           cl::desc("Take the order from those kept on disk, and keep it there"),
                           cl::init(false), cl::cat(category));
static cl::opt<bool>
    chooses("choose", cl::desc("Only say what kind=auto takes; with --parts=0 also how many"),
            cl::init(false), cl::cat(category));
static cl::opt<unsigned> repeats("repeats", cl::desc("Times to plan anew, for the times printed"),
                                 cl::init(1), cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Where to write the buffer"), cl::init(""),
                                   cl::cat(category));

static llvm::ExitOnError exitOnError("dash-plan: error: ");

static void refuse(const llvm::Twine &message) {
  exitOnError(llvm::createStringError(message.str()));
}

static Mask parseMask(StringRef text) {
  if (text == "full")
    return Mask::full();
  if (text == "causal")
    return Mask::causal();
  Mask window;
  auto [left, right] = text.split(',');
  if (!left.consume_front("window:") || left.getAsInteger(10, window.left) ||
      right.getAsInteger(10, window.right))
    refuse("expected --mask=full, causal or window:LEFT,RIGHT, got '" + text + "'");
  return window;
}

/// The request. `pricedHeadDim` receives the head dim at which its costs were measured.
static ScheduleHeader readRequest(int64_t &pricedHeadDim) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string message;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  if (sizes.empty())
    refuse("expected --sizes, as in --sizes=q:8192,batch:2,heads:16, or --world");
  FailureOr<StatedSizes> stated =
      parseSizes(sizes, [&] { return emitError(UnknownLoc::get(&context)); });
  if (failed(stated))
    refuse(message);
  if (stated->q.empty() || stated->isSequenceList())
    refuse("expected sizes of equal sequences, as in --sizes=q:8192,batch:2,heads:16");
  std::optional<DeterminismLevel> asked = symbolizeDeterminismLevel(level);
  if (!asked || *asked == DeterminismLevel::World)
    refuse("expected --level=run, batch or machine, got '" + level + "'");

  std::optional<Apart> keptApart = symbolizeApart(apart);
  if (!keptApart)
    refuse("expected --apart=none, parts or all, got '" + apart + "'");

  ScheduleHeader request;
  request.kind = kind;
  request.level = *asked;
  request.parts = parts;
  request.apart = *keptApart;
  request.workers = workers;
  request.width = *asked == DeterminismLevel::Machine ? forWorkers : workers;
  Problem &problem = request.problem;
  problem.mask = parseMask(mask);
  problem.headDim = problem.headDimV = headDim;
  problem.kvHeads = stated->kvHeads.value_or(stated->heads.value_or(1));
  problem.heads = stated->heads.value_or(problem.kvHeads);
  int64_t q = stated->q.front(), kv = stated->kv.empty() ? q : stated->kv.front();
  int64_t batch = stated->batch.value_or(1);
  if (batch > maxItems)
    refuse("batch must be at most " + llvm::Twine(maxItems) + ", got " + llvm::Twine(batch));
  problem.sequences.assign(batch, {q, kv});
  FailureOr<Prices> prices =
      Prices::find(costs, card, *asked, [&] { return emitError(UnknownLoc::get(&context)); });
  if (failed(prices))
    refuse(message);
  request.cost = prices->of(problem, Priced::Whole);
  pricedHeadDim = prices->headDimOf(problem);
  if (std::string unmeasured = prices->describeUnmeasured(problem, Priced::Whole);
      !unmeasured.empty())
    llvm::errs() << "dash-plan: remark: " << unmeasured << "\n";
  return request;
}

/// What a planner says, its work, and how long it took in milliseconds: the median, least and most
/// of the repeats.
template <typename ResultT>
static ResultT timed(const PlannerOptions &options,
                     llvm::function_ref<llvm::Expected<ResultT>(OrderPlanner &)> plan,
                     std::array<double, 3> &milliseconds, int64_t &work) {
  std::vector<double> times;
  std::optional<ResultT> result;
  for (unsigned i = 0; i < std::max(1u, repeats.getValue()); ++i) {
    OrderPlanner planner(options); // which keeps what it has planned
    auto begin = std::chrono::steady_clock::now();
    result = exitOnError(plan(planner));
    work = planner.getWork();
    auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  llvm::sort(times);
  milliseconds = {times[times.size() / 2], times.front(), times.back()};
  return std::move(*result);
}

static std::string makeWorld() {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &sizes, &mask, &level, &workers, &forWorkers, &parts, &apart, &cache, &chooses, &card})
    if (option->getNumOccurrences())
      refuse("--" + option->ArgStr + " is an option of orders, and --world makes none");
  SharedOptions shared{kind, costs, headDim, repeats};
  if (!kind.getNumOccurrences())
    shared.kind.clear();
  if (!repeats.getNumOccurrences())
    shared.repeats = 0;
  return exitOnError(planWorld(shared));
}

int main(int argc, char **argv) {
  InitTool init(argc, argv);
  if (!init)
    return 1;
  cl::HideUnrelatedOptions({&category, &worldCategory});
  answerVersion();
  cl::ParseCommandLineOptions(
      argc, argv,
      "Makes the order of a problem for its kernel, or shares documents out over GPUs\n");
  if (exitOnError(isWorld())) {
    exitOnError(writeFile(output.empty() ? StringRef("-") : StringRef(output), makeWorld()));
    return 0;
  }
  int64_t pricedHeadDim = 0;
  ScheduleHeader request = readRequest(pricedHeadDim);

  PlannerOptions options;
  if (!cache)
    options.cacheFolder.clear();
  options.warn = [](StringRef message) {
    static bool hasWarned = false; // each repeat has a planner of its own
    if (!std::exchange(hasWarned, true))
      llvm::errs() << "dash-plan: warning: " << message << "\n";
  };
  options.progress = [](StringRef message) { llvm::errs() << "dash-plan: " << message << "\n"; };
  std::array<double, 3> milliseconds;
  int64_t work = 0;
  std::string report;
  llvm::raw_string_ostream os(report);
  llvm::json::OStream json(os);
  json.objectBegin();
  if (chooses) {
    auto choice = timed<OrderChoice>(
        options, [&](OrderPlanner &planner) { return planner.choose(request); }, milliseconds,
        work);
    json.attribute("kind", choice.kind);
    json.attribute("parts", choice.parts);
    json.attribute("apart", stringifyApart(choice.apart));
    json.attribute("isTable", choice.isTable);
    json.attribute("tasks", request.problem.numTasks());
    json.attribute("makespan", choice.makespan);
    json.attribute("lowerBound", choice.lowerBound);
  } else {
    auto order = timed<std::shared_ptr<const PlannedOrder>>(
        options, [&](OrderPlanner &planner) { return planner.plan(request); }, milliseconds, work);
    if (!output.empty())
      exitOnError(writeFile(output, StringRef(reinterpret_cast<const char *>(order->words.data()),
                                              order->words.size() * sizeof(int32_t))));
    json.attribute("kind", order->kind);
    json.attribute("tasks", request.problem.numTasks());
    json.attribute("words", int64_t(order->words.size()));
    json.attribute("minWorkers", order->facts.minWorkers);
    json.attribute("makespan", order->facts.makespan);
    json.attribute("lowerBound", order->lowerBound);
  }
  json.attribute("pricedHeadDim", pricedHeadDim);
  json.attribute("work", work);
  json.attribute("milliseconds", milliseconds[0]);
  json.attribute("least", milliseconds[1]);
  json.attribute("most", milliseconds[2]);
  json.objectEnd();
  exitOnError(writeFile("-", report + "\n"));
  return 0;
}
