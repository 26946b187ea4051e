//===- OrderCache.cpp - stored orders -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An order is stored as text (the kind) and words. The cache checks its owner and its hash. It is
// proven again all the same, like every order from outside. A choice has no words: its user looks
// at its order.
//
//===----------------------------------------------------------------------===//

#include "OrderCache.h"
#include "Report/ReportModule.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/Cost.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;
using namespace mlir::dash;

static std::string bitsOf(double value) { return llvm::utohexstr(llvm::bit_cast<uint64_t>(value)); }

/// Sequence, kv head, kv tile and part.
using ItemKey = std::tuple<int32_t, int32_t, int32_t, int64_t>;

std::string dash::describeRequest(const ScheduleHeader &request) {
  const Problem &problem = request.problem;
  const Cost &cost = request.cost;
  std::string text;
  llvm::raw_string_ostream os(text);
  auto line = [&](StringRef key, auto... values) {
    os << key;
    ((os << ' ' << values), ...);
    os << '\n';
  };
  line("dash order", 2);
  line("made by", version(), LLVM_HOST_TRIPLE); // other machines may round a makespan differently
  line("search", searchVersion, searchBudget, request.maxDqBytes);
  line("kind", request.kind);
  line("level", stringifyDeterminismLevel(request.level));
  line("workers", request.workers, request.width);
  line("cost", bitsOf(cost.compute), bitsOf(cost.reduce), bitsOf(cost.latency),
       bitsOf(cost.boundary), bitsOf(cost.piece), cost.buffers);
  line("tiles", problem.tiles.q, problem.tiles.kv);
  line("mask", problem.mask.left, problem.mask.right, problem.mask.rules.size());
  line("heads", problem.heads, problem.kvHeads, request.parts);
  line("apart", stringifyApart(request.apart));
  line("head dims", problem.headDim, problem.headDimV);
  if (problem.ownsQ()) // of others nothing is said, as before there were these
    line("own", stringifyTensorSide(problem.own));
  else if (!problem.chains)
    line("chains", "none");
  if (problem.isCut())
    line("cut", problem.cut);
  if (problem.tiles.fold > 1)
    line("fold", problem.tiles.fold);
  line("sequences", problem.numSequences());
  for (size_t begin = 0, end; begin < problem.sequences.size(); begin = end) {
    for (end = begin + 1;
         end < problem.sequences.size() && problem.sequences[end] == problem.sequences[begin];)
      ++end;
    line("rows", end - begin, problem.sequences[begin].q, problem.sequences[begin].kv);
  }
  return text;
}

/// The part of a record's item. Among a head's runs: the one with the first of its visits, or the
/// next empty one.
static std::optional<int64_t> partOf(const int32_t *record, const int32_t *visits,
                                     const ScheduleHeader &header, std::set<ItemKey> &taken) {
  const Problem &problem = header.problem;
  if (problem.isCut())
    return record[7] / problem.heads;
  PartCut cut = header.cut();
  int64_t sequence = record[0], kv = record[2];
  int64_t part = record[3] / cut.heads() * cut.runs() % header.parts;
  if (!cut.hasRuns())
    return part;
  if (sequence < 0 || sequence >= problem.numSequences() || kv < 0 ||
      kv >= problem.numKvTiles(sequence))
    return std::nullopt;
  TileSet active = problem.activeQ(sequence, kv);
  for (int64_t end = part + cut.runs(); part < end; ++part) {
    TileRange tiles = cut.tiles(part, active);
    bool isIts =
        record[5] == 0 ? tiles.size() == 0 : visits[1] >= tiles.begin && visits[1] < tiles.end;
    if (isIts && taken.insert({record[0], record[1], record[2], part}).second)
      return part;
  }
  return std::nullopt;
}

std::optional<Table> dash::decodeOrder(ArrayRef<int32_t> words, const ScheduleHeader &header) {
  int64_t workers = header.workers, numItems = dash::numItems(header.problem, header.parts),
          tasks = header.problem.numTasks();
  if (int64_t(words.size()) != numOrderWords(workers, numItems, tasks))
    return std::nullopt;
  ArrayRef<int32_t> lists = words.slice(orderHeaderWords, workers + 1);
  ArrayRef<int32_t> records = words.slice(orderFirstItem(workers), numItems * orderItemWords);
  const int32_t *visits = words.take_back(tasks * orderVisitWords).data();
  if (lists.front() != 0 || lists.back() != numItems || !llvm::is_sorted(lists))
    return std::nullopt;
  struct Record {
    int32_t worker;
    const int32_t *words;
    auto key() const { return std::tuple(words[4], words[5] > 0, words); }
  };
  std::vector<Record> items;
  for (int64_t worker : llvm::seq(workers))
    for (int64_t index : llvm::seq<int64_t>(lists[worker], lists[worker + 1]))
      items.push_back({int32_t(worker), records.data() + index * orderItemWords});
  llvm::sort(items, [](const Record &a, const Record &b) { return a.key() < b.key(); });
  Table table;
  table.visits.reserve(tasks);
  std::set<ItemKey> taken;
  for (const Record &item : items) {
    int64_t firstHead = item.words[3], begin = item.words[4], count = item.words[5];
    if (begin < 0 || count < 0 || begin + count > tasks)
      return std::nullopt;
    std::optional<int64_t> part =
        partOf(item.words, visits + begin * orderVisitWords, header, taken);
    if (!part)
      return std::nullopt;
    table.items.push_back({item.worker, item.words[0], item.words[1], int32_t(*part), item.words[2],
                           header.problem.isCut() ? int32_t(*part) : item.words[7]});
    for (const int32_t *visit = visits + begin * orderVisitWords,
                       *end = visit + count * orderVisitWords;
         visit != end; visit += orderVisitWords)
      table.visits.push_back({int32_t(firstHead + visit[0]), visit[1], visit[2]});
    table.begin.push_back(table.visits.size());
  }
  return table;
}

