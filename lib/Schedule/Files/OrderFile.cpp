//===- OrderFile.cpp - an order from outside ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/OrderFile.h"
#include "OrderJson.h"
#include "Replay/Replay.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/JsonFile.h"
#include "dash/Schedule/Prices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Turns the lists of a file into a table. Every failure states its place in the file.
class OrderReader {
public:
  OrderReader(const order_json::Schedule &file, const ScheduleHeader &header, std::string place,
              EmitError emitError)
      : file(file), problem(header.problem), workers(header.workers), parts(header.parts),
        place(std::move(place)), emitError(emitError), chains(problem), kvTiles(problem) {}

  FailureOr<Table> read() {
    if (failed(readItems()) || failed(readChains()) || failed(readPartChains()))
      return failure();
    return std::move(table);
  }

private:
  InFlightDiagnostic error(const char *list, size_t index) {
    return emitError() << place << "." << list << "[" << index << "]: ";
  }
  /// Fails unless 0 <= value < size.
  LogicalResult check(const char *list, size_t index, StringRef name, int64_t value, int64_t size) {
    if (value >= 0 && value < size)
      return success();
    return error(list, index) << name << " " << value << " is not one of the " << size
                              << " that there are (they count from 0)";
  }

  LogicalResult readItems() {
    for (auto [index, entry] : llvm::enumerate(file.items)) {
      if (failed(check("items", index, "worker", entry.worker, workers)) ||
          failed(check("items", index, "sequence", entry.sequence, problem.numSequences())) ||
          failed(check("items", index, "kvHead", entry.kvHead, problem.kvHeads)) ||
          failed(check("items", index, "part", entry.part, parts)) ||
          failed(check("items", index, "kv", entry.kv, problem.numKvTiles(entry.sequence))))
        return failure();
      Item item;
      item.worker = entry.worker;
      item.sequence = entry.sequence;
      item.head = entry.kvHead;
      item.part = item.partTurn = entry.part;
      item.tile = entry.kv;
      for (auto [head, q] : entry.visit) {
        if (failed(check("items", index, "head", head, problem.heads)) ||
            failed(check("items", index, "q tile", q, problem.numQTiles(item.sequence))))
          return failure();
        auto key = std::pair(chains(item.sequence, head, q), int64_t(item.tile));
        if (!visitOf.try_emplace(key, table.visits.size(), item.part).second)
          return error("items", index) << "kv tile " << item.tile << " and q tile " << q
                                       << " of head " << head << " meet more than once";
        table.visits.push_back({int32_t(head), int32_t(q), /*turn=*/-1});
      }
      table.items.push_back(item);
      table.begin.push_back(table.visits.size());
    }
    return success();
  }

  LogicalResult readChains() {
    if (!problem.hasChains()) {
      for (Visit &visit : table.visits)
        visit.turn = 0;
      if (file.chains.empty())
        return success();
      return emitError() << place
                         << ".chains: expected none, because a program without dQ sums "
                            "nothing across items, got "
                         << file.chains.size();
    }
    std::vector<bool> seen(chains.size());
    for (auto [index, entry] : llvm::enumerate(file.chains)) {
      if (failed(check("chains", index, "sequence", entry.sequence, problem.numSequences())) ||
          failed(check("chains", index, "head", entry.head, problem.heads)) ||
          failed(check("chains", index, "q", entry.q, problem.numQTiles(entry.sequence))))
        return failure();
      int64_t chain = chains(entry.sequence, entry.head, entry.q);
      if (seen[chain])
        return error("chains", index) << "this q tile has another chain before";
      seen[chain] = true;
      if (failed(readChain(index, entry, chain)))
        return failure();
    }
    if (auto missing = llvm::find(seen, false); missing != seen.end())
      return emitError() << place << ".chains: got " << file.chains.size() << ", expected "
                         << seen.size() << ": one for each sequence, head and q tile";
    for (auto [index, item] : llvm::enumerate(table.items))
      for (int64_t v = table.begin[index]; v < table.begin[index + 1]; ++v)
        if (table.visits[v].turn < 0)
          return error("items", index)
                 << "q tile " << table.visits[v].tile << " of head " << table.visits[v].head
                 << " is visited, but kv tile " << item.tile << " is not in its chain";
    return success();
  }

