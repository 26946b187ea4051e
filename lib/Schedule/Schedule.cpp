//===- Schedule.cpp - which worker does what, in which order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Schedule.h"
#include "DealByWork.h"
#include "dash/IR/Describe.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

/// The position of an input in a formula.
static unsigned positionOf(StringRef input, StringRef formula) {
  return getFormulaSignature(formula).getPosition(input);
}

int64_t dash::numItems(const Problem &problem, int64_t parts) {
  int64_t tiles = 0;
  for (int64_t s : llvm::seq(problem.numSequences()))
    tiles += problem.numOwnTiles(s) * problem.numKeyPieces(s);
  return tiles * problem.ownHeads() * parts;
}

int64_t dash::numPieces(const Problem &problem, int64_t parts, const Cost &cost) {
  if (parts == 1 || cost.piece == 0)
    return 0;
  return 2 * llvm::divideCeil(problem.tiles.kv, problem.tiles.q);
}

//===----------------------------------------------------------------------===//
// Lists from formulas
//===----------------------------------------------------------------------===//

namespace {

/// Deals the items to the workers, one run of equal sequences after the other.
class ItemDealer {
public:
  ItemDealer(const ScheduleHeader &header, const Formulas &formulas, std::vector<Item> &items,
             EmitError emitError)
      : header(header), items(items), emitError(emitError),
        itemFormula(formulas.item, positionOf("i", "item")),
        workerFormula(formulas.worker, positionOf("unit", "worker")) {}

