//===- ApplySchedule.cpp - give tiled problems an order -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options are checked here, at the problem, so that builders and files see valid ones. Their orders
// are proven before they reach the IR.
//
//===----------------------------------------------------------------------===//

#include "OrderItems.h"
#include "dash/IR/Describe.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderFile.h"
#include "dash/Schedule/OrderWithin.h"
#include "dash/Schedule/Passes.h"
#include "dash/Schedule/Prices.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Schedule/Sizes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dash {
#define GEN_PASS_DEF_APPLYSCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Empty for `auto`.
static std::optional<Apart> toApart(ApartChoice choice) { return symbolizeApart(unsigned(choice)); }
/// Empty for the problem's own level.
static std::optional<DeterminismLevel> toLevel(LevelChoice choice) {
  return symbolizeDeterminismLevel(unsigned(choice));
}

namespace {

struct ApplySchedule : public dash::impl::ApplyScheduleBase<ApplySchedule> {
  using ApplyScheduleBase::ApplyScheduleBase;

  void runOnOperation() override {
    // Names count the problems of a function, so they are fixed before any change.
    SmallVector<std::pair<ItemsOp, std::string>> unscheduled;
    bool isTiled = true;
    getOperation()->walk([&](Operation *op) {
      if (auto items = dyn_cast<ItemsOp>(op); items && !items.isScheduled())
        if (std::string name = problemName(items); function.empty() || name == function)
          unscheduled.emplace_back(items, std::move(name));
      if (auto whole = dyn_cast<AttentionOpInterface>(op)) {
        whole->emitError() << "has no tiles to order yet; run --dash-tile first";
        isTiled = false;
      }
    });
    if (!isTiled)
      return signalPassFailure();
    orders = {};
    if (unscheduled.empty() && !function.empty()) {
      getOperation()->emitError() << "no unscheduled 'dash.items' is called '"
                                  << function.getValue() << "'";
      return signalPassFailure();
    }
    if (unscheduled.empty())
      getOperation()->emitWarning() << "no unscheduled 'dash.items' to order";
    for (auto &[items, name] : unscheduled) {
      if (failed(applyTo(items, name)))
        return signalPassFailure();
      ++numScheduled;
    }
  }

private:
  LogicalResult applyTo(ItemsOp items, StringRef name) {
    auto emitError = [&] { return items.emitError(); };
    FailureOr<StatedSizes> sizes = parseSizes(this->sizes, emitError);
    if (failed(sizes))
      return failure();
    if (orders.has(items))
      return orders.orderAlike(items, sizes->isSequenceList());
    SmallVector<AssumedSize> assumed;
    if (assume)
      assumed = assumeSizes(items, *sizes);
    FailureOr<Problem> problem = resolveProblem(items, *sizes, emitError);
    if (failed(problem))
      return failure();
    problem->chains |= parts > 1; // of dK and dV
    FailureOr<DeterminismLevel> level = resolveLevel(items.getLevel(), emitError);
    if (failed(level))
      return failure();
    const TargetDescription *described = findTarget(target, emitError);
    if (!described || failed(verifyOptions(*problem, emitError)))
      return failure();
    const ScheduleKind *builder = findScheduleKind(kind);
    bool isAskedFor = kind == "file" || form == OrderForm::Table;
    auto alternatives = [&] { return isAskedFor ? "" : inFormulas(*problem, *level, *described); };
    if ((isAskedFor || (builder && builder->isSearched)) &&
        failed(verifyStated(assumed, alternatives, emitError)))
      return failure();
    if (form == OrderForm::Table && failed(verifyTableFits(*problem, emitError)))
      return failure();
    FailureOr<Cost> cost = resolveCost(items, *problem, *level, emitError);
    if (failed(cost))
      return failure();
    FailureOr<ProvenOrder> proven = build(name, *problem, *level, *described, *cost,
                                          /*servesAllSizes=*/!assumed.empty(), emitError);
    if (failed(proven))
      return failure();
    Schedule *schedule = &proven->schedule;
    if ((schedule->isTable() && failed(verifyStated(assumed, alternatives, emitError))) ||
        failed(verifyCanBeOrdered(items, schedule->parts)))
      return failure();
    if (form == OrderForm::Formulas && schedule->isTable() && kind != "file")
      remark::missed(items.getLoc(), remark::RemarkOpts::name("table").category(getArgument()))
          << remark::reason("schedule '{0}' has no formulas for mask '{1}': the order is a table, "
                            "for these sizes only",
                            schedule->kind, maskName(problem->mask));
    if (kind != "file" && (form == OrderForm::Table || schedule->isTable())) {
      proven = asTable(std::move(*proven), emitError);
      if (failed(proven))
        return failure();
      schedule = &proven->schedule;
    }
    if (SequencesAttr list = items.getSequencesAttr(); list && list.isOpen() && schedule->isTable())
      return emitError() << "lengths of sequences that are known at run time only need an order by "
                            "formulas, but that of kind '"
                         << schedule->kind << "' is a table: state the lengths"
                         << inFormulas(*problem, *level, *described);
    if (!assumed.empty()) {
      auto taken = remark::analysis(items.getLoc(),
                                    remark::RemarkOpts::name("assumed").category(getArgument()));
      for (AssumedSize size : assumed)
        taken << remark::metric(size.key, size.value);
    }
    remark::passed(items.getLoc(), remark::RemarkOpts::name("ordered").category(getArgument()))
        << remark::metric("kind", schedule->kind) << remark::metric("tasks", problem->numTasks())
        << remark::metric("minWorkers", proven->facts.minWorkers);
    numTasks += problem->numTasks();
    orders.add(items, addOrder(items, *schedule, proven->facts, name.split('#').first));
    return orders.orderAlike(items, sizes->isSequenceList());
  }

