//===- Schedule.h - which worker does what, in which order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_SCHEDULE_H
#define DASH_SCHEDULE_SCHEDULE_H

#include "dash/IR/OrderBuffer.h"
#include "dash/IR/PartCut.h"
#include "dash/IR/Problem.h"
#include "dash/Schedule/Formulas.h"
#include "dash/Support/Limits.h"
#include "mlir/IR/Diagnostics.h"
#include <memory>
#include <string>
#include <variant>

namespace mlir::dash {

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

/// An order written out for stated sizes. Item i visits visits[begin[i]] … visits[begin[i + 1] -
/// 1].
struct Table {
  std::vector<Item> items; ///< in issue order
  std::vector<int64_t> begin = {0};
  std::vector<Visit> visits;

  ArrayRef<Visit> visitsOf(int64_t item) const {
    return ArrayRef(visits).slice(begin[item], begin[item + 1] - begin[item]);
  }
};

/// The prices of the cost model: a task's compute and reduction, the hop of a chain to another
/// worker, an item's time besides its tasks, all in one unit of the caller's choice; and how many
/// dQ tiles a worker buffers. There is no universal default: dash/Schedule/Prices.h has those of a
/// machine.
struct Cost {
  double compute = 0, reduce = 0, latency = 0;
  int64_t buffers = 2;
  double boundary = 0;
  /// For parts: adding a piece of an item's dK and dV; and, after the order, rounding the sums of a
  /// kv tile.
  double piece = 0, convert = 0;
  /// For contributions that are kept apart: reading one the size of a dQ tile after the order.
  double gather = 0;
};

/// How an order was searched for. With its problem, workers and costs, this determines the order.
struct Search {
  int64_t version = 0, budget = 0, maxDqBytes = 0;
};

/// The prices at which a launch deals items, each to the worker that is free first.
struct Deal {
  int64_t task = 1, boundary = 0;
  /// How long an item keeps its worker busy.
  int64_t priceOf(int64_t tasks) const {
    return std::min(std::min(tasks, DealAttr::maxPrice) * task + boundary, DealAttr::maxPrice);
  }
};

/// Everything about an order except the order itself.
struct ScheduleHeader {
  std::string kind;       ///< for messages and reports
  bool unordered = false; ///< adds wait for no turns: the bits vary
  DeterminismLevel level = DeterminismLevel::Run;
  Problem problem;
  int64_t parts = 1;
  int64_t workers = 1;
  int64_t width = 1; ///< the number of workers that visits and chains are made for
  Cost cost;
  /// For builders that search: the limit of f32 dQ of unfinished heads in flight, beyond which adds
  /// leave L2; 0 is no limit. Not part of the order.
  int64_t maxDqBytes = int64_t(32) << 20;
  /// Set if the order was searched for.
  std::optional<Search> search;
  /// Set if the items of a list are dealt by work, whatever its formulas say of workers.
  std::optional<Deal> deal;
  /// Contributions that wait for no turn, but are kept in separate places and added up after the
  /// order. In an existing order this changes times but no bit; a search finds another order for
  /// it.
  Apart apart = Apart::None;
  /// For builders: they may choose `apart`.
  bool choosesApart = false;