/// The text after `key` on the first line, which is dropped.
static std::optional<StringRef> takeLine(StringRef &text, StringRef key) {
  auto [line, rest] = text.split('\n');
  if (!line.consume_front(key))
    return std::nullopt;
  text = rest;
  return line;
}

static std::optional<PlannedOrder> parse(StringRef text, ScheduleHeader header) {
  std::optional<StringRef> kind = takeLine(text, "built by ");
  if (!kind)
    return std::nullopt;
  if (!takeLine(text, "words") || text.size() % sizeof(int32_t) != 0)
    return std::nullopt;

  PlannedOrder order;
  order.kind = kind->str();
  order.words.resize(text.size() / sizeof(int32_t));
  for (auto [index, word] : llvm::enumerate(order.words))
    word = llvm::support::endian::read32le(text.data() + index * sizeof(int32_t));
  std::optional<Table> table = decodeOrder(order.words, header);
  if (!table)
    return std::nullopt;

  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  header.kind = order.kind;
  FailureOr<Schedule> schedule = Schedule::get(std::move(header), std::move(*table), emitError);
  if (failed(schedule))
    return std::nullopt;
  FailureOr<ScheduleFacts> facts = verify(*schedule, emitError);
  if (failed(facts))
    return std::nullopt;
  // The proof is about the order in the words, so encoding it again must give exactly these words.
  const Table &proven = std::get<Table>(schedule->order());
  if (encodeOrder(schedule->problem, schedule->parts, schedule->workers, proven.items,
                  proven.visits) != order.words)
    return std::nullopt;
  order.facts = *facts;
  order.lowerBound = lowerBound(*schedule);
  return order;
}

std::shared_ptr<const PlannedOrder> OrderCache::find(const ScheduleHeader &request) const {
  std::optional<std::string> kept = files.find(describeRequest(request));
  std::optional<PlannedOrder> order = kept ? parse(*kept, request) : std::nullopt;
  return order ? std::make_shared<const PlannedOrder>(std::move(*order)) : nullptr;
}

llvm::Error OrderCache::keep(const ScheduleHeader &request, const PlannedOrder &order) const {
  // Larger orders are made of smaller ones, or anew in less time than their bytes take.
  if (getFolder().empty() || request.problem.numTasks() > fewestSharedTasks)
    return llvm::Error::success();
  std::string text = "built by " + order.kind + "\nwords\n";
  size_t begin = text.size();
  text.resize(begin + order.words.size() * sizeof(int32_t));
  for (auto [index, word] : llvm::enumerate(order.words))
    llvm::support::endian::write32le(&text[begin + index * sizeof(int32_t)], word);
  return files.keep(describeRequest(request), text);
}

std::string dash::describeChoice(const ScheduleHeader &request) {
  return "choice 6 " + std::to_string(request.choosesApart) + ' ' + bitsOf(request.cost.convert) +
         ' ' + bitsOf(request.cost.gather) + '\n' + describeRequest(request);
}

std::optional<OrderChoice> OrderCache::findChoice(const ScheduleHeader &request) const {
  std::optional<std::string> kept = files.find(describeChoice(request));
  if (!kept)
    return std::nullopt;
  StringRef body = *kept;
  auto number = [&](StringRef key) -> std::optional<double> {
    std::optional<StringRef> line = takeLine(body, key);
    uint64_t bits;
    if (!line || line->getAsInteger(16, bits))
      return std::nullopt;
    return llvm::bit_cast<double>(bits);
  };
  std::optional<StringRef> name = takeLine(body, "kind "), parts = takeLine(body, "parts "),
                           apart = takeLine(body, "apart ");
  const ScheduleKind *kind = name ? findScheduleKind(*name) : nullptr;
  std::optional<StringRef> form = takeLine(body, "form ");
  std::optional<Apart> known = apart ? symbolizeApart(*apart) : std::nullopt;
  std::optional<double> makespan = number("makespan "), lowerBound = number("bound ");
  OrderChoice choice;
  if (!kind || kind->isUnordered || !parts || parts->getAsInteger(10, choice.parts) ||
      (choice.parts != request.parts && !llvm::is_contained(partsToTry(request), choice.parts)) ||
      !known || !form || !makespan || !lowerBound)
    return std::nullopt;
  choice.kind = kind->name.str();
  choice.apart = *known;
  choice.isTable = *form == "table";
  choice.makespan = *makespan;
  choice.lowerBound = *lowerBound;
  return choice;
}

llvm::Error OrderCache::keepChoice(const ScheduleHeader &request, const OrderChoice &choice) const {
  return files.keep(describeChoice(request),
                    "kind " + choice.kind + "\nparts " + std::to_string(choice.parts) + "\napart " +
                        stringifyApart(choice.apart).str() + "\nform " +
                        (choice.isTable ? "table" : "formulas") + "\nmakespan " +
                        bitsOf(choice.makespan) + "\nbound " + bitsOf(choice.lowerBound) + "\n");
}
