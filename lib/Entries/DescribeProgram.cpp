//===- DescribeProgram.cpp - a program as launchers see it ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions are of sizes (batch, heads, kv_heads, q_rows, kv_rows), derived sizes and workers.
//
//===----------------------------------------------------------------------===//

#include "DescribeProgram.h"
#include "dash/Entries/OrderTable.h"
#include "dash/Entries/ProgramFacts.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/IR/PartCut.h"
#include "dash/IR/PtxName.h"
#include "dash/IR/TensorNames.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

namespace {

class Describer {
public:
  Describer(StringRef name, ArrayRef<TensorRole> roles, ArrayRef<MemRefType> tensors,
            ScheduleOp schedule, SequencesAttr list, FloatAttr softcap, Apart apart,
            bool overlapsRounding, int64_t numOrderWords, bool drawsTickets)
      : name(name), roles(roles), tensors(tensors), schedule(schedule),
        problem(schedule.getProblem()), rows(problem.getSequences()), tiles(problem.getTiles()),
        list(list), softcap(softcap), apart(apart), overlapsRounding(overlapsRounding),
        numOrderWords(numOrderWords), drawsTickets(drawsTickets), context(schedule.getContext()) {}

  ProgramAttr describe() {
    return ProgramAttr::get(context, name, describeFacts(), describeSizes(), describeConstraints(),
                            describeDerived(), describeTensors(), describeWorkspace(),
                            describeOrder());
  }

private:
  bool isTable() { return schedule.getTable() != nullptr; }
  /// Whether lengths of sequences come with a launch, on the device.
  bool isOpen() { return list && list.isOpen(); }

  FactsAttr describeFacts() {
    // The proof's number counts workers that start in index order, which no launch promises, but tickets do.
    int64_t minWorkers = !mayWait(schedule, apart)   ? 1
                         : drawsTickets && isTable() ? *schedule.getMinWorkers()
                                                     : schedule.getWorkers();
    return FactsAttr::get(context, tensors.front().getElementType(), problem.getHeadDim(),
                          problem.getHeadDimV(), problem.getMask(), tiles, schedule.getKind(),
                          schedule.getLevel(), schedule.isOrdered(), schedule.getParts(),
                          schedule.getWorkers(), schedule.getWidth(), minWorkers, softcap, apart,
                          overlapsRounding);
  }

  /// The size that a dimension of the tensors' types states, or -1.
  int64_t statedSize(bool isOfKeyValue, bool isOfBoth, unsigned dim) {
    for (auto [role, type] : llvm::zip_equal(roles, tensors))
      if (!role.isOptional() && (isOfBoth || role.isKeyValue == isOfKeyValue) &&
          !type.isDynamicDim(dim))
        return type.getDimSize(dim);
    return -1;
  }

  SmallVector<SizeAttr> describeSizes() {
    auto size = [&](StringRef sizeName, int64_t stated, int64_t tableSize, int64_t max) {
      if (isTable())
        stated = tableSize;
      return stated >= 0 ? SizeAttr::get(context, sizeName, stated, stated)
                         : SizeAttr::get(context, sizeName, 1, max);
    };
    int64_t batch = list ? 1 : statedSize(false, true, 0);
    SmallVector<SizeAttr> sizes = {
        size("batch", batch, list ? 1 : rows.size(), maxKernelHeads),
        size("heads", statedSize(false, false, 1), problem.getHeads(), maxKernelHeads),
        size("kv_heads", statedSize(true, false, 1), problem.getKvHeads(), maxKernelHeads),
        size("q_rows", statedSize(false, false, 2), list ? rows.getTotalQ() : rows.getQ().front(),
             maxKernelRows),
        size("kv_rows", statedSize(true, false, 2), list ? rows.getTotalKv() : rows.getKv().front(),
             maxKernelRows)};
    if (isOpen())
      sizes.push_back(SizeAttr::get(context, "bounds", 2, maxKernelHeads + 1));
    return sizes;
  }

  SmallVector<ConstraintAttr> describeConstraints() {
    SmallVector<ConstraintAttr> constraints = {ConstraintAttr::get(
        context, "heads % kv_heads", 0, "heads must be a multiple of kv_heads")};
    int64_t parts = schedule.getParts();
    if (PartCut(problem.getHeads() / problem.getKvHeads(), parts).hasRuns())
      constraints.push_back(ConstraintAttr::get(
          context, formatv("(kv_heads*{0}) % heads", parts).str(), 0,
          formatv("the {0} parts of a kv head must be a multiple of its query heads", parts)
              .str()));
    else if (parts > 1)
      constraints.push_back(ConstraintAttr::get(
          context, formatv("heads % (kv_heads*{0})", parts).str(), 0,
          formatv("heads must be a multiple of kv_heads and their {0} parts", parts).str()));
    return constraints;
  }