  bool isOrdered() const { return !unordered; }
  /// Whether contributions have turns: something is summed across items, in an order.
  bool hasTurns() const { return problem.hasChains() && isOrdered(); }
  /// Whether a contribution to dQ, or a part's to dK and dV, waits for the turn before it.
  bool tasksWait() const { return hasTurns() && apart != Apart::All; }
  bool partsWait() const { return hasTurns() && apart == Apart::None; }
  /// The prices that a run pays: without chains no task has a reduction.
  Cost paidCost() const {
    Cost paid = cost;
    if (!problem.hasChains())
      paid.reduce = paid.latency = paid.piece = paid.convert = paid.gather = 0;
    return paid;
  }
  /// The parts of a tile of a sequence, which are pieces where keys are cut.
  int64_t partsOf(int64_t sequence) const {
    return problem.isCut() ? problem.numKeyPieces(sequence) : parts;
  }
  int64_t mostParts() const {
    int64_t most = parts;
    for (int64_t sequence = 0; sequence < problem.numSequences() && problem.isCut(); ++sequence)
      most = std::max(most, partsOf(sequence));
    return most;
  }
  /// Precondition: the group can be cut into this many parts.
  PartCut cut() const { return PartCut(problem, parts); }
};

/// Limits of what can be scheduled: beyond them, a proof would take hours or more than 2 GB. They
/// count all heads and sequences. dash/Support/Limits.h has the limits of the IR.
constexpr int64_t maxItems = int64_t(1) << 23;
constexpr int64_t maxChains = int64_t(1) << 24;
constexpr int64_t maxTasks = int64_t(1) << 34;

using Order = std::variant<Formulas, Table>;

/// A schedule: lists, visit orders and chains. A plain object: builders make it, `verify` proves
/// it, reports print it, and the IR carries it. The order is not trusted before `verify`.
class Schedule : public ScheduleHeader {
public:
  /// Evaluates the lists if they are formulas. Fails with a message if that is impossible, or if
  /// the problem exceeds the limits.
  static FailureOr<Schedule> get(ScheduleHeader header, Order order, EmitError emitError);

  /// Items in issue order. Those of one worker, in this order, form its list.
  ArrayRef<Item> items() const { return itemStorage; }
  const Order &order() const { return orderStorage; }
  bool isTable() const { return std::holds_alternative<Table>(orderStorage); }

  int64_t firstHead(const Item &item) const { return cut().firstHead(item.head, item.part); }
  /// The number of tasks that the mask leaves to an item.
  int64_t numTasks(const Item &item) const {
    return cut().numTasks(item.part,
                          problem.activeWalked(item.sequence, item.tile, item.part).size());
  }

  /// The query head, kv tile and q tile of a task, whichever its item owns.
  int32_t headOf(const Item &item, const Visit &visit) const {
    return problem.ownsQ() ? item.head : visit.head;
  }
  int32_t kvTileOf(const Item &item, const Visit &visit) const {
    return problem.ownsQ() ? visit.tile : item.tile;
  }
  int32_t qTileOf(const Item &item, const Visit &visit) const {
    return problem.ownsQ() ? item.tile : visit.tile;
  }

private:
  Schedule(ScheduleHeader header, Order order)
      : ScheduleHeader(std::move(header)), orderStorage(std::move(order)) {}

  Order orderStorage;
  std::vector<Item> itemStorage;
};

/// Fails if a problem exceeds the limits above. Cheap: call it before making anything that grows
/// with the problem.
LogicalResult verifyWithinLimits(const ScheduleHeader &header, EmitError emitError);

/// Fails if the formulas of a kind would need to cut what they cannot. They see q tiles as a grid,
/// and so does a run of them only if no mask cuts it.
LogicalResult verifyFormulasServe(const ScheduleHeader &header, EmitError emitError);

/// The number of items in a schedule of `problem`.
int64_t numItems(const Problem &problem, int64_t parts);

/// The number of pieces, each the size of a dQ tile, in which an item adds its dK and dV; 0 with
/// one part, or if adding them costs nothing.
int64_t numPieces(const Problem &problem, int64_t parts, const Cost &cost);

/// The visits of a part among those of its tile's line: all of them, unless keys are cut. A line is
/// then walked upward.
ArrayRef<Visit> visitsOfPart(const Problem &problem, int64_t part, ArrayRef<Visit> line);

/// Reads the visits of one item after the other, from formulas or a table.
class VisitReader {
public:
  explicit VisitReader(const Schedule &schedule);
  ~VisitReader();

  /// The tasks of item `index` in visit order, in the table or else in `storage`. Fails if a
  /// formula divides by a number that is not positive.
  FailureOr<ArrayRef<Visit>> read(int64_t index, SmallVectorImpl<Visit> &storage);

private:
  LogicalResult evaluate(const Item &item, SmallVector<Visit, 0> &row);
  void enterSequence(int64_t sequence);

  const Schedule &schedule;
  struct FormulaState;
  std::unique_ptr<FormulaState> state;
};

/// The same order, written out. Precondition: the schedule has been verified.
Table writeOut(const Schedule &schedule);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_SCHEDULE_H