  LogicalResult readChain(size_t index, const order_json::Chain &entry, int64_t chain) {
    for (auto [turn, contribution] : llvm::enumerate(entry.order)) {
      auto it = visitOf.find({chain, contribution.first});
      if (it == visitOf.end() || contribution.second != it->second.second)
        return error("chains", index)
               << "order[" << turn << "] is kv tile " << contribution.first << " of part "
               << contribution.second << ", but no such item visits this q tile";
      int32_t &known = table.visits[it->second.first].turn;
      if (known >= 0)
        return error("chains", index) << "order[" << turn << "] is kv tile " << contribution.first
                                      << ", which already has turn " << known;
      known = turn;
    }
    return success();
  }

  LogicalResult readPartChains() {
    if (!file.partChains || (!problem.hasChains() && file.partChains->empty()))
      return success(); // starts with the first part
    std::vector<SmallVector<int32_t, 2>> turns(kvTiles.size());
    for (auto [index, entry] : llvm::enumerate(*file.partChains)) {
      if (failed(check("partChains", index, "sequence", entry.sequence, problem.numSequences())) ||
          failed(check("partChains", index, "kvHead", entry.kvHead, problem.kvHeads)) ||
          failed(check("partChains", index, "kv", entry.kv, problem.numKvTiles(entry.sequence))))
        return failure();
      Item tile;
      tile.sequence = entry.sequence;
      tile.head = entry.kvHead;
      tile.tile = entry.kv;
      SmallVector<int32_t, 2> &turn = turns[kvTiles(tile)];
      if (!turn.empty())
        return error("partChains", index) << "this kv tile has another chain before";
      turn.resize(parts, -1);
      for (auto [place, part] : llvm::enumerate(entry.order)) {
        if (failed(check("partChains", index, "part", part, parts)))
          return failure();
        turn[part] = place;
      }
      if (int64_t(entry.order.size()) != parts || llvm::is_contained(turn, -1))
        return error("partChains", index) << "expected each of the " << parts << " parts once";
    }
    for (Item &item : table.items) {
      const auto &turn = turns[kvTiles(item)];
      if (turn.empty())
        return emitError() << place << ".partChains: kv tile " << item.tile << " of kv head "
                           << item.head << ", sequence " << item.sequence << " has none";
      item.partTurn = turn[item.part];
    }
    return success();
  }

  const order_json::Schedule &file;
  const Problem &problem;
  int64_t workers, parts;
  std::string place;
  EmitError emitError;
  ChainIds chains;
  OwnTileIds kvTiles;
  Table table;
  /// A visit and its part, by (chain, kv); looked up only.
  llvm::DenseMap<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> visitOf;
};

} // namespace

/// Fails if the file describes something else than the request.
template <typename T, typename U>
static LogicalResult match(StringRef what, const T &found, const U &expected,
                           const std::string &place, EmitError emitError) {
  if (found == expected)
    return success();
  return emitError() << place << ": order is for " << what << " " << found << ", expected "
                     << expected;
}

template <typename T, typename U>
static LogicalResult matchIfAsked(StringRef what, const T &found, const std::optional<U> &asked,
                                  const std::string &place, EmitError emitError) {
  return asked ? match(what, found, *asked, place, emitError) : success();
}

/// The mask of a file in the words of maskName: a union omits a window that its band implies.
static std::string describeMask(const order_json::Mask &mask) {
  auto [left, right] = mask.window.value_or(std::pair<int64_t, int64_t>(-1, -1));
  Mask band{left, mask.causal ? 0 : right};
  std::optional<Band> window;
  if (const auto &first = mask.firstColumns)
    window =
        unionWindowWithin({band.left, band.right}, {first->window.first, first->window.second});
  SmallVector<std::string, 3> entries;
  if (!band.isFull() || (!mask.blocks && !window))
    entries.push_back(maskName(band));
  if (mask.blocks)
    entries.push_back(llvm::formatv("blocks {0} x {1}", mask.blocks->q, mask.blocks->kv));
  if (window)
    entries.push_back(UnionAttr::titleOf(mask.firstColumns->columns, *window));
  return llvm::join(entries, ", ");
}