  SmallVector<DerivedAttr> describeDerived() {
    auto count = [&](StringRef derived, StringRef size, int64_t tile) {
      std::string rows = size.str();
      if (list) // at most: each sequence has its own last tile
        rows += formatv(" + {0}*(sequences - 1)", tile - 1).str();
      return DerivedAttr::get(context, derived, formatv("ceildiv({0}, {1})", rows, tile).str());
    };
    SmallVector<DerivedAttr> derived;
    if (list)
      derived.push_back(DerivedAttr::get(context, "sequences",
                                         isOpen() ? "bounds - 1" : std::to_string(rows.size())));
    derived.push_back(count("q_tiles", "q_rows", tiles.getQ()));
    derived.push_back(count("kv_tiles", "kv_rows", tiles.getKv()));
    return derived;
  }

  SmallVector<TensorAttr> describeTensors() {
    Builder b(context);
    SmallVector<TensorAttr> described;
    for (auto [role, type] : llvm::zip_equal(roles, tensors)) {
      if (!type)
        continue;
      SmallVector<StringAttr> shape = {b.getStringAttr("batch"),
                                       b.getStringAttr(role.isKeyValue ? "kv_heads" : "heads"),
                                       b.getStringAttr(role.isKeyValue ? "kv_rows" : "q_rows"),
                                       b.getStringAttr(Twine(problem.getHeadDim()))};
      if (role.rank == 1)
        shape.erase(shape.begin());
      else if (role.rank == 2 && list)
        shape.front() = b.getStringAttr("sequences");
      shape.truncate(role.rank);
      TensorPlace place = role.rank == 4 ? matrixPlace : numberPlace;
      described.push_back(TensorAttr::get(context, role.name, type.getElementType(),
                                          role.isWritten ? TensorAccess::Write : TensorAccess::Read,
                                          shape, place.alignment, place.strideMultiple));
    }
    if (isOpen())
      for (StringRef lengths : {"cu_seqlens_q", "cu_seqlens_kv"})
        described.push_back(TensorAttr::get(context, lengths, b.getI32Type(), TensorAccess::Read,
                                            {b.getStringAttr("bounds")}, numberPlace.alignment,
                                            numberPlace.strideMultiple));
    return described;
  }

  SmallVector<RegionAttr> describeWorkspace() {
    auto region = [&](StringRef regionName, const std::string &bytes, int64_t alignment,
                      RegionBefore before = RegionBefore::Any,
                      RegionAfter after = RegionAfter::Any) {
      return RegionAttr::get(context, regionName, bytes, alignment, before, after);
    };
    std::string perTile = "4*batch*heads*q_tiles";
    std::string perRow = perTile + "*" + std::to_string(tiles.getQ());
    int64_t parts = schedule.getParts(), headDim = problem.getHeadDim();
    RegionBefore order = isTable()  ? RegionBefore::File
                         : isOpen() ? RegionBefore::Any // each launch has lengths of its own
                                    : RegionBefore::Entry;
    // Sums and their counters, or contributions and their numbers.
    auto addSums = [&](SmallVector<RegionAttr> &regions, StringRef gradient,
                       const std::string &sumBytes, const std::string &turnBytes) {
      bool isKept = isApart(apart, gradient);
      regions.push_back(isKept ? region(contributionsRegion(gradient),
                                        contributionsBytes(gradient, tiles, headDim, parts), 128)
                               : region(sumsRegion(gradient), sumBytes, 128));
      regions.push_back(
          region(turnsRegion(gradient), turnBytes, 16, RegionBefore::Any,
                 schedule.isOrdered() && !isKept ? RegionAfter::Zero : RegionAfter::Any));
    };
    SmallVector<RegionAttr> regions = {
        region("descriptors", std::to_string(numDescriptors * descriptorBytes), 128),
        region("lse2", perRow, 128), region("delta", perRow, 128)};
    addSums(regions, "dq", perRow + "*" + std::to_string(headDim), perTile);
    regions.push_back(region("order", describeOrderBytes(), 16, order));
    // Of each kv tile, in pieces as large as a q tile's sums, each with a counter.
    auto perKvTile = [](int64_t bytes) {
      return "batch*kv_heads*kv_tiles*" + std::to_string(bytes);
    };
    int64_t pieces = tiles.getKv() / tiles.getQ();
    for (StringRef gradient : {"dk", "dv"}) {
      if (parts == 1)
        break;
      addSums(regions, gradient, perKvTile(4 * tiles.getKv() * headDim), perKvTile(4 * pieces));
    }
    if (hasSink())
      regions.push_back(region(sinkRegion, sinkRegionBytes(tiles.getQ()), 128));
    if (drawsTickets)
      regions.push_back(region("tickets", "4", 16, RegionBefore::Zero, RegionAfter::Zero));
    return regions;
  }