  /// Formulas are proven for assumed sizes and serve any. A table would only serve the assumed
  /// sizes, which were not requested.
  LogicalResult verifyStated(ArrayRef<AssumedSize> assumed,
                             function_ref<std::string()> alternatives, EmitError emitError) {
    if (assumed.empty())
      return success();
    AssumedSize size = assumed.front();
    return emitError() << "size '" << size.key
                       << "' is not in the types, and the order is a table, "
                       << "which serves no other size: state it, as in sizes=" << size.key << ":"
                       << size.value << alternatives();
  }

  /// Ends a message with what else works: the kinds that serve all sizes. Empty if none has
  /// formulas for the mask.
  std::string inFormulas(const Problem &problem, DeterminismLevel level,
                         const TargetDescription &described) {
    ScheduleHeader header = headerOf(problem, level, described);
    header.parts = std::max<int64_t>(header.parts, 1);
    SmallVector<StringRef> kinds = kindsWithFormulas(std::move(header), &getContext());
    return kinds.empty()
               ? ""
               : ", or take a kind with formulas for this mask: " + llvm::join(kinds, ", ");
  }

  ScheduleHeader headerOf(const Problem &problem, DeterminismLevel level,
                          const TargetDescription &described) {
    ScheduleHeader header;
    header.kind = kind;
    header.level = level;
    header.problem = problem;
    header.parts = parts;
    header.workers = workers == 0 ? described.multiprocessors : workers;
    header.width = level == DeterminismLevel::Machine ? forWorkers : header.workers;
    header.maxDqBytes = dqLimit << 20;
    header.choosesApart = apart == ApartChoice::Auto;
    header.apart = toApart(apart).value_or(Apart::None);
    return header;
  }

  /// The requested level, which must not be weaker than the problem's.
  FailureOr<DeterminismLevel> resolveLevel(DeterminismLevel needed, EmitError emitError) {
    DeterminismLevel asked = toLevel(level).value_or(needed);
    if (asked == DeterminismLevel::World)
      return emitError() << "no schedule keeps level 'world' yet, expected run, batch or machine";
    if (asked < needed)
      return emitError() << "level '" << stringifyDeterminismLevel(asked)
                         << "' is weaker than the problem's, '" << stringifyDeterminismLevel(needed)
                         << "'";
    return asked;
  }

  FailureOr<ProvenOrder> build(StringRef name, const Problem &problem, DeterminismLevel level,
                               const TargetDescription &described, const Cost &cost,
                               bool servesAllSizes, EmitError emitError) {
    if (kind == "file" && problem.ownsQ())
      return emitError() << "an order file is of items that own kv tiles, got items that own q "
                            "tiles: take "
                         << namesOfKinds(problem) << " or auto";
    if (kind == "file")
      return readFile(name, problem, level, cost, emitError);

    ScheduleHeader header = headerOf(problem, level, described);
    header.cost = cost;
    return buildSchedule(std::move(header), servesAllSizes, &getContext(), emitError);
  }

