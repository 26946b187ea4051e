//===- ReportJson.cpp - a schedule for other programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem may have millions of tasks, so the document is streamed, one item or chain a line.
//
//===----------------------------------------------------------------------===//

#include "Replay/Replay.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dash;
namespace json = llvm::json;

SmallVector<std::pair<StringRef, double>, 2> dash::pricesOfParts(const Cost &cost) {
  SmallVector<std::pair<StringRef, double>, 2> prices = {
      {"piece", cost.piece}, {"convert", cost.convert}, {"gather", cost.gather}};
  llvm::erase_if(prices, [](auto &price) { return price.second == 0; });
  return prices;
}

namespace {

/// The contributions of each dQ tile in turn order, as items.
struct ChainTable {
  explicit ChainTable(const Schedule &schedule) {
    const Problem &problem = schedule.problem;
    for (int64_t s : llvm::seq(problem.numSequences()))
      for (int64_t i = 0, qTiles = problem.numQTiles(s); i < problem.heads * qTiles; ++i)
        begin.push_back(begin.back() + problem.activeKv(s, i % qTiles).size());
    items.resize(begin.back());
    ChainIds chains(problem);
    VisitReader reader(schedule);
    SmallVector<Visit, 0> storage;
    for (auto [index, item] : llvm::enumerate(schedule.items()))
      for (const Visit &visit : *reader.read(index, storage))
        items[begin[chains(item.sequence, visit.head, visit.tile)] + visit.turn] = index;
  }
  ArrayRef<int32_t> operator[](int64_t chain) const {
    return ArrayRef(items).slice(begin[chain], begin[chain + 1] - begin[chain]);
  }

  std::vector<int64_t> begin = {0};
  std::vector<int32_t> items;
};

class JsonReport {
public:
  JsonReport(llvm::raw_ostream &os) : json(os, /*IndentSize=*/2) {}

  void write(ArrayRef<ReportEntry> entries) {
    json.object([&] {
      json.attribute("version", 1);
      json.attributeArray("schedules", [&] {
        for (const ReportEntry &entry : entries)
          json.object([&] { write(entry); });
      });
    });
  }

private:
  void write(const ReportEntry &entry) {
    const Schedule &schedule = entry.schedule;
    const Problem &problem = schedule.problem;
    json.attribute("op", entry.op);
    json.attribute("kind", schedule.kind);
    json.attribute("level", stringifyDeterminismLevel(schedule.level));
    json.attribute("deterministic", schedule.isOrdered());
    if (problem.ownsQ())
      json.attribute("own", stringifyTensorSide(problem.own));
    if (problem.isCut())
      json.attribute("cut", problem.cut);
    if (problem.tiles.fold > 1)
      json.attribute("fold", problem.tiles.fold);
    if (!problem.hasChains())
      json.attribute("keeps", stringifyDeterminismLevel(entry.facts.keeps));
    json.attribute("forWorkers", schedule.width);
    line("mask", [&](json::OStream &out) { writeMask(out, problem.mask); });
    line("tiles",
         [&](json::OStream &out) { writePair(out, problem.tiles.rowsOfQ(), problem.tiles.kv); });
    json.attributeArray("sequences", [&] {
      for (const SequenceLengths &lengths : problem.sequences)
        lineValue([&](json::OStream &out) { writePair(out, lengths.q, lengths.kv); });
    });
    json.attribute("heads", problem.heads);
    json.attribute("kvHeads", problem.kvHeads);
    json.attribute("parts", schedule.parts);
    if (schedule.apart != Apart::None)
      json.attribute("apart", stringifyApart(schedule.apart));
    json.attribute("headDim", problem.headDim);
    json.attribute("headDimV", problem.headDimV);
    json.attribute("workers", schedule.workers);
    json.attribute("minWorkers", entry.facts.minWorkers);
    json.attribute("dynamicIssue", entry.facts.dynamicIssue);
    json.attributeBegin("cost");
    json.rawValue([&](llvm::raw_ostream &os) {
      os << "{\"c\":" << toDecimal(schedule.cost.compute)
         << ",\"r\":" << toDecimal(schedule.cost.reduce)
         << ",\"latency\":" << toDecimal(schedule.cost.latency)
         << ",\"buffers\":" << schedule.cost.buffers
         << ",\"boundary\":" << toDecimal(schedule.cost.boundary);
      for (auto [key, value] : pricesOfParts(schedule.cost))
        os << ",\"" << key << "\":" << toDecimal(value);
      os << "}";
    });
    json.attributeEnd();
    if (const std::optional<Search> &search = schedule.search)
      json.attributeObject("search", [&] {
        json.attribute("version", search->version);
        json.attribute("budget", search->budget);
        json.attribute("dqLimit", search->maxDqBytes);
      });
    number("makespan", entry.makespan);
    number("lowerBound", entry.lowerBound);
    writeItems(schedule);
    writeChains(schedule);
    writePartChains(schedule);
  }

