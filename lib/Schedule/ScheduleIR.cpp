//===- ScheduleIR.cpp - schedules in and out of the IR --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/ScheduleIR.h"
#include "Verify/Explain.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

static ProblemAttr toProblemAttr(const Problem &problem, MLIRContext *context) {
  SmallVector<int64_t> q, kv;
  for (const SequenceLengths &lengths : problem.sequences) {
    q.push_back(lengths.q);
    kv.push_back(lengths.kv);
  }
  return ProblemAttr::get(
      context, TilesAttr::get(context, problem.tiles.q, problem.tiles.kv, problem.tiles.fold),
      toMaskAttr(problem.mask, context), problem.heads, problem.kvHeads, problem.headDim,
      problem.headDimV, SequencesAttr::get(context, q, kv), problem.own, problem.chains,
      problem.cut);
}

static DenseIntElementsAttr toElements(ArrayRef<int32_t> values, int64_t columns,
                                       OpBuilder &builder) {
  auto type =
      RankedTensorType::get({int64_t(values.size()) / columns, columns}, builder.getI32Type());
  return cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, values));
}

static TableAttr toTableAttr(const Table &table, OpBuilder &builder) {
  std::vector<int32_t> items, visits;
  items.reserve(table.items.size() * 6);
  for (const Item &item : table.items)
    llvm::append_range(items, std::initializer_list<int32_t>{item.worker, item.sequence, item.head,
                                                             item.part, item.tile, item.partTurn});
  visits.reserve(table.visits.size() * 3);
  for (const Visit &visit : table.visits)
    llvm::append_range(visits, std::initializer_list<int32_t>{visit.head, visit.tile, visit.turn});
  return TableAttr::get(builder.getContext(), toElements(items, 6, builder),
                        toElements(visits, 3, builder));
}

ScheduleOp dash::createScheduleOp(OpBuilder &builder, Location loc, StringRef name,
                                  const Schedule &schedule, const ScheduleFacts &facts) {
  MLIRContext *context = builder.getContext();
  Attribute order;
  if (auto *formulas = std::get_if<Formulas>(&schedule.order()))
    order = FormulasAttr::get(context, formulas->item, formulas->worker, formulas->visit,
                              formulas->turn, schedule.problem.own);
  else
    order = toTableAttr(std::get<Table>(schedule.order()), builder);
  const Cost &cost = schedule.cost;
  auto costAttr = CostAttr::get(context, cost.compute, cost.reduce, cost.latency, cost.buffers,
                                cost.boundary, cost.piece, cost.convert, cost.gather);
  SearchAttr searchAttr;
  if (const std::optional<Search> &search = schedule.search)
    searchAttr = SearchAttr::get(context, search->version, search->budget, search->maxDqBytes);
  DealAttr dealAttr;
  if (const std::optional<Deal> &deal = schedule.deal)
    dealAttr = DealAttr::get(context, deal->task, deal->boundary);
  return ScheduleOp::create(builder, loc, name, schedule.kind, schedule.level, schedule.parts,
                            schedule.workers, schedule.width,
                            builder.getI64IntegerAttr(facts.minWorkers), !schedule.isOrdered(),
                            schedule.apart, toProblemAttr(schedule.problem, context), costAttr,
                            searchAttr, dealAttr, order);
}

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

static Formulas toFormulas(FormulasAttr attr) {
  return {llvm::to_vector<2>(attr.getItem()), llvm::to_vector<2>(attr.getWorker()),
          llvm::to_vector<2>(attr.getVisit()), llvm::to_vector<2>(attr.getTurn())};
}

/// The rows of a table; the op's verifier has checked their existence and shapes.
static std::vector<int32_t> toRows(ElementsAttr elements) {
  auto values = cast<DenseIntElementsAttr>(elements).getValues<int32_t>();
  return std::vector<int32_t>(values.begin(), values.end());
}

static FailureOr<Table> toTable(TableAttr attr, const ScheduleHeader &header, EmitError emitError) {
  std::vector<int32_t> items = toRows(attr.getItems()), visits = toRows(attr.getVisits());
  Table table;
  for (ArrayRef<int32_t> rest = items; !rest.empty(); rest = rest.drop_front(6)) {
    table.items.push_back({rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]});
    const Item &item = table.items.back();
    if (failed(verifyItemRange(header, item, table.items.size() - 1, emitError)))
      return failure();
    int64_t numTasks = header.cut().numTasks(
        item.part, header.problem.activeWalked(item.sequence, item.tile, item.part).size());
    table.begin.push_back(table.begin.back() + numTasks);
  }
  if (int64_t(visits.size()) != table.begin.back() * 3)
    return emitError() << "table 'visits' has " << visits.size() / 3 << " rows, expected "
                       << table.begin.back() << ": one for each task of the items in turn";
  for (ArrayRef<int32_t> rest = visits; !rest.empty(); rest = rest.drop_front(3))
    table.visits.push_back({rest[0], rest[1], rest[2]});
  return table;
}

Cost dash::toCost(CostAttr cost) {
  return {cost.getCompute(),  cost.getReduce(), cost.getLatency(), cost.getBuffers(),
          cost.getBoundary(), cost.getPiece(),  cost.getConvert(), cost.getGather()};
}

FailureOr<Schedule> dash::readScheduleOp(ScheduleOp op, EmitError emitError) {
  ScheduleHeader header;
  header.kind = op.getKind().str();
  header.unordered = op.getUnordered();
  header.level = op.getLevel();
  header.problem = toProblem(op.getProblem());
  header.parts = op.getParts();
  header.workers = op.getWorkers();
  header.width = op.getWidth();
  header.cost = toCost(op.getCost());
  header.apart = op.getApart();
  if (SearchAttr search = op.getSearchAttr())
    header.search = {search.getVersion(), search.getBudget(), search.getDqLimit()};
  if (DealAttr deal = op.getDealAttr())
    header.deal = {deal.getTask(), deal.getBoundary()};
  if (FormulasAttr formulas = op.getFormulas())
    return Schedule::get(std::move(header), toFormulas(formulas), emitError);
  FailureOr<Table> table = toTable(op.getTable(), header, emitError);
  if (failed(table))
    return failure();
  return Schedule::get(std::move(header), std::move(*table), emitError);
}

std::string dash::problemName(ItemsOp items) {
  auto function = items->getParentOfType<FunctionOpInterface>();
  if (!function)
    return "dash";
  int64_t place = 0;
  function->walk([&](ItemsOp other) {
    place += other != items;
    return other == items ? WalkResult::interrupt() : WalkResult::advance();
  });
  std::string name = llvm::json::fixUTF8(function.getName()); // reports are JSON
  return place == 0 ? name : name + "#" + std::to_string(place);
}

ProvenSchedule::ProvenSchedule(Operation *op) {
  auto emitError = [op] { return op->emitOpError(); };
  FailureOr<Schedule> read = readScheduleOp(cast<ScheduleOp>(op), emitError);
  if (failed(read))
    return;
  FailureOr<ScheduleFacts> proof = verify(*read, emitError);
  if (failed(proof))
    return;
  if (std::optional<int64_t> stated = cast<ScheduleOp>(op).getMinWorkers();
      stated && *stated != proof->minWorkers) {
    emitError() << "states min_workers(" << *stated << "), but the fewest workers that finish are "
                << proof->minWorkers;
    return;
  }
  schedule = std::move(*read);
  facts = *proof;
}
