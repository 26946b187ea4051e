//===- ReadPlan.cpp - a plan from a file -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file may come from anywhere. This reader checks its form; World::get and verifyWorld check
// its meaning. Times and figures are skipped: they follow from the rest.
//
//===----------------------------------------------------------------------===//

#include "Refuse.h"
#include "Words.h"
#include "dash/Schedule/JsonFile.h"
#include "dash/World/VerifyWorld.h"
#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash;
using namespace mlir::dash::world;
namespace json = llvm::json;

/// False, with a message, if a list has the wrong length.
static bool isAsLong(size_t size, size_t expected, llvm::StringLiteral message, json::Path path) {
  if (size != expected)
    path.report(message);
  return size == expected;
}

static const json::Array *readArray(const json::Value &value, json::Path path) {
  const json::Array *array = value.getAsArray();
  if (!array)
    path.report("expected array");
  return array;
}

/// Only checks that a rank fits its type; its users check it again.
static bool readRank(int64_t number, int32_t &rank, json::Path path) {
  rank = int32_t(number);
  if (rank == number)
    return true;
  path.report("expected a rank");
  return false;
}

static bool readHomes(const json::Value &value, WorldProblem &problem, json::Path path) {
  const json::Array *ranks = readArray(value, path);
  if (!ranks)
    return false;
  for (auto [rank, ranges] : llvm::enumerate(*ranks)) {
    json::Path at = path.index(rank);
    const json::Array *list = readArray(ranges, at);
    if (!list)
      return false;
    std::vector<HomeRange> &homes = problem.homes.emplace_back();
    for (auto [i, range] : llvm::enumerate(*list)) {
      std::vector<int64_t> n;
      if (!json::fromJSON(range, n, at.index(i)) ||
          !isAsLong(n.size(), 3, "expected 3 numbers", at.index(i)))
        return false;
      homes.push_back({n[0], n[1], n[2]});
    }
  }
  return true;
}

static bool readKept(const json::Value &value, int64_t &kept) {
  if (std::optional<StringRef> word = value.getAsString()) {
    kept = *word == "inputs" ? keepsAll : 0;
    return *word == "none" || *word == "inputs";
  }
  std::optional<int64_t> bytes = value.getAsInteger();
  kept = bytes.value_or(0);
  return bytes && kept >= 0;
}

static bool readProblem(const json::Value &value, WorldProblem &problem, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object ||
      !hasOnlyKeys(value, path,
                   {"documents", "heads", "kvHeads", "headDim", "element", "causal", "cut", "ranks",
                    "ranksPerNode", "homes", "speeds", "memory", "kept"}) ||
      !object.map("documents", problem.documents) || !object.map("heads", problem.heads) ||
      !object.map("kvHeads", problem.kvHeads) || !object.map("headDim", problem.headDim) ||
      !object.map("element", problem.element) || !object.map("causal", problem.isCausal) ||
      !object.map("cut", problem.cutVersion) || !object.map("ranks", problem.ranks) ||
      !object.map("ranksPerNode", problem.ranksPerNode) || !object.map("speeds", problem.speeds) ||
      !object.map("memory", problem.memory))
    return false;
  const json::Value *kept = value.getAsObject()->get("kept");
  if (!kept) {
    path.field("kept").report("missing value");
    return false;
  }
  if (!readKept(*kept, problem.kept)) {
    path.field("kept").report("expected none, inputs or a number of bytes");
    return false;
  }
  const json::Value *homes = value.getAsObject()->get("homes");
  if (!homes) {
    path.field("homes").report("missing value");
    return false;
  }
  return readHomes(*homes, problem, path.field("homes"));
}

static bool readPrices(const json::Value &value, WorldPrices &prices, json::Path path) {
  json::ObjectMapper object(value, path);
  return object &&
         hasOnlyKeys(value, path,
                     {"headDim", "task", "item", "workers", "launch", "phase", "forward", "memory",
                      "nvlink", "network"}) &&
         object.mapOptional("headDim", prices.headDim) && object.map("task", prices.task) &&
         object.map("item", prices.item) && object.map("workers", prices.workers) &&
         object.map("launch", prices.launch) && object.map("phase", prices.phase) &&
         object.map("forward", prices.forward) && object.map("memory", prices.memory) &&
         object.map("nvlink", prices.nvlink) && object.map("network", prices.network);
}

