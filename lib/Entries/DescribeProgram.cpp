//===- DescribeProgram.cpp - a program as launchers see it ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions use sizes (batch, heads, kv_heads, q_rows, kv_rows), derived sizes and workers.
//
//===----------------------------------------------------------------------===//

#include "DescribeProgram.h"
#include "dash/Entries/OrderTable.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Regions.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/PartCut.h"
#include "dash/IR/PtxName.h"
#include "dash/IR/TaskTiles.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

namespace {

class Describer {
public:
  Describer(ArrayRef<WorkersOp> all, ScheduleOp schedule, int64_t numOrderWords, bool drawsTickets)
      : all(all), function(WorkersOp(all.front())->getParentOfType<FunctionOpInterface>()),
        schedule(schedule), numOrderWords(numOrderWords), drawsTickets(drawsTickets),
        problem(schedule.getProblem()), rows(problem.getSequences()), tiles(problem.getTiles()),
        // All roles run the same items.
        list((*WorkersOp(all.front()).getRoles().begin()).getItems().getSequencesAttr()),
        context(schedule.getContext()) {
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<MemRefType>(argument.getType()))
        tensors.push_back({roleOf(argument), type});
    if (auto known = function->getAttrOfType<ArrayAttr>(tensorsAttr))
      llvm::sort(tensors, [&](auto &one, auto &other) {
        return llvm::find(known, one.first) < llvm::find(known, other.first);
      });
    readWorkers();
    collectMaps();
  }

  ProgramAttr describe() {
    return ProgramAttr::get(context, function.getName(), describeFacts(), describeSizes(),
                            describeConstraints(), describeDerived(), describeTensors(), maps,
                            describeWorkspace(), describeOrder(), /*trace=*/TraceAttr());
  }

private:
  void readWorkers() {
    for (WorkersOp workers : all)
      readWorkers(workers);
  }
  void readWorkers(WorkersOp workers) {
    workers.walk([&](SoftcapOp op) { softcap = op.getCapAttr(); });
    workers.walk([&](ReduceOp) { addsSums = true; });
    workers.walk([&](OrderedReduceOp op) {
      addsSums = true;
      overlapsRounding |= op.getSignalsCompletion();
      if (op.getApart())
        apart = std::max(apart, op->getParentOfType<WalkOp>() ? Apart::All : Apart::Parts);
    });
    workers.walk([&](LoadOp op) {
      if (TensorRoleAttr role = roleOf(op.getSource()))
        loaded.insert(role);
    });
  }

  /// One descriptor for each tensor whose tiles are copied. A box is a tile for a loaded tensor,
  /// and one warpgroup's share of a panel for a stored one. The slots define the width of panels
  /// (--dash-outline-workers). With parts, dK and dV leave as sums; their descriptors remain, so
  /// that existing kernels do not change.
  void collectMaps() {
    llvm::DenseSet<TensorRoleAttr> stored; // looked up only
    for (WorkersOp workers : all)
      workers.walk([&](StoreOp op) { stored.insert(roleOf(op.getTarget())); });
    for (auto [role, type] : tensors) {
      if (!role.isTile())
        continue;
      bool leaves = role.isWritten() &&
                    (stored.contains(role) || (role.isKeyValue() && schedule.getParts() > 1));
      auto add = [&, role = role](int64_t rows) {
        auto layout = SwizzledAttr::get(context);
        int64_t fold = role.isKeyValue() ? 1 : tiles.getFold();
        maps.push_back(
            TensorMapAttr::get(context, role, rows / fold, /*panels=*/1, layout.getBytes(), fold)
                .withLayout(layout));
      };
      if (loaded.contains(role))
        add(role.isKeyValue() ? tiles.getKv() : tiles.getRowsOfQ());
      else if (leaves)
        add(FragmentAttr::rowsOfWarpgroup);
    }
  }

  bool isTable() { return schedule.getTable() != nullptr; }
  /// Whether the lengths of sequences come with a launch, on the device.
  bool isOpen() { return list && list.isOpen(); }

  FactsAttr describeFacts() {
    // The number from the proof assumes that workers start in index order. No launch promises this,
    // but tickets do.
    int64_t minWorkers = !addsSums || !mayWait(schedule, apart) ? 1
                         : drawsTickets && isTable()            ? *schedule.getMinWorkers()
                                                                : schedule.getWorkers();
    return FactsAttr::get(context, tensors.front().first.getElement(), problem.getHeadDim(),
                          problem.getHeadDimV(), problem.getMask(), tiles, schedule.getKind(),
                          schedule.getLevel(), schedule.isOrdered(), schedule.getParts(),
                          schedule.getWorkers(), schedule.getWidth(), minWorkers, softcap, apart,
                          overlapsRounding, problem.getOwn(), problem.getCut());
  }