static LogicalResult matchMask(const order_json::Mask &file, const Mask &mask,
                               const std::string &place, EmitError emitError) {
  if (failed(match("mask", describeMask(file), maskName(mask), place, emitError)))
    return failure();
  BlocksAttr blocks = mask.blocks();
  if (!blocks)
    return success();
  const std::vector<std::string> &bits = file.blocks->bits;
  auto size = [](size_t rows, size_t columns) {
    return llvm::formatv("{0} x {1} bits", rows, columns).str();
  };
  std::string expected = size(blocks.getNumKvBlocks(), blocks.getNumQBlocks());
  for (const std::string &row : bits)
    if (failed(match("blocks of", size(bits.size(), row.size()), expected, place, emitError)))
      return failure();
  if (failed(match("blocks of", size(bits.size(), blocks.getNumQBlocks()), expected, place,
                   emitError)))
    return failure();
  for (int64_t kv : llvm::seq(blocks.getNumKvBlocks()))
    for (int64_t q : llvm::seq(blocks.getNumQBlocks()))
      if (bool isVisible = bits[kv][q] == '1'; isVisible != blocks.isVisible(kv, q))
        return emitError() << place << ".mask.blocks.bits[" << kv << "]: character " << q << " is "
                           << bits[kv][q] << ", expected " << int(!isVisible);
  return success();
}

static LogicalResult matchProblem(const order_json::Schedule &file, const Problem &problem,
                                  const std::string &place, EmitError emitError) {
  Problem other = problem;
  other.sequences = file.sequences.value_or(problem.sequences);
  auto tiles = [](TileShape t) { return llvm::formatv("q={0} kv={1}", t.q, t.kv).str(); };
  return failure(
      (file.mask && failed(matchMask(*file.mask, problem.mask, place, emitError))) ||
      failed(match("tiles", tiles(file.tiles.value_or(problem.tiles)), tiles(problem.tiles), place,
                   emitError)) ||
      failed(match("heads", file.heads.value_or(problem.heads), problem.heads, place, emitError)) ||
      failed(match("kv heads", file.kvHeads.value_or(problem.kvHeads), problem.kvHeads, place,
                   emitError)) ||
      failed(match("head dim", file.headDim.value_or(problem.headDim), problem.headDim, place,
                   emitError)) ||
      failed(match("head dim of v", file.headDimV.value_or(problem.headDimV), problem.headDimV,
                   place, emitError)) ||
      failed(match("sequences (q x kv rows)", describeSequences(other), describeSequences(problem),
                   place, emitError)));
}

/// The document's schedule for `op`, or its only one.
static FailureOr<size_t> pickSchedule(const order_json::Document &document, StringRef op,
                                      StringRef path, EmitError emitError) {
  const auto &schedules = document.schedules;
  if (schedules.size() == 1)
    return 0;
  auto isOurs = [&](const order_json::Schedule &s) { return s.op == op; };
  if (llvm::count_if(schedules, isOurs) != 1)
    return emitError() << "order file '" << path << "' has " << schedules.size()
                       << " schedules, of which " << llvm::count_if(schedules, isOurs)
                       << " are for '" << op << "', expected one";
  return llvm::find_if(schedules, isOurs) - schedules.begin();
}

/// The number of the file's lists that have items.
static int64_t numWorkers(const order_json::Schedule &file) {
  int64_t workers = 1;
  for (const order_json::Item &item : file.items)
    workers = std::max(workers, std::min(item.worker, maxWorkers) + 1);
  return workers;
}