static uint32_t toTensors(StringRef name) {
  uint32_t what = 0;
  llvm::SmallVector<StringRef> names;
  name.split(names, '+');
  for (StringRef one : names)
    for (uint32_t tensor = Q; tensor <= DV; tensor <<= 1)
      what |= nameTensors(tensor) == one ? tensor : 0;
  return nameTensors(what) == name ? what : 0;
}

/// Reads a message or a fold: numbers, and one word among them.
static bool readRecord(const json::Value &value, size_t size, llvm::StringLiteral message,
                       size_t wordAt, std::vector<int64_t> &numbers, std::string &word,
                       json::Path path) {
  const json::Array *array = readArray(value, path);
  if (!array || !isAsLong(array->size(), size, message, path))
    return false;
  numbers.clear();
  for (auto [i, one] : llvm::enumerate(*array)) {
    int64_t number = 0;
    if (i == wordAt ? !json::fromJSON(one, word, path.index(i))
                    : !json::fromJSON(one, number, path.index(i)))
      return false;
    if (i != wordAt)
      numbers.push_back(number);
  }
  return true;
}

static bool readMessages(const json::Value &value, Phase &phase, json::Path path) {
  const json::Array *list = readArray(value, path);
  if (!list)
    return false;
  std::vector<int64_t> n;
  std::string word;
  for (auto [i, one] : llvm::enumerate(*list)) {
    json::Path at = path.index(i);
    if (!readRecord(one, 13, "expected 13 values", 2, n, word, at))
      return false;
    Message message{0,    0,    toTensors(word), n[2], n[3],  n[4],
                    n[5], n[6], {n[7], n[8]},    n[9], n[10], n[11]};
    if (!message.what) {
      at.index(2).report("expected tensors, as in Q+dO+LSE+delta");
      return false;
    }
    if (!readRank(n[0], message.from, at.index(0)) || !readRank(n[1], message.to, at.index(1)))
      return false;
    phase.messages.push_back(message);
  }
  return true;
}

static bool readPhases(const json::Value &value, llvm::MutableArrayRef<Phase> phases,
                       llvm::StringLiteral message, json::Path path) {
  const json::Array *list = readArray(value, path);
  if (!list || !isAsLong(list->size(), phases.size(), message, path))
    return false;
  for (auto [i, one] : llvm::enumerate(*list)) {
    Phase &phase = phases[i];
    json::Path at = path.index(i);
    std::string name, group;
    json::ObjectMapper object(one, at);
    if (!object ||
        !hasOnlyKeys(one, at, {"phase", "group", "sendBytes", "receiveBytes", "messages"}) ||
        !object.map("phase", name) || !object.map("group", group) ||
        !object.map("sendBytes", phase.sendBytes) ||
        !object.map("receiveBytes", phase.receiveBytes))
      return false;
    if (name != phase.name || group != (phase.group == Group::Node ? "node" : "all")) {
      at.field(name != phase.name ? "phase" : "group")
          .report("expected the phases of the format, in its order and over its groups");
      return false;
    }
    const json::Value *messages = one.getAsObject()->get("messages");
    if (!messages) {
      at.field("messages").report("missing value");
      return false;
    }
    if (!readMessages(*messages, phase, at.field("messages")))
      return false;
  }
  return true;
}

static bool readRuns(const json::Value &value, std::vector<Run> &runs, json::Path path) {
  const json::Array *list = readArray(value, path);
  if (!list)
    return false;
  std::vector<int64_t> n;
  for (auto [i, one] : llvm::enumerate(*list)) {
    Run run;
    if (!json::fromJSON(one, n, path.index(i)) ||
        !isAsLong(n.size(), 5, "expected 5 numbers", path.index(i)) ||
        !readRank(n[0], run.rank, path.index(i).index(0)))
      return false;
    run.document = n[1];
    run.kvHead = n[2];
    run.firstLeaf = n[3];
    run.endLeaf = n[4];
    runs.push_back(run);
  }
  return true;
}