  /// The size that a dimension of the tensors' types states, or -1.
  int64_t statedSize(bool isOfKeyValue, bool isOfBoth, unsigned dim) {
    for (auto [role, type] : tensors)
      if ((role.isTile() || role.isPerRow()) && (isOfBoth || role.isKeyValue() == isOfKeyValue) &&
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
    if (int64_t fold = tiles.getFold(); fold > 1)
      constraints.push_back(ConstraintAttr::get(
          context, formatv("heads % (kv_heads*{0})", fold).str(), 0,
          formatv("heads must be a multiple of kv_heads and the {0} heads of a q tile", fold)
              .str()));
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
      if (list) // an upper bound: each sequence has its own last tile
        rows += formatv(" + {0}*(sequences - 1)", tile - 1).str();
      return DerivedAttr::get(context, derived, formatv("ceildiv({0}, {1})", rows, tile).str());
    };
    SmallVector<DerivedAttr> derived;
    if (list)
      derived.push_back(DerivedAttr::get(context, "sequences",
                                         isOpen() ? "bounds - 1" : std::to_string(rows.size())));
    derived.push_back(count("q_tiles", "q_rows", tiles.getQ()));
    derived.push_back(count("kv_tiles", "kv_rows", tiles.getKv()));
    if (int64_t cut = problem.getCut()) // of a list, no sequence has more
      derived.push_back(
          DerivedAttr::get(context, keyPieces, formatv("ceildiv(kv_rows, {0})", cut).str()));
    return derived;
  }

  SmallVector<TensorAttr> describeTensors() {
    Builder b(context);
    SmallVector<TensorAttr> described;
    auto add = [&](TensorRoleAttr role, ArrayRef<StringRef> sizes) {
      auto shape =
          llvm::map_to_vector(sizes, [&](StringRef size) { return b.getStringAttr(size); });
      if (role.isTile())
        shape.push_back(b.getStringAttr(Twine(role.getColumns())));
      else if (role.getKind() == TensorKind::Tasks)
        shape.push_back(b.getStringAttr(Twine(numbersOfTaskTile)));
      TensorPlace place =
          role.isTile() || role.getKind() == TensorKind::Tasks ? matrixPlace : numberPlace;
      described.push_back(
          TensorAttr::get(context, role, shape, place.alignment, place.strideMultiple));
    };
    for (auto [role, type] : tensors) {
      if (role.getKind() == TensorKind::Head)
        add(role, {headsOf(role)});
      else if (role.getKind() == TensorKind::Tasks)
        add(role, {describeTaskTiles()});
      else if (role.getKind() == TensorKind::SequenceHead)
        add(role, {list ? "sequences" : "batch", headsOf(role)});
      else
        add(role, {"batch", headsOf(role), rowsOf(role)});
    }
    if (isOpen())
      for (auto [name, side] :
           {std::pair("cu_seqlens_q", TensorSide::Q), std::pair("cu_seqlens_kv", TensorSide::KV)})
        add(TensorRoleAttr::get(context, name, side, TensorAccess::Read, TensorKind::Bounds,
                                b.getI32Type(), /*columns=*/1),
            {"bounds"});
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
    int64_t parts = schedule.getParts(), pieces = tiles.getKv() / tiles.getQ();
    RegionBefore order = isTable()  ? RegionBefore::File
                         : isOpen() ? RegionBefore::Any // each launch has other lengths
                                    : RegionBefore::Entry;
    SmallVector<RegionAttr> regions = {
        region("descriptors", std::to_string(maps.size() * descriptorBytes), 128)};
    for (TensorKind kind : {TensorKind::LogRow, TensorKind::Row})
      for (TensorRoleAttr role : loaded)
        if (role.getKind() == kind)
          regions.push_back(region(rowsRegion(role), perRow, 128));
    // Sums and their counters, or contributions and their numbers. Sums of a kv tile are in pieces
    // with as many rows as a q tile; each piece has a counter.
    auto addSums = [&](TensorRoleAttr role) {
      bool isKept = apart == Apart::All || (apart == Apart::Parts && role.isKeyValue());
      std::string columns = std::to_string(role.getTileColumns());
      auto perKvTile = [](int64_t bytes) {
        return "batch*kv_heads*kv_tiles*" + std::to_string(bytes);
      };
      if (isKept)
        regions.push_back(
            region(contributionsRegion(role), contributionsBytes(role, tiles, parts), 128));
      else
        regions.push_back(region(sumsRegion(role),
                                 role.isKeyValue()
                                     ? perKvTile(4 * tiles.getKv() * role.getTileColumns())
                                     : perRow + "*" + columns,
                                 128));
      regions.push_back(
          region(turnsRegion(role), role.isKeyValue() ? perKvTile(4 * pieces) : perTile, 16));
    };
    bool ownsQ = problem.getOwn() == TensorSide::Q;
    auto addSumsOf = [&](bool isKeyValue) {
      for (auto [role, type] : tensors)
        if (!ownsQ && role.isTile() && role.isWritten() && role.isKeyValue() == isKeyValue)
          addSums(role);
    };
    addSumsOf(/*isKeyValue=*/false);
    regions.push_back(region("order", describeOrderBytes(), 16, order));
    if (schedule.getDealAttr())
      regions.push_back(
          region(issueRegion.str(), std::to_string(issueBytesOfItem) + "*" + describeItems(), 16));
    if (parts > 1)
      addSumsOf(/*isKeyValue=*/true);
    if (hasSink() && !ownsQ)
      regions.push_back(region(sinkRegion, sinkRegionBytes(tiles.getQ()), 128));
    if (WorkersOp(all.front()).getHandsOut())
      regions.push_back(region(drawnRegion.str(), "4", 16));
    for (auto [role, type] : tensors)
      if (problem.getCut() && role.isWritten())
        regions.push_back(region(piecesRegion(role), piecesBytes(role), 128));
    if (drawsTickets)
      regions.push_back(region("tickets", "4", 16, RegionBefore::Zero, RegionAfter::Zero));
    return regions;
  }

