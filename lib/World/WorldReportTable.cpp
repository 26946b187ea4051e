//===- WorldReportTable.cpp - a plan for a person --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Words.h"
#include "dash/World/WorldKinds.h"
#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir::dash::world;

static double toMilliseconds(int64_t picoseconds) { return double(picoseconds) * 1e-9; }

static void writeProblem(llvm::raw_ostream &os, const World &world) {
  const WorldProblem &p = world.problem();
  int64_t rows = std::accumulate(p.documents.begin(), p.documents.end(), int64_t(0));
  os << llvm::formatv("  problem      {0} documents of {1} rows, the longest {2}; {3} heads over "
                      "{4} kv heads of {5}, {6}, causal\n",
                      p.documents.size(), rows, *llvm::max_element(p.documents), p.heads, p.kvHeads,
                      p.headDim, p.element);
  os << llvm::formatv("  ranks        {0}, in nodes of {1}\n", p.ranks,
                      std::min(p.ranks, p.ranksPerNode));
  if (p.prices.headDim != 0 && p.prices.headDim != p.headDim)
    os << llvm::formatv("  prices       of head dim {0}, as they are: none are measured for {1}\n",
                        p.prices.headDim, p.headDim);
  int64_t whole = 0;
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    whole += world.numLeaves(document) == 1;
  os << llvm::formatv("  cut          version {0}: {1} leaves of all heads, {2} documents whole\n",
                      world.cut().version, world.numUnits(), whole);
}

static void writePass(llvm::raw_ostream &os, const World &world, const PassLoad &load,
                      const char *name, bool isForward) {
  Figures f = figuresOf(world, load, isForward);
  os << llvm::formatv("  {0,-12} layer {1:f3} ms: computes {2:f3}, exchanges {3:f3}, of which "
                      "{4:f3} is hidden; balance {5:f3}\n",
                      name, toMilliseconds(f.layer), toMilliseconds(f.compute),
                      toMilliseconds(f.exchange), f.hidden, f.balance);
  os << llvm::formatv("               {0:f3} of leaves shared out evenly, {1:f3} of documents "
                      "uncut; bound {2:f3} ms\n",
                      f.overEven, f.overUncut, toMilliseconds(f.bound));
  os << llvm::formatv("               {0:f1} MB into a rank on average, {1:f1} of it across nodes;",
                      f.meanIn / 1e6, f.meanNetwork / 1e6);
  StringRef separator = " phases";
  for (const Traffic &phase : load.phases) {
    os << llvm::formatv("{0} {1} {2:f3} ms", separator, phase.name,
                        toMilliseconds(phaseTime(world, phase)));
    separator = ",";
  }
  os << "\n";
}

void mlir::dash::world::writeTable(llvm::raw_ostream &os, const World &world,
                                   const WorldPlan &plan) {
  os << "world " << plan.kind << "\n";
  writeProblem(os, world);
  size_t messages = 0;
  for (const Phase &phase : plan.forward)
    messages += phase.messages.size();
  for (const Phase &phase : plan.backward)
    messages += phase.messages.size();
  os << llvm::formatv("  plan         level world; {0} runs, {1} messages, {2} folds\n",
                      plan.runs.size(), messages, plan.folds.size());
  writePass(os, world, forwardLoad(world, plan), "forward", /*isForward=*/true);
  PassLoad backward = backwardLoad(world, plan);
  writePass(os, world, backward, "backward", /*isForward=*/false);
  int64_t most = 0, folds = 0, computes = 0;
  for (int64_t rank = 0; rank < world.problem().ranks; ++rank) {
    most = std::max(most, memoryOf(world, plan, rank));
    folds += backward.folds[rank];
    computes += backward.compute[rank];
  }
  os << llvm::formatv("  folds        {0:f4} of what leaves take\n",
                      double(folds) / double(computes));
  os << llvm::formatv("  memory       {0:f3} GB of buffers on the fullest rank\n",
                      double(most) / 1e9);
  if (world.problem().kept != 0) {
    int64_t heads = 0;
    for (const KeptHeads &kept : plan.kept)
      heads += kept.kvHeads;
    os << llvm::formatv("  kept         {0:f3} GB of it from forward to backward, on the rank that "
                        "keeps most; {1} of {2} kv heads of documents\n",
                        double(*llvm::max_element(plan.keptBytes)) / 1e9, heads,
                        world.numDocuments() * world.problem().kvHeads);
  }
}