  /// The problem's costs: options first, then the file of costs. A remark reports what the file
  /// lacks.
  FailureOr<Cost> resolveCost(ItemsOp items, const Problem &problem, DeterminismLevel level,
                              EmitError emitError) {
    FailureOr<Prices> prices = Prices::find(costs, card, level, emitError);
    if (failed(prices))
      return failure();
    Priced program = findPriced(items, problem);
    if (std::string unmeasured = prices->describeUnmeasured(problem, program); !unmeasured.empty())
      remark::missed(items.getLoc(), remark::RemarkOpts::name("costs").category(getArgument()))
          << remark::reason("{0}", unmeasured);
    Cost cost = prices->of(problem, program);
    double pricedReduce = cost.reduce;
    const ApplyScheduleOptions defaults;
    for (auto [option, byDefault, value] : {std::tuple(&compute, defaults.compute, &cost.compute),
                                            {&reduce, defaults.reduce, &cost.reduce},
                                            {&latency, defaults.latency, &cost.latency},
                                            {&boundary, defaults.boundary, &cost.boundary}})
      if (*option != byDefault)
        *value = *option;
    // Stated costs may have another unit than the file's.
    double unit = pricedReduce > 0 ? cost.reduce / pricedReduce : 1;
    for (auto [option, byDefault, value] : {std::tuple(&piece, defaults.piece, &cost.piece),
                                            {&convert, defaults.convert, &cost.convert},
                                            {&gather, defaults.gather, &cost.gather}})
      *value = *option != byDefault ? *option : *value * unit;
    cost.buffers = buffers;
    if (failed(verifyCost(cost, emitError)))
      return failure();
    return cost;
  }

  FailureOr<ProvenOrder> readFile(StringRef name, const Problem &problem, DeterminismLevel level,
                                  const Cost &cost, EmitError emitError) {
    if (path.empty())
      return emitError() << "kind=file needs path=FILE, an order in the format of the JSON report";
    OrderFileRequest request;
    request.op = name.str();
    request.problem = problem;
    request.needed = level;
    // The file decides options that have their default values. (Whether an option was spelled out
    // cannot matter: a reproducer spells out all.)
    const ApplyScheduleOptions defaults;
    auto ifStated = [](const auto &option, auto byDefault) {
      return option == byDefault ? std::nullopt : std::optional(option.getValue());
    };
    request.workers = ifStated(workers, defaults.workers);
    request.forWorkers = ifStated(forWorkers, defaults.forWorkers);
    request.parts = ifStated(parts, defaults.parts);
    request.compute = ifStated(compute, defaults.compute);
    request.reduce = ifStated(reduce, defaults.reduce);
    request.latency = ifStated(latency, defaults.latency);
    request.boundary = ifStated(boundary, defaults.boundary);
    request.piece = ifStated(piece, defaults.piece);
    request.convert = ifStated(convert, defaults.convert);
    request.gather = ifStated(gather, defaults.gather);
    request.buffers = ifStated(buffers, defaults.buffers);
    request.cost = cost;
    if (apart != defaults.apart)
      request.apart = toApart(apart);
    FailureOr<ProvenOrder> proven = prove(readOrderFile(path, request, emitError), emitError);
    if (succeeded(proven) && apart == ApartChoice::Auto)
      chooseApart(*proven);
    return proven;
  }

  LogicalResult verifyOptions(const Problem &problem, EmitError emitError) {
    if (workers < 0 || workers > maxWorkers)
      return emitError() << "workers must be from 1 to " << maxWorkers
                         << ", or 0 for the multiprocessors of the target, got "
                         << workers.getValue();
    if (forWorkers < 1 || forWorkers > maxWorkers)
      return emitError() << "for-workers must be from 1 to " << maxWorkers << ", got "
                         << forWorkers.getValue();
    if (dqLimit < 0 || dqLimit > maxDqLimit)
      return emitError() << "dq-limit must be from 0 to " << maxDqLimit << " MiB, got "
                         << dqLimit.getValue();
    return parts == 0 ? success() : verifyParts(problem, parts, emitError);
  }
  KnownOrders orders; ///< of this run
};

} // namespace