  bool hasSink() const {
    return llvm::any_of(llvm::zip_equal(roles, tensors), [](auto one) {
      return std::get<0>(one).name == "sink" && std::get<1>(one);
    });
  }

  std::string describeOrderBytes() {
    if (isTable())
      return std::to_string(4 * numOrderWords);
    if (!isOpen())
      return formatv("4*(align({0} + workers, {1}) + {2}*batch*kv_heads*kv_tiles + "
                     "{3}*q_tiles*kv_tiles)",
                     int64_t(orderHeaderWords) + 1, orderItemWords,
                     orderItemWords * int64_t(schedule.getParts()), orderVisitWords)
          .str();
    // A line of visits a kv tile: of a list at most as if one of both kinds of tiles were of one sequence.
    return formatv("4*(align({0} + {1}*sequences + q_tiles, {2}) + align(1 + workers, {2}) + "
                   "{2}*kv_heads*kv_tiles + {3}*min(q_tiles*ceildiv(kv_rows, {4}), "
                   "ceildiv(q_rows, {5})*kv_tiles))",
                   int64_t(orderHeaderWords) + int64_t(orderSequenceWords),
                   int64_t(orderSequenceWords), orderItemWords, orderVisitWords, tiles.getKv(),
                   tiles.getQ())
        .str();
  }

  OrderSourceAttr describeOrder() {
    if (!isTable())
      return OrderSourceAttr::get(context, OrderSource::Entry, ptxNameOf(name) + "_order",
                                  SearchAttr(), CostAttr());
    // Where the order came from is not kept, as PROGRAM is not.
    std::string file = schedule.getKind() == "file" ? " path=ORDER.json" : "";
    std::string width = schedule.getLevel() == DeterminismLevel::Machine
                            ? formatv(" for-workers={0}", schedule.getWidth()).str()
                            : "";
    SearchAttr search = schedule.getSearchAttr();
    // A search that is not told how many parts there are chooses their number, also for other sizes.
    bool isOnePart = schedule.getParts() == 1;
    std::string parts =
        search || !isOnePart ? formatv(" parts={0}", int64_t(schedule.getParts())).str() : "";
    if (apart != Apart::None)
      parts += (" apart=" + stringifyApart(apart)).str();
    // What is priced of parts, an order of one does not follow from.
    CostAttr cost = schedule.getCost();
    cost =
        CostAttr::get(context, cost.getCompute(), cost.getReduce(), cost.getLatency(),
                      cost.getBuffers(), cost.getBoundary(), isOnePart ? 0 : cost.getPiece(), 0, 0);
    std::string command =
        formatv("dash-opt PROGRAM --dash-tile='q={0} kv={1}' --dash-apply-schedule='kind={2}{3} "
                "level={4} workers={5}{6}{12}{7} form=table "
                "sizes={8},batch:{9},heads:{10},kv-heads:{11}'",
                tiles.getQ(), tiles.getKv(), schedule.getKind(), file,
                stringifyDeterminismLevel(schedule.getLevel()), schedule.getWorkers(), width,
                search ? searchOptions(search, cost) : "", describeRows(), list ? 1 : rows.size(),
                problem.getHeads(), problem.getKvHeads(), parts)
            .str();
    return OrderSourceAttr::get(context, OrderSource::File, command, search,
                                search ? cost : CostAttr());
  }

  /// "q:1024,kv:1024", or "q:512+512,kv:512+512" of a list.
  std::string describeRows() {
    auto text = [&](ArrayRef<int64_t> lengths) {
      auto some = lengths.take_front(list ? lengths.size() : 1);
      return llvm::join(llvm::map_range(some, [](int64_t rows) { return std::to_string(rows); }),
                        "+");
    };
    return "q:" + text(rows.getQ()) + ",kv:" + text(rows.getKv());
  }

  /// What a search follows from beside the problem.
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

  StringRef name;
  ArrayRef<TensorRole> roles;
  ArrayRef<MemRefType> tensors;
  ScheduleOp schedule;
  ProblemAttr problem;
  SequencesAttr rows;
  TilesAttr tiles;
  SequencesAttr list; ///< null of a batch
  FloatAttr softcap;  ///< null where scores have none
  Apart apart;
  bool overlapsRounding;
  int64_t numOrderWords;
  bool drawsTickets;
  MLIRContext *context;
};

} // namespace

ProgramAttr dash::describeProgram(StringRef name, ArrayRef<TensorRole> roles,
                                  ArrayRef<MemRefType> tensors, ScheduleOp schedule,
                                  SequencesAttr list, FloatAttr softcap, Apart apart,
                                  bool overlapsRounding, int64_t numOrderWords, bool drawsTickets) {
  return Describer(name, roles, tensors, schedule, list, softcap, apart, overlapsRounding,
                   numOrderWords, drawsTickets)
      .describe();
}