void mlir::dash::world::writeRank(llvm::raw_ostream &os, const World &world, const WorldPlan &plan,
                                  int64_t rank) {
  PassLoad load = backwardLoad(world, plan);
  os << llvm::formatv("rank {0}: computes {1:f3} ms, folds {2:f3} ms, {3:f3} GB of buffers", rank,
                      toMilliseconds(load.compute[rank]), toMilliseconds(load.folds[rank]),
                      double(memoryOf(world, plan, rank)) / 1e9);
  if (plan.keptBytes[rank])
    os << llvm::formatv(", {0:f3} GB kept", double(plan.keptBytes[rank]) / 1e9);
  os << "\n";
  for (const Run &run : plan.runs)
    if (run.rank == rank)
      os << llvm::formatv(
          "  run       document {0}, kv head {1}, leaves {2} to {3}: rows {4} to {5}\n",
          run.document, run.kvHead, run.firstLeaf, run.endLeaf,
          world.leafFirst(run.document, run.firstLeaf),
          world.leafEnd(run.document, run.endLeaf - 1));
  auto writePhase = [&](StringRef pass, const Phase &phase) {
    for (const Message &m : phase.messages) {
      if (m.from != rank && m.to != rank)
        continue;
      os << llvm::formatv(
          "  {0} {1} {2}: {3} {4}, {5} of document {6}, kv heads {7} to {8}, rows {9} to {10}",
          pass, phase.name, m.from == rank ? "out" : "in", m.from == rank ? "to rank" : "from rank",
          m.from == rank ? m.to : m.from, nameTensors(m.what), m.document, m.kvHead,
          m.kvHead + m.kvHeads, m.first, m.end);
      if (m.what & Sums)
        os << llvm::formatv(" of node {0}.{1}", m.node.level, m.node.index);
      os << llvm::formatv(": {0} bytes at {1}\n", m.bytes,
                          m.from == rank ? m.sendOffset : m.receiveOffset);
    }
  };
  for (const Phase &phase : plan.forward)
    writePhase("forward", phase);
  for (const Phase &phase : plan.backward)
    writePhase("backward", phase);
  for (const Fold &fold : plan.folds)
    if (fold.rank == rank)
      os << llvm::formatv(
          "  fold      {0}: node {1}.{2} of document {3}, kv heads {4} to {5}, rows {6} to {7}\n",
          stageNames[int(fold.stage)], fold.node.level, fold.node.index, fold.document, fold.kvHead,
          fold.kvHead + fold.kvHeads, fold.first, fold.end);
}

llvm::Error mlir::dash::world::writeComparison(llvm::raw_ostream &os, const World &world,
                                               uint64_t seed) {
  os << "world, a backward of each kind\n";
  writeProblem(os, world);
  os << "\n  kind        | level | balance | MB in | network | exchange ms | hidden | layer ms | "
        "of leaves | of uncut\n";
  for (const WorldKind *kind : worldKinds()) {
    PassLoad load;
    if (kind->isLevelWorld()) {
      llvm::Expected<WorldPlan> plan = planWorld(world, kind->name, seed);
      if (!plan)
        return plan.takeError();
      load = backwardLoad(world, *plan);
    } else {
      load = kind->estimate(world);
    }
    Figures f = figuresOf(world, load);
    os << llvm::formatv("  {0,-11} | {1} | {2,7:f3} | {3,5:f0} | {4,7:f0} | {5,11:f3} | {6,6:f2} | "
                        "{7,8:f3} | {8,9:f3} | {9,8:f3}\n",
                        kind->name, kind->isLevelWorld() ? "world" : "none ", f.balance,
                        f.meanIn / 1e6, f.meanNetwork / 1e6, toMilliseconds(f.exchange), f.hidden,
                        toMilliseconds(f.layer), f.overEven, f.overUncut);
  }
  os << "\n  MB: bytes into a rank, on average, and across nodes; layer: computing or exchange, "
        "whichever is longer; of leaves, of uncut:\n"
        "  over the time of the leaves, and of the documents uncut, shared out evenly. Level none: "
        "not level world, nothing executes it.\n";
  return llvm::Error::success();
}

WriteReport mlir::dash::world::findReport(llvm::StringRef format) {
  return llvm::StringSwitch<WriteReport>(format)
      .Case("table", writeTable)
      .Case("json", writeJson)
      .Case("svg", writeSvg)
      .Case("trace", writeTrace)
      .Default(nullptr);
}