static bool readKeptHeads(const json::Value &value, std::vector<KeptHeads> &kept, json::Path path) {
  const json::Array *list = readArray(value, path);
  if (!list)
    return false;
  std::vector<int64_t> n;
  for (auto [i, one] : llvm::enumerate(*list)) {
    if (!json::fromJSON(one, n, path.index(i)) ||
        !isAsLong(n.size(), 3, "expected 3 numbers", path.index(i)))
      return false;
    kept.push_back({n[0], n[1], n[2]});
  }
  return true;
}

static bool readFolds(const json::Value &value, std::vector<Fold> &folds, json::Path path) {
  const json::Array *list = readArray(value, path);
  if (!list)
    return false;
  std::vector<int64_t> n;
  std::string word;
  for (auto [i, one] : llvm::enumerate(*list)) {
    json::Path at = path.index(i);
    if (!readRecord(one, 9, "expected 9 values", 0, n, word, at))
      return false;
    auto stage = llvm::find(stageNames, word);
    if (stage == std::end(stageNames)) {
      at.index(0).report("expected server, node or home");
      return false;
    }
    Fold fold{Stage(stage - std::begin(stageNames)), 0, n[1], n[2], n[3], {n[4], n[5]}, n[6], n[7]};
    if (!readRank(n[0], fold.rank, at.index(1)))
      return false;
    folds.push_back(fold);
  }
  return true;
}

static bool readAll(const json::Value &value, WorldProblem &problem, WorldPlan &plan,
                    json::Path path) {
  json::ObjectMapper object(value, path);
  int64_t version = 0;
  std::string level;
  if (!object ||
      !hasOnlyKeys(value, path,
                   {"version", "kind", "level", "problem", "prices", "figures", "ranks", "runs",
                    "keptHeads", "forward", "backward", "folds", "sumBytes", "keptBytes"}) ||
      !object.map("version", version))
    return false;
  if (version != 1) {
    path.field("version").report("expected 1");
    return false;
  }
  if (!object.map("kind", plan.kind) || !object.map("level", level) ||
      !object.map("sumBytes", plan.sumBytes) || !object.map("keptBytes", plan.keptBytes))
    return false;
  if (level != "world") {
    path.field("level").report("expected world");
    return false;
  }
  const json::Object &all = *value.getAsObject();
  auto read = [&](StringRef key, auto reader) {
    if (const json::Value *part = all.get(key))
      return reader(*part, path.field(key));
    path.field(key).report("missing value");
    return false;
  };
  return read("problem", [&](auto &part, auto at) { return readProblem(part, problem, at); }) &&
         read("prices",
              [&](auto &part, auto at) { return readPrices(part, problem.prices, at); }) &&
         read("runs", [&](auto &part, auto at) { return readRuns(part, plan.runs, at); }) &&
         read("keptHeads",
              [&](auto &part, auto at) { return readKeptHeads(part, plan.kept, at); }) &&
         read("forward",
              [&](auto &part, auto at) {
                return readPhases(part, plan.forward, "expected 3 phases", at);
              }) &&
         read("backward",
              [&](auto &part, auto at) {
                return readPhases(part, plan.backward, "expected 4 phases", at);
              }) &&
         read("folds", [&](auto &part, auto at) { return readFolds(part, plan.folds, at); });
}

llvm::Expected<FiledPlan> mlir::dash::world::readPlan(StringRef path) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string message;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  WorldProblem problem;
  WorldPlan plan;
  beginPhases(plan);
  auto read = [&](const json::Value &value, json::Path at) {
    return readAll(value, problem, plan, at);
  };
  FailureOr<std::string> text = readText("plan", path, emitError);
  if (failed(text) || failed(parseJson("plan", path, *text, read, emitError)))
    return llvm::createStringError(message);
  auto inFile = [&](llvm::Error error) {
    return refuse("plan file '{0}': {1}", path, llvm::toString(std::move(error)));
  };
  llvm::Expected<World> world = World::get(std::move(problem));
  if (!world)
    return inFile(world.takeError());
  if (llvm::Error error = verifyWorld(*world, plan))
    return inFile(std::move(error));
  return FiledPlan{std::move(*world), std::move(plan)};
}
