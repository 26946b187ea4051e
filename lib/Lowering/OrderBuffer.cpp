//===- OrderBuffer.cpp - an order as the main kernel reads it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderBuffer.h"
#include "dash/IR/Problem.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Rows of a table, as `#dash.table` orders their columns.
struct ItemRow {
  int32_t worker, sequence, kvHead, part, kv, partTurn;
};
struct VisitRow {
  int32_t head, q, turn;
};

/// Writes the parts of the buffer one after the other.
class OrderEncoder {
public:
  explicit OrderEncoder(ScheduleOp schedule)
      : problem(toProblem(schedule.getProblem())), workers(schedule.getWorkers()),
        items(rowsOf<ItemRow>(schedule.getTable().getItems())),
        visits(rowsOf<VisitRow>(schedule.getTable().getVisits())),
        firstItem(orderFirstItem(workers)),
        firstVisit(firstItem + orderItemWords * int64_t(items.size())) {}

  /// Whether each item and each of its visits is one of the problem's.
  bool isOfProblem() const {
    int64_t numVisits = 0;
    for (const ItemRow &item : items) {
      if (!isBelow(item.worker, workers) || !isBelow(item.sequence, problem.numSequences()) ||
          !isBelow(item.kvHead, problem.kvHeads) ||
          !isBelow(item.kv, problem.numKvTiles(item.sequence)))
        return false;
      numVisits += numVisitsOf(item);
    }
    return numVisits == int64_t(visits.size()) && llvm::all_of(visits, [&](const VisitRow &visit) {
             return isBelow(visit.q, problem.numQTiles(0));
           });
  }

  std::vector<int32_t> encode() {
    words.resize(firstVisit + orderVisitWords * int64_t(visits.size()));
    writeHeader();
    writeLists();
    writeItems();
    return std::move(words);
  }

private:
  template <typename Row> static std::vector<Row> rowsOf(ElementsAttr elements) {
    auto values = cast<DenseIntElementsAttr>(elements).getValues<int32_t>();
    std::vector<int32_t> numbers(values.begin(), values.end());
    std::vector<Row> rows(numbers.size() * sizeof(int32_t) / sizeof(Row));
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<int32_t *>(rows.data()));
    return rows;
  }
  static bool isBelow(int64_t number, int64_t count) { return number >= 0 && number < count; }
  int64_t numVisitsOf(const ItemRow &item) const {
    return problem.activeQ(item.sequence, item.kv).size() * problem.groupSize();
  }

  void writeHeader() {
    words[OrderVersion] = orderVersion;
    words[OrderWorkers] = workers;
    words[OrderItems] = items.size();
    words[OrderFirstList] = orderHeaderWords;
    words[OrderFirstItem] = firstItem;
    words[OrderFirstVisit] = firstVisit;
    words[OrderVisits] = visits.size();
  }

  /// The items of a worker keep the order in which they were issued.
  void writeLists() {
    int32_t *lists = words.data() + orderHeaderWords;
    for (const ItemRow &item : items)
      ++lists[item.worker + 1];
    for (int64_t worker : llvm::seq(workers))
      lists[worker + 1] += lists[worker];
  }

  void writeItems() {
    const int32_t *lists = words.data() + orderHeaderWords;
    std::vector<int32_t> next(lists, lists + workers);
    // The last turn of a chain: sequences of a batch are equal, so the first one's count for all.
    std::vector<int32_t> lastTurn;
    for (int64_t q : llvm::seq(problem.numQTiles(0)))
      lastTurn.push_back(problem.activeKv(0, q).size() - 1);
    int32_t begin = 0;
    for (const ItemRow &item : items) {
      int32_t firstHead = item.kvHead * problem.groupSize(), numVisits = numVisitsOf(item);
      int32_t record[] = {item.sequence, item.kvHead, item.kv, firstHead,
                          begin,         numVisits,   1,       item.partTurn};
      std::copy(std::begin(record), std::end(record),
                words.begin() + firstItem + orderItemWords * next[item.worker]++);
      int32_t *word = words.data() + firstVisit + orderVisitWords * begin;
      for (const VisitRow &visit : ArrayRef(visits).slice(begin, numVisits)) {
        *word++ = visit.head - firstHead;
        *word++ = visit.q;
        *word++ = visit.turn;
        *word++ = visit.turn == lastTurn[visit.q];
      }
      begin += numVisits;
    }
  }

  Problem problem;
  int64_t workers;
  std::vector<ItemRow> items;
  std::vector<VisitRow> visits;
  int64_t firstItem, firstVisit;
  std::vector<int32_t> words;
};

} // namespace

FailureOr<std::vector<int32_t>> dash::encodeOrder(ScheduleOp schedule,
                                                  function_ref<InFlightDiagnostic()> emitError) {
  TableAttr table = schedule.getTable();
  int64_t numItems = table.getItems().getShapedType().getDimSize(0);
  int64_t numTasks = table.getVisits().getShapedType().getDimSize(0);
  int64_t numWords = orderFirstItem(schedule.getWorkers()) + orderItemWords * numItems +
                     orderVisitWords * numTasks;
  constexpr int64_t maxWords = std::numeric_limits<int32_t>::max();
  if (numWords > maxWords)
    return emitError() << "an order of " << numTasks << " tasks takes " << numWords
                       << " words as a table for kernels, expected at most " << maxWords;
  OrderEncoder encoder(schedule);
  if (!encoder.isOfProblem())
    return emitError() << "table of order '@" << schedule.getSymName()
                       << "' is not one of its problem; --dash-verify-schedule says why";
  return encoder.encode();
}
