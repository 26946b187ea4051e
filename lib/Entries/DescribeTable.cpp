//===- DescribeTable.cpp - the command that makes an order's table --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

/// "q:1024,kv:1024", or "q:512+512,kv:512+512" for a list.
static std::string describeRows(SequencesAttr rows, bool isList) {
  auto text = [&](ArrayRef<int64_t> lengths) {
    auto some = lengths.take_front(isList ? lengths.size() : 1);
    return llvm::join(llvm::map_range(some, [](int64_t rows) { return std::to_string(rows); }),
                      "+");
  };
  return "q:" + text(rows.getQ()) + ",kv:" + text(rows.getKv());
}

/// The options besides the problem that determine a search.
static std::string searchOptions(SearchAttr search, CostAttr cost) {
  std::string text;
  auto add = [&](StringRef name, double value) {
    char digits[32]; // the shortest decimal that reads back as the same number
    text += (" " + name + "=").str();
    text.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
  };
  add("compute", cost.getCompute());
  add("reduce", cost.getReduce());
  add("latency", cost.getLatency());
  add("boundary", cost.getBoundary());
  if (cost.getPiece() > 0)
    add("piece", cost.getPiece());
  add("buffers", cost.getBuffers());
  add("dq-limit", search.getDqLimit() >> 20);
  return text;
}

OrderSourceAttr dash::describeTable(ScheduleOp schedule, bool isList, Apart apart) {
  MLIRContext *context = schedule.getContext();
  ProblemAttr problem = schedule.getProblem();
  SequencesAttr rows = problem.getSequences();
  TilesAttr tiles = problem.getTiles();
  // The origin of the order is not recorded, just like PROGRAM.
  std::string file = schedule.getKind() == "file" ? " path=ORDER.json" : "";
  std::string width = schedule.getLevel() == DeterminismLevel::Machine
                          ? formatv(" for-workers={0}", schedule.getWidth()).str()
                          : "";
  SearchAttr search = schedule.getSearchAttr();
  // If the number of parts is not stated, a search chooses it, also for other sizes.
  bool isOnePart = schedule.getParts() == 1;
  std::string parts =
      search || !isOnePart ? formatv(" parts={0}", int64_t(schedule.getParts())).str() : "";
  if (apart != Apart::None)
    parts += (" apart=" + stringifyApart(apart)).str();
  // An order with one part does not depend on the prices of parts.
  CostAttr cost = schedule.getCost();
  cost =
      CostAttr::get(context, cost.getCompute(), cost.getReduce(), cost.getLatency(),
                    cost.getBuffers(), cost.getBoundary(), isOnePart ? 0 : cost.getPiece(), 0, 0);
  std::string command =
      formatv("dash-opt PROGRAM --dash-tile='q={0} kv={1}' --dash-apply-schedule='kind={2}{3} "
              "level={4} workers={5}{6}{12}{7} form=table "
              "sizes={8},batch:{9},heads:{10},kv-heads:{11}'",
              tiles.getRowsOfQ(), tiles.getKv(), schedule.getKind(), file,
              stringifyDeterminismLevel(schedule.getLevel()), schedule.getWorkers(), width,
              search ? searchOptions(search, cost) : "", describeRows(rows, isList),
              isList ? 1 : rows.size(), problem.getHeads(), problem.getKvHeads(), parts)
          .str();
  return OrderSourceAttr::get(context, OrderSource::File, command, search,
                              search ? cost : CostAttr());
}