  void writeItems(const Schedule &schedule) {
    VisitReader reader(schedule);
    SmallVector<Visit, 0> storage;
    json.attributeArray("items", [&] {
      for (auto [index, item] : llvm::enumerate(schedule.items())) {
        ArrayRef<Visit> visits = *reader.read(index, storage);
        lineValue([&, &item = item](json::OStream &out) {
          out.object([&] {
            out.attribute("worker", item.worker);
            out.attribute("sequence", item.sequence);
            if (schedule.problem.ownsQ()) {
              out.attribute("head", item.head);
              if (schedule.problem.isCut())
                out.attribute("piece", item.part);
              out.attribute("q", item.tile);
            } else {
              out.attribute("kvHead", item.head);
              out.attribute("part", item.part);
              out.attribute("kv", item.tile);
            }
            out.attributeArray("visit", [&] {
              for (const Visit &visit : visits)
                out.array([&] {
                  out.value(visit.head);
                  out.value(visit.tile);
                });
            });
          });
        });
      }
    });
  }

  void writeChains(const Schedule &schedule) {
    if (!schedule.hasTurns())
      return json.attributeArray("chains", [] {});
    const Problem &problem = schedule.problem;
    ChainTable chains(schedule);
    int64_t chain = 0;
    json.attributeArray("chains", [&] {
      for (int64_t s : llvm::seq(problem.numSequences()))
        for (int64_t head : llvm::seq(problem.heads))
          for (int64_t q : llvm::seq(problem.numQTiles(s)))
            lineValue([&](json::OStream &out) {
              out.object([&] {
                out.attribute("sequence", s);
                out.attribute("head", head);
                out.attribute("q", q);
                out.attributeArray("order", [&] {
                  for (int32_t index : chains[chain++])
                    out.array([&] {
                      out.value(schedule.items()[index].tile);
                      out.value(schedule.items()[index].part);
                    });
                });
              });
            });
    });
  }

  void writePartChains(const Schedule &schedule) {
    if (!schedule.hasTurns())
      return json.attributeArray("partChains", [] {});
    const Problem &problem = schedule.problem;
    OwnTileIds kvTiles(problem);
    std::vector<int32_t> partAtTurn(kvTiles.size() * schedule.parts);
    for (const Item &item : schedule.items())
      partAtTurn[kvTiles(item) * schedule.parts + item.partTurn] = item.part;
    ArrayRef<int32_t> rest = partAtTurn;
    json.attributeArray("partChains", [&] {
      for (int64_t s : llvm::seq(problem.numSequences()))
        for (int64_t kvHead : llvm::seq(problem.kvHeads))
          for (int64_t kv : llvm::seq(problem.numKvTiles(s))) {
            lineValue([&](json::OStream &out) {
              out.object([&] {
                out.attribute("sequence", s);
                out.attribute("kvHead", kvHead);
                out.attribute("kv", kv);
                out.attributeArray("order", [&] {
                  for (int32_t part : rest.take_front(schedule.parts))
                    out.value(part);
                });
              });
            });
            rest = rest.drop_front(schedule.parts);
          }
    });
  }

  /// As in the attribute's text: either `causal` or `window` describes the band.
  static void writeMask(json::OStream &out, const Mask &mask) {
    bool isCausal = mask.left < 0 && mask.right == 0;
    out.object([&] {
      out.attribute("causal", isCausal);
      if (isCausal || (mask.left < 0 && mask.right < 0))
        out.attribute("window", nullptr);
      else
        writeWindow(out, {mask.left, mask.right});
      writeRule(out, "blocks", mask.blocks());
      writeRule(out, "union", mask.unionRule());
    });
  }
  template <typename Rule> static void writeRule(json::OStream &out, StringRef key, Rule rule) {
    if (!rule)
      return out.attribute(key, nullptr);
    out.attributeObject(key, [&] { writeKeys(out, rule); });
  }
  static void writeKeys(json::OStream &out, BlocksAttr blocks) {
    out.attribute("q", blocks.getQ());
    out.attribute("kv", blocks.getKv());
    out.attributeArray("bits", [&] {
      for (int64_t kv : llvm::seq(blocks.getNumKvBlocks())) {
        std::string row;
        for (int64_t q : llvm::seq(blocks.getNumQBlocks()))
          row += blocks.isVisible(kv, q) ? '1' : '0';
        out.value(row);
      }
    });
  }
  static void writeKeys(json::OStream &out, UnionAttr both) {
    out.attribute("columns", both.getColumns());
    writeWindow(out, both.getWindow());
  }
  static void writeWindow(json::OStream &out, const Band &band) {
    out.attributeArray("window", [&] {
      out.value(band.left);
      out.value(band.right);
    });
  }
  static void writePair(json::OStream &out, int64_t q, int64_t kv) {
    out.object([&] {
      out.attribute("q", q);
      out.attribute("kv", kv);
    });
  }
  /// A value without line breaks.
  void lineValue(llvm::function_ref<void(json::OStream &)> write) {
    json.rawValue([&](llvm::raw_ostream &os) {
      json::OStream out(os);
      write(out);
    });
  }
  void line(StringRef key, llvm::function_ref<void(json::OStream &)> write) {
    json.attributeBegin(key);
    lineValue(write);
    json.attributeEnd();
  }
  void number(StringRef key, double value) {
    json.attributeBegin(key);
    json.rawValue(toDecimal(value));
    json.attributeEnd();
  }

  json::OStream json;
};

} // namespace

void dash::writeJson(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
  JsonReport(os).write(entries);
  os << "\n";
}
