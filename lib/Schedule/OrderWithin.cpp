//===- OrderWithin.cpp - a kind's order on any mask -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas number the tiles of a range. If a mask leaves gaps, they still define what comes before
// what: walks are sorted by step, chains by turn. Only active tasks are visited, so a narrow mask
// on a long sequence costs no more than its tasks.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/OrderWithin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The inputs that vary within a row, by position in the parameter list of `turn`.
constexpr unsigned walkedInput = 1, firstInput = 5, lastInput = 6;

/// The walks of one head of a sequence, by own tile.
class HeadOrder {
public:
  HeadOrder(const ScheduleHeader &header, const WideOrder &wide)
      : problem(header.problem), width(header.width), wideProblem(header.problem),
        step(wide.step, {walkedInput, firstInput, lastInput}),
        turn(wide.formulas.turn, {walkedInput, firstInput, lastInput}) {
    wideProblem.mask = wide.mask;
  }

  void enterSequence(int64_t index) {
    bool isSame = sequence >= 0 && problem.sequences[index] == problem.sequences[sequence];
    sequence = index;
    if (isSame)
      return;
    walks.assign(problem.numOwnTiles(index), {});
    chains.assign(problem.numWalkedTiles(index), {});
    for (int64_t own : llvm::seq<int64_t>(walks.size()))
      enterTile(own);
    for (auto &chain : chains) {
      llvm::sort(chain);
      for (auto [place, contribution] : llvm::enumerate(chain))
        walks[contribution.own][contribution.step].turn = place;
    }
  }

  /// Head 0's tasks of an own tile, in visit order.
  ArrayRef<Visit> walk(int64_t own) const { return walks[own]; }

private:
  struct Contribution {
    int64_t turn, own, step;
    bool operator<(const Contribution &other) const {
      return std::pair(turn, own) < std::pair(other.turn, other.own);
    }
  };

  void enterTile(int64_t own) {
    const SequenceLengths &lengths = problem.sequences[sequence];
    auto tiles = llvm::to_vector<0>(problem.activeWalked(sequence, own).tiles());
    int64_t n = tiles.size();
    SmallVector<int64_t, 0> first(n), last(n), stepOf(n), turnOf(n);
    for (auto [i, tile] : llvm::enumerate(tiles)) {
      TileRange active = wideProblem.activeOwn(sequence, tile).hull();
      first[i] = active.begin;
      last[i] = active.end - 1;
    }
    for (auto [formula, values] : {std::pair(&step, &stepOf), {&turn, &turnOf}}) {
      if (formula == &turn && !problem.hasChains())
        continue;
      LogicalResult result = formula->evaluate({own, tiles.data(), problem.numQTiles(sequence),
                                                problem.numKvTiles(sequence), width, first.data(),
                                                last.data(), lengths.kv - lengths.q},
                                               n, {values->data()});
      assert(succeeded(result) && "formulas of a kind divide by positive numbers");
      (void)result;
    }
    auto places = llvm::to_vector<0>(llvm::seq(n));
    llvm::sort(places, [&](int64_t a, int64_t b) {
      return std::pair(stepOf[a], tiles[a]) < std::pair(stepOf[b], tiles[b]);
    });
    for (auto [i, place] : llvm::enumerate(places)) {
      walks[own].push_back({/*head=*/0, int32_t(tiles[place]), /*turn=*/0});
      if (problem.hasChains())
        chains[tiles[place]].push_back({turnOf[place], own, int64_t(i)});
    }
  }

  const Problem &problem;
  int64_t width;
  Problem wideProblem;
  RowEvaluator step, turn;
  int64_t sequence = -1;
  std::vector<SmallVector<Visit, 0>> walks;         // index: own tile
  std::vector<SmallVector<Contribution, 0>> chains; // index: walked tile
};

} // namespace

double dash::mostTasks(const Problem &problem) {
  double tasks = 0;
  for (int64_t s : llvm::seq(problem.numSequences()))
    tasks += double(problem.numQTiles(s)) * problem.numKvTiles(s) * problem.itemHeads();
  return tasks;
}

LogicalResult dash::verifyTableFits(const Problem &problem, EmitError emitError) {
  double tasks = mostTasks(problem);
  if (tasks <= double(maxTableRows))
    return success();
  if (tasks <= double(maxTasks) && problem.numTasks() <= maxTableRows)
    return success();
  return emitError() << "an order of this problem is too large for a table, which has at most "
                     << maxTableRows
                     << " tasks; a kind that has formulas for the mask needs no table";
}

FailureOr<Order> dash::orderWithin(const ScheduleHeader &header, WideOrder wide,
                                   EmitError emitError) {
  if (failed(verifyFormulasServe(header, emitError)))
    return failure();
  if (!header.problem.hasChains())
    wide.formulas.turn.clear();
  if (header.problem.mask == wide.mask)
    return Order(std::move(wide.formulas));
  if (failed(verifyTableFits(header.problem, emitError)))
    return failure();
  ScheduleHeader wideHeader = header;
  wideHeader.problem.mask = wide.mask;
  FailureOr<Schedule> dealt = Schedule::get(std::move(wideHeader), wide.formulas, emitError);
  if (failed(dealt))
    return failure();

  Table table;
  table.items = dealt->items();
  HeadOrder order(header, wide);
  for (const Item &item : table.items) {
    order.enterSequence(item.sequence);
    int64_t firstHead = dealt->firstHead(item);
    for (int64_t head : llvm::seq(firstHead, firstHead + header.cut().heads()))
      for (Visit visit : visitsOfPart(header.problem, item.part, order.walk(item.tile))) {
        visit.head = head;
        table.visits.push_back(visit);
      }
    table.begin.push_back(table.visits.size());
  }
  return Order(std::move(table));
}