/// Everything around the order: from the file, if it agrees with the request.
static FailureOr<ScheduleHeader> readHeader(const order_json::Schedule &file,
                                            const OrderFileRequest &request,
                                            const std::string &place, EmitError emitError) {
  int64_t workers = file.workers.value_or(request.workers.value_or(numWorkers(file)));
  if (workers < 1 || workers > maxWorkers)
    return emitError() << place << ".workers: expected 1 to " << maxWorkers << ", got " << workers;
  int64_t parts = file.parts.value_or(request.parts.value_or(1));
  if (failed(verifyParts(request.problem, parts, [&] { return emitError() << place << ": "; })))
    return failure();
  std::string levelName = file.level.value_or(stringifyDeterminismLevel(request.needed).str());
  std::optional<DeterminismLevel> level = symbolizeDeterminismLevel(levelName);
  if (!level || *level == DeterminismLevel::World)
    return emitError() << place << ".level: expected run, batch or machine, got '" << levelName
                       << "'";
  if (*level < request.needed)
    return emitError() << place << ".level: '" << levelName
                       << "' is weaker than what is asked for, '"
                       << stringifyDeterminismLevel(request.needed) << "'";
  std::optional<Apart> apart = symbolizeApart(file.apart.value_or("none"));
  if (!apart)
    return emitError() << place << ".apart: expected none, parts or all, got '" << *file.apart
                       << "'";
  ScheduleHeader header;
  header.kind = "file";
  header.apart = request.apart.value_or(*apart);
  header.level = *level;
  header.problem = request.problem;
  header.parts = parts;
  header.workers = workers;
  header.width = file.forWorkers.value_or(
      *level == DeterminismLevel::Machine ? request.forWorkers.value_or(workers) : workers);
  if (header.width < 1)
    return emitError() << place << ".forWorkers: expected at least 1, got " << header.width;
  if (*level != DeterminismLevel::Machine && header.width != header.workers)
    return emitError() << place << ".forWorkers: expected the number of workers, " << header.workers
                       << ", at level '" << levelName << "', got " << header.width;
  Cost cost = request.cost;
  if (file.cost)
    cost = {file.cost->compute,  file.cost->reduce, file.cost->latency, file.cost->buffers,
            file.cost->boundary, file.cost->piece,  file.cost->convert, file.cost->gather};
  header.cost = {request.compute.value_or(cost.compute),   request.reduce.value_or(cost.reduce),
                 request.latency.value_or(cost.latency),   request.buffers.value_or(cost.buffers),
                 request.boundary.value_or(cost.boundary), request.piece.value_or(cost.piece),
                 request.convert.value_or(cost.convert),   request.gather.value_or(cost.gather)};
  if (failed(verifyCost(header.cost, [&] { return emitError() << place << ".cost: "; })))
    return failure();
  if (failed(matchIfAsked("workers", workers, request.workers, place, emitError)) ||
      failed(matchIfAsked("parts", parts, request.parts, place, emitError)))
    return failure();
  if (*level == DeterminismLevel::Machine)
    if (failed(matchIfAsked("for-workers", header.width, request.forWorkers, place, emitError)))
      return failure();
  return header;
}

FailureOr<Schedule> dash::readOrderFile(StringRef path, const OrderFileRequest &request,
                                        EmitError emitError) {
  order_json::Document document;
  auto read = [&](const llvm::json::Value &value, llvm::json::Path place) {
    return fromJSON(value, document, place);
  };
  FailureOr<std::string> text = readText("order", path, emitError);
  if (failed(text) || failed(parseJson("order", path, *text, read, emitError)))
    return failure();

  FailureOr<size_t> index = pickSchedule(document, request.op, path, emitError);
  if (failed(index))
    return failure();
  const order_json::Schedule &file = document.schedules[*index];
  std::string place = llvm::formatv("order file '{0}': schedules[{1}]", path, *index);
  FailureOr<ScheduleHeader> header = readHeader(file, request, place, emitError);
  if (failed(header) || failed(matchProblem(file, request.problem, place, emitError)))
    return failure();
  FailureOr<Table> table = OrderReader(file, *header, place, emitError).read();
  if (failed(table))
    return failure();
  return Schedule::get(std::move(*header), std::move(*table), emitError);
}
