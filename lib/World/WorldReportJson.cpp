//===- WorldReportJson.cpp - a plan for other programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan has tens of thousands of messages, so the document is streamed, one message a line.
//
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir::dash::world;
namespace json = llvm::json;

namespace {

class JsonReport {
public:
  JsonReport(llvm::raw_ostream &os, const World &world, const WorldPlan &plan)
      : json(os, /*IndentSize=*/2), world(world), plan(plan) {}

  void write() {
    json.object([&] {
      json.attribute("version", 1);
      json.attribute("kind", plan.kind);
      json.attribute("level", "world");
      json.attributeObject("problem", [&] { writeProblem(); });
      json.attributeObject("prices", [&] { writePrices(); });
      json.attributeObject("figures", [&] {
        json.attributeObject(
            "forward", [&] { writeFigures(figuresOf(world, forwardLoad(world, plan), true)); });
        json.attributeObject("backward",
                             [&] { writeFigures(figuresOf(world, backwardLoad(world, plan))); });
      });
      writeRanks();
      json.attributeArray("runs", [&] {
        for (const Run &run : plan.runs)
          line({run.rank, run.document, run.kvHead, run.firstLeaf, run.endLeaf});
      });
      json.attributeArray("keptHeads", [&] {
        for (const KeptHeads &heads : plan.kept)
          line({heads.document, heads.kvHead, heads.kvHeads});
      });
      writePhases("forward", plan.forward);
      writePhases("backward", plan.backward);
      json.attributeArray("folds", [&] {
        for (const Fold &fold : plan.folds)
          json.rawValue([&](llvm::raw_ostream &os) {
            os << llvm::formatv("[\"{0}\",{1},{2},{3},{4},{5},{6},{7},{8}]",
                                stageNames[int(fold.stage)], fold.rank, fold.document, fold.kvHead,
                                fold.kvHeads, fold.node.level, fold.node.index, fold.first,
                                fold.end);
          });
      });
      numbers("sumBytes", plan.sumBytes);
      numbers("keptBytes", plan.keptBytes);
    });
  }

private:
  void writeProblem() {
    const WorldProblem &p = world.problem();
    numbers("documents", p.documents);
    json.attribute("heads", p.heads);
    json.attribute("kvHeads", p.kvHeads);
    json.attribute("headDim", p.headDim);
    json.attribute("element", p.element);
    json.attribute("causal", p.isCausal);
    json.attribute("cut", p.cutVersion);
    json.attribute("ranks", p.ranks);
    json.attribute("ranksPerNode", p.ranksPerNode);
    json.attributeArray("homes", [&] {
      for (const std::vector<HomeRange> &ranges : p.homes)
        json.rawValue([&](llvm::raw_ostream &os) {
          os << "[";
          llvm::interleave(
              ranges, os,
              [&](const HomeRange &range) {
                os << llvm::formatv("[{0},{1},{2}]", range.document, range.first, range.rows);
              },
              ",");
          os << "]";
        });
    });
    numbers("speeds", p.speeds);
    json.attribute("memory", p.memory);
    if (p.kept == 0 || p.kept == keepsAll)
      json.attribute("kept", p.kept == 0 ? "none" : "inputs");
    else
      json.attribute("kept", p.kept);
  }

  void writePrices() {
    const WorldPrices &prices = world.problem().prices;
    json.attribute("headDim", prices.headDim);
    json.attribute("task", prices.task);
    json.attribute("item", prices.item);
    json.attribute("workers", prices.workers);
    json.attribute("launch", prices.launch);
    json.attribute("phase", prices.phase);
    json.attribute("forward", prices.forward);
    json.attribute("memory", prices.memory);
    json.attribute("nvlink", prices.nvlink);
    json.attribute("network", prices.network);
  }

  void writeFigures(const Figures &f) {
    json.attribute("compute", f.compute);
    json.attribute("exchange", f.exchange);
    json.attribute("layer", f.layer);
    json.attribute("even", f.even);
    json.attribute("uncut", f.uncut);
    json.attribute("bound", f.bound);
    json.attribute("balance", f.balance);
    json.attribute("hidden", f.hidden);
    json.attribute("overEven", f.overEven);
    json.attribute("overUncut", f.overUncut);
  }

  void writeRanks() {
    PassLoad load = backwardLoad(world, plan);
    json.attributeArray("ranks", [&] {
      for (int64_t rank = 0; rank < world.problem().ranks; ++rank) {
        int64_t in = 0, out = 0;
        for (const Traffic &phase : load.phases) {
          in += phase.linkIn[rank] + phase.networkIn[rank];
          out += phase.linkOut[rank] + phase.networkOut[rank];
        }
        json.rawValue([&](llvm::raw_ostream &os) {
          os << llvm::formatv(
              "{{\"compute\":{0},\"folds\":{1},\"bytesIn\":{2},\"bytesOut\":{3},\"memory\":{4}}",
              load.compute[rank], load.folds[rank], in, out, memoryOf(world, plan, rank));
        });
      }
    });
  }

  void writePhases(StringRef pass, ArrayRef<Phase> phases) {
    json.attributeArray(pass, [&] {
      for (const Phase &phase : phases)
        json.object([&] {
          json.attribute("phase", phase.name);
          json.attribute("group", phase.group == Group::Node ? "node" : "all");
          numbers("sendBytes", phase.sendBytes);
          numbers("receiveBytes", phase.receiveBytes);
          json.attributeArray("messages", [&] {
            for (const Message &m : phase.messages)
              json.rawValue([&](llvm::raw_ostream &os) {
                os << llvm::formatv("[{0},{1},\"{2}\",{3},{4},{5},{6},{7},{8},{9},{10},{11},{12}]",
                                    m.from, m.to, nameTensors(m.what), m.document, m.kvHead,
                                    m.kvHeads, m.first, m.end, m.node.level, m.node.index,
                                    m.sendOffset, m.receiveOffset, m.bytes);
              });
          });
        });
    });
  }

  void line(std::initializer_list<int64_t> values) {
    json.rawValue([&](llvm::raw_ostream &os) { writeNumbers(os, values); });
  }
  void numbers(StringRef key, ArrayRef<int64_t> values) {
    json.attributeBegin(key);
    json.rawValue([&](llvm::raw_ostream &os) { writeNumbers(os, values); });
    json.attributeEnd();
  }
  static void writeNumbers(llvm::raw_ostream &os, ArrayRef<int64_t> values) {
    os << "[";
    llvm::interleave(values, os, ",");
    os << "]";
  }

  json::OStream json;
  const World &world;
  const WorldPlan &plan;
};

} // namespace

void mlir::dash::world::writeJson(llvm::raw_ostream &os, const World &world,
                                  const WorldPlan &plan) {
  JsonReport(os, world, plan).write();
  os << "\n";
}