  LogicalResult deal() {
    const auto &sequences = header.problem.sequences;
    items.reserve(numItems(header.problem, header.parts));
    if (header.deal) {
      for (int64_t sequence : sequencesByRows(header.problem))
        if (failed(dealRun(sequence, 1)))
          return failure();
      return success();
    }
    for (size_t begin = 0, end; begin < sequences.size(); begin = end) {
      for (end = begin + 1; end < sequences.size() && sequences[end] == sequences[begin];)
        ++end;
      if (failed(dealRun(begin, end - begin)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult dealRun(int64_t firstSequence, int64_t numSequences) {
    const Problem &problem = header.problem;
    int64_t qTiles = problem.numQTiles(firstSequence);
    int64_t kvTiles = problem.numKvTiles(firstSequence);
    int64_t ownTiles = problem.numOwnTiles(firstSequence);
    int64_t parts = header.partsOf(firstSequence);
    int64_t groupsPerSequence = problem.ownHeads() * parts;
    int64_t groups = numSequences * groupsPerSequence;
    int64_t n = groups * ownTiles;

    auto indices = llvm::to_vector(llvm::seq<int64_t>(n));
    SmallVector<int64_t, 0> group(n), tile(n), unit(n), worker(n);
    if (failed(itemFormula.evaluate(
            {indices.data(), qTiles, kvTiles, groups, header.width, header.workers}, n,
            {group.data(), tile.data(), unit.data()})))
      return emitError() << "formula 'item' divides by a number below 1 (" << ownTiles << " "
                         << problem.ownTile() << "s, " << groups << " groups, width "
                         << header.width << ")";
    int64_t firstUnit = unitBase;
    for (int64_t &u : unit) {
      unitBase = std::max(unitBase, firstUnit + u + 1);
      if (!problem.ownsQ())
        u += firstUnit;
    }
    if (failed(workerFormula.evaluate({unit.data(), header.workers}, n, {worker.data()})))
      return emitError() << "formula 'worker' divides by a number below 1 (" << header.workers
                         << " workers)";
    // Items that own q tiles are dealt back and forth, which pairs long ones with short ones only
    // if the first goes to the first worker: so workers are numbered on, not units.
    if (problem.ownsQ() && firstUnit > 0)
      for (int64_t &w : worker)
        if (w >= 0 && w < header.workers)
          w = (w + firstUnit) % header.workers;

    for (int64_t i : llvm::seq(n)) {
      // Checked here because the item's fields are narrower; `verify` checks the rest.
      if (group[i] < 0 || group[i] >= groups || tile[i] < 0 || tile[i] >= ownTiles ||
          worker[i] < 0 || worker[i] >= header.workers)
        return emitError() << "formulas give item " << i << " group " << group[i] << ", "
                           << problem.ownTile() << " " << tile[i] << " and worker " << worker[i]
                           << ", expected below " << groups << ", " << ownTiles << " and "
                           << header.workers;
      Item item;
      item.worker = worker[i];
      item.sequence = firstSequence + group[i] / groupsPerSequence;
      // Heads of a group share the keys of a piece, so their items are neighbours.
      int64_t place = group[i] % groupsPerSequence, heads = problem.ownHeads();
      item.head = problem.isCut() ? place % heads : place / parts;
      item.part = item.partTurn = problem.isCut() ? place / heads : place % parts;
      item.tile = tile[i];
      items.push_back(item);
    }
    return success();
  }

  const ScheduleHeader &header;
  std::vector<Item> &items;
  EmitError emitError;
  RowEvaluator itemFormula, workerFormula;
  int64_t unitBase = 0;
};

} // namespace

LogicalResult dash::verifyFormulasServe(const ScheduleHeader &header, EmitError emitError) {
  PartCut cut = header.cut();
  if (!cut.hasRuns() || header.problem.mask.isFull())
    return success();
  return emitError() << "formulas of kind '" << header.kind << "' cut a head's q tiles into "
                     << cut.runs() << " runs on full masks only, got mask '"
                     << maskName(header.problem.mask) << "': take kind=synthesized, or at most "
                     << header.problem.groupSize() << " parts";
}

LogicalResult dash::verifyWithinLimits(const ScheduleHeader &header, EmitError emitError) {
  const Problem &problem = header.problem;
  double items = 0, chains = 0, tasks = 0; // compared while they grow, so that none overflows
  for (int64_t s : llvm::seq(problem.numSequences())) {
    double qTiles = problem.numQTiles(s), kvTiles = problem.numKvTiles(s),
           heads = problem.itemHeads();
    // At most one part for each query head, unless the header states more.
    items += problem.ownsQ() ? qTiles * heads * problem.numKeyPieces(s)
                             : kvTiles * std::max(heads, double(problem.kvHeads) * header.parts);
    chains += problem.hasChains() ? qTiles * heads : 0;
    tasks += qTiles * kvTiles * heads;
    int64_t rows = std::max(problem.sequences[s].q, problem.sequences[s].kv);
    if (rows > maxRows || items > maxItems || chains > maxChains || tasks > double(maxTasks))
      return emitError() << "problem is too large to be scheduled: expected at most " << maxItems
                         << (problem.hasChains()
                                 ? " kv tiles, " + std::to_string(maxChains) + " q tiles and "
                                 : std::string(" q tiles and "))
                         << maxTasks << " tasks over all heads and sequences";
  }
  return success();
}

FailureOr<Schedule> Schedule::get(ScheduleHeader header, Order order, EmitError emitError) {
  if (failed(verifyWithinLimits(header, emitError)))
    return failure();
  Schedule schedule(std::move(header), std::move(order));
  if (auto *table = std::get_if<Table>(&schedule.orderStorage)) {
    if (table->begin.size() != table->items.size() + 1 || table->begin.front() != 0 ||
        !llvm::is_sorted(table->begin) || table->begin.back() != int64_t(table->visits.size()))
      return emitError() << "table of " << table->items.size() << " items and "
                         << table->visits.size() << " visits does not say which item has which";
    schedule.itemStorage = table->items;
    return schedule;
  }
  if (failed(verifyFormulasServe(schedule, emitError)))
    return failure();
  ItemDealer dealer(schedule, std::get<Formulas>(schedule.orderStorage), schedule.itemStorage,
                    emitError);
  if (failed(dealer.deal()))
    return failure();
  if (const std::optional<Deal> &deal = schedule.deal)
    dealByWork(
        schedule.itemStorage,
        [&](const Item &item) { return deal->priceOf(schedule.numTasks(item)); }, schedule.workers);
  return schedule;
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

/// Values that the rows of one sequence share, and the columns of the current row.
struct VisitReader::FormulaState {
  explicit FormulaState(const Formulas &formulas)
      : visit(formulas.visit, positionOf("step", "visit")),
        turn(formulas.turn,
             {positionOf("q", "turn"), positionOf("first", "turn"), positionOf("last", "turn")}) {}

  RowEvaluator visit, turn; ///< turns are asked where there are chains
  int64_t sequence = -1;
  SmallVector<int64_t, 0> firstOwn, lastOwn;              // index: walked tile
  SmallVector<int64_t, 0> step, tile, first, last, place; // index: step; place is the turn

  /// Heads are alike: the visits of an item's tile for one head, run after run, with head 0, for
  /// sequences of these lengths. Kept for reuse while it is small.
  static constexpr int64_t mostKept = int64_t(1) << 22;
  bool keepsRows = false;
  std::vector<SmallVector<Visit, 0>> rows;
  SmallVector<Visit, 0> row; ///< if rows are not kept
};

ArrayRef<Visit> dash::visitsOfPart(const Problem &problem, int64_t part, ArrayRef<Visit> line) {
  if (!problem.isCut())
    return line;
  TileRange tiles = problem.tilesOfPiece(part);
  auto isIn = [&](const Visit &visit) {
    return visit.tile >= tiles.begin && visit.tile < tiles.end;
  };
  const Visit *begin = llvm::find_if(line, isIn);
  return {begin, std::find_if_not(begin, line.end(), isIn)};
}

VisitReader::VisitReader(const Schedule &schedule) : schedule(schedule) {
  if (auto *formulas = std::get_if<Formulas>(&schedule.order()))
    state = std::make_unique<FormulaState>(*formulas);
}

VisitReader::~VisitReader() = default;

FailureOr<ArrayRef<Visit>> VisitReader::read(int64_t itemIndex, SmallVectorImpl<Visit> &storage) {
  if (!state)
    return std::get<Table>(schedule.order()).visitsOf(itemIndex);
  const Item &item = schedule.items()[itemIndex];
  enterSequence(item.sequence);
  PartCut cut = schedule.cut();
  int64_t index = item.tile * cut.runs() + item.part % cut.runs();
  SmallVector<Visit, 0> &row = state->keepsRows ? state->rows[index] : state->row;
  if (!state->keepsRows || row.empty())
    if (failed(evaluate(item, row)))
      return failure();

  // The heads of a part are walked one after the other, each in the same order.
  int32_t firstHead = schedule.firstHead(item), numHeads = cut.heads();
  ArrayRef<Visit> mine = visitsOfPart(schedule.problem, item.part, row);
  storage.resize_for_overwrite(mine.size() * numHeads);
  Visit *out = storage.data();
  for (int32_t head : llvm::seq(firstHead, firstHead + numHeads))
    for (const Visit &visit : mine)
      *out++ = {head, visit.tile, visit.turn};
  return ArrayRef<Visit>(storage);
}

void VisitReader::enterSequence(int64_t sequence) {
  if (sequence == state->sequence)
    return;
  const auto &sequences = schedule.problem.sequences;
  bool isSame = state->sequence >= 0 && sequences[sequence] == sequences[state->sequence];
  state->sequence = sequence;
  if (isSame)
    return;
  const Problem &problem = schedule.problem;
  int64_t walkedTiles = problem.numWalkedTiles(sequence), ownTiles = problem.numOwnTiles(sequence);
  state->firstOwn.resize(walkedTiles);
  state->lastOwn.resize(walkedTiles);
  for (int64_t tile : llvm::seq(problem.hasChains() ? walkedTiles : 0)) {
    TileRange active = problem.activeOwn(sequence, tile).hull();
    state->firstOwn[tile] = active.begin;
    state->lastOwn[tile] = active.end - 1;
  }
  state->step = llvm::to_vector<0>(llvm::seq<int64_t>(walkedTiles));
  for (auto *column : {&state->tile, &state->first, &state->last, &state->place})
    column->assign(walkedTiles, 0);
  state->keepsRows = walkedTiles * ownTiles <= FormulaState::mostKept;
  state->rows.assign(state->keepsRows ? ownTiles * schedule.cut().runs() : 0, {});
}

/// Fills the row of an item's tile. A run of q tiles is a grid by itself: its q tiles count from
/// its first.
LogicalResult VisitReader::evaluate(const Item &item, SmallVector<Visit, 0> &row) {
  const Problem &problem = schedule.problem;
  const SequenceLengths &lengths = problem.sequences[item.sequence];
  int64_t qTiles = problem.numQTiles(item.sequence), kvTiles = problem.numKvTiles(item.sequence);
  int64_t walkedTiles = state->firstOwn.size();
  TileSet walked = problem.activeWalked(item.sequence, item.tile);
  TileRange active = walked.hull();
  int64_t n = walked.size(), begin = 0;
  if (PartCut cut = schedule.cut(); cut.hasRuns()) {
    TileRange mine = cut.tiles(item.part, walked);
    begin = mine.begin;
    active = {0, mine.size()};
    n = qTiles = walkedTiles = mine.size();
  }
  int64_t offset = lengths.offset() + begin * problem.tiles.q;
  row.resize_for_overwrite(n);
  if (n == 0)
    return success();
  if (failed(state->visit.evaluate({item.tile, state->step.data(), qTiles, kvTiles, schedule.width,
                                    active.begin, active.end - 1, offset},
                                   n, {state->tile.data()})))
    return failure();
  for (int64_t step : llvm::seq(problem.hasChains() ? n : 0)) {
    int64_t tile = state->tile[step];
    bool isTile = tile >= 0 && tile < walkedTiles; // `verify` reports other values
    state->first[step] = isTile ? state->firstOwn[begin + tile] : 0;
    state->last[step] = isTile ? state->lastOwn[begin + tile] : 0;
  }
  if (problem.hasChains() &&
      failed(state->turn.evaluate({item.tile, state->tile.data(), qTiles, kvTiles, schedule.width,
                                   state->first.data(), state->last.data(), offset},
                                  n, {state->place.data()})))
    return failure();
  auto narrow = [](int64_t value) { return llvm::isInt<32>(value) ? int32_t(value) : -1; };
  for (int64_t step : llvm::seq(n))
    row[step] = {/*head=*/0, narrow(begin + state->tile[step]), narrow(state->place[step])};
  return success();
}

Table dash::writeOut(const Schedule &schedule) {
  if (auto *table = std::get_if<Table>(&schedule.order()))
    return *table;
  Table table;
  table.items = schedule.items();
  VisitReader reader(schedule);
  SmallVector<Visit, 0> storage;
  for (int64_t i : llvm::seq<int64_t>(table.items.size())) {
    FailureOr<ArrayRef<Visit>> visits = reader.read(i, storage);
    assert(succeeded(visits) && "a verified schedule can be read");
    llvm::append_range(table.visits, *visits);
    table.begin.push_back(table.visits.size());
  }
  return table;
}