  bool hasSink() const {
    return llvm::any_of(tensors, [](auto one) { return one.first.getKind() == TensorKind::Head; });
  }

  /// The number of items of formulas, of a list at most.
  std::string describeItems() {
    std::string items = problem.getOwn() == TensorSide::Q ? "heads*q_tiles" : "kv_heads*kv_tiles";
    if (int64_t fold = tiles.getFold(); fold > 1)
      items = formatv("ceildiv(heads, {0})*q_tiles", fold).str();
    if (problem.getCut())
      items += ("*" + keyPieces).str();
    return items;
  }

  std::string describeOrderBytes() {
    if (isTable())
      return std::to_string(4 * numOrderWords);
    std::string items = describeItems();
    if (!isOpen())
      return formatv("4*(align({0} + workers, {1}) + {2}*batch*{3} + {4}*q_tiles*kv_tiles)",
                     int64_t(orderHeaderWords) + 1, orderItemWords,
                     orderItemWords * int64_t(schedule.getParts()), items, orderVisitWords)
          .str();
    // One line of visits for each tile that items own. For a list, an upper bound: all q tiles
    // times the kv tiles of one sequence with all rows, or the reverse, whichever is less.
    return formatv("4*(align({0} + {1}*sequences + q_tiles, {2}) + align(1 + workers, {2}) + "
                   "{2}*{3} + {4}*min(q_tiles*ceildiv(kv_rows, {5}), "
                   "ceildiv(q_rows, {6})*kv_tiles))",
                   int64_t(orderHeaderWords) + int64_t(orderSequenceWords),
                   int64_t(orderSequenceWords), orderItemWords, items, orderVisitWords,
                   tiles.getKv(), tiles.getQ())
        .str();
  }

  OrderSourceAttr describeOrder() {
    if (!isTable())
      return OrderSourceAttr::get(context, OrderSource::Entry,
                                  ptxNameOf(function.getName()) + "_order", SearchAttr(),
                                  CostAttr());
    return describeTable(schedule, bool(list), apart);
  }

  ArrayRef<WorkersOp> all; ///< a main kernel each
  FunctionOpInterface function;
  ScheduleOp schedule;
  int64_t numOrderWords;
  bool drawsTickets;
  ProblemAttr problem;
  SequencesAttr rows;
  TilesAttr tiles;
  SequencesAttr list; ///< null for a batch
  MLIRContext *context;
  SmallVector<std::pair<TensorRoleAttr, MemRefType>> tensors;
  llvm::SetVector<TensorRoleAttr> loaded; ///< loaded into shared memory
  SmallVector<TensorMapAttr> maps;
  FloatAttr softcap; ///< null if scores have none
  Apart apart = Apart::None;
  bool addsSums = false, overlapsRounding = false;
};

} // namespace

ProgramAttr dash::describeProgram(ArrayRef<WorkersOp> all, ScheduleOp schedule,
                                  int64_t numOrderWords, bool drawsTickets) {
  return Describer(all, schedule, numOrderWords, drawsTickets).describe();
}
