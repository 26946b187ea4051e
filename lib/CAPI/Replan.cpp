//===- Replan.cpp - a kernel's order for other sizes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest states what determined its order: kind, level, workers, mask, costs and search. With
// other sizes, this is a request to the planner. Its answer replaces everything in the manifest
// that depends on sizes. The PTX stays: sizes are its parameters.
//
//===----------------------------------------------------------------------===//

#include "Replan.h"
#include "Strings.h"
#include "dash/IR/DashOps.h"
#include "dash/Launch/Manifest.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Support/Nesting.h"
#include "dash/Target/Certificate.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dash;
using launch::fail;
using launch::Outcome;
namespace json = llvm::json;

namespace {

/// The sizes of a kernel; manifests of the compiler have these.
struct Sizes {
  int64_t batch = -1, heads = -1, kvHeads = -1, qRows = -1, kvRows = -1;

  /// The size that has this name in a manifest, or null.
  int64_t *find(StringRef name) {
    for (auto [known, size] : {std::pair("batch", &batch),
                               {"heads", &heads},
                               {"kv_heads", &kvHeads},
                               {"q_rows", &qRows},
                               {"kv_rows", &kvRows}})
      if (name == known)
        return size;
    return nullptr;
  }
};

/// A manifest, taken apart after the checks that launchers make.
class Replanner {
public:
  Outcome read(StringRef text) {
    if (Outcome wrong = launch::readManifest(text, manifest))
      return wrong;
    if (llvm::any_of(manifest.derived, [](const auto &size) { return size.first == "sequences"; }))
      return fail(DASH_INVALID_ARGUMENT, "a planner serves batches of equal sequences, and '" +
                                             manifest.name +
                                             "' is of a list: use dash-opt for others");
    root = *json::parse(text);
    program = root.getAsObject()->getObject("program");
    order = root.getAsObject()->getObject("order");
    if (llvm::any_of(certifiedFacts, [&](StringRef fact) { return !program->get(fact); }))
      return refuse("its program");
    return std::nullopt;
  }

  Outcome demandTable() const {
    if (manifest.orderIsTable)
      return std::nullopt;
    return fail(DASH_INVALID_ARGUMENT, "the order of '" + manifest.name +
                                           "' is made by an entry for any sizes: there is no "
                                           "table to plan");
  }

  Outcome bind(ArrayRef<DashSize> given) {
    for (const DashSize &one : given) {
      StringRef name = toStringRef(one.name);
      int64_t *size = sizes.find(name);
      if (!size || *size >= 0)
        return fail(DASH_INVALID_ARGUMENT,
                    "'" + name.take_front(64) +
                        "' is no size of a kernel, or is given twice: expected batch, heads, "
                        "kv_heads, q_rows, kv_rows");
      bool isRows = size == &sizes.qRows || size == &sizes.kvRows;
      int64_t most = isRows ? maxKernelRows : maxKernelHeads;
      if (one.value < 1 || one.value > most)
        return fail(DASH_INVALID_ARGUMENT, "kernels serve " + name + " from 1 to " +
                                               llvm::Twine(most) + ", found " +
                                               llvm::Twine(one.value));
      *size = one.value;
    }
    for (const launch::Size &size : manifest.sizes)
      if (int64_t *value = sizes.find(size.name); !value || *value < 0)
        return fail(DASH_INVALID_ARGUMENT, "expected a value for the size '" + size.name +
                                               "' of '" + manifest.name + "', found none");
    return std::nullopt;
  }

  Outcome makeRequest(ScheduleHeader &request) {
    auto text = [&](StringRef key) { return program->getString(key).value_or("").str(); };
    auto number = [&](StringRef key) { return program->getInteger(key).value_or(0); };
    const json::Object *tiles = program->getObject("tiles");
    std::optional<DeterminismLevel> level = symbolizeDeterminismLevel(text("level"));
    auto mask = parse<MaskAttr>("#dash.mask<" + text("mask") + ">");
    if (!tiles || !level || *level == DeterminismLevel::World || !mask)
      return refuse("its program");
    request.kind = text("kind");
    if (!findScheduleKind(request.kind))
      return fail(DASH_INVALID_ARGUMENT, "the order of '" + manifest.name + "' is of kind '" +
                                             request.kind +
                                             "', which cannot be planned: compile it anew");
    request.level = *level;
    request.parts = number("parts");
    request.apart = symbolizeApart(text("apart")).value_or(Apart::None);
    request.workers = manifest.workers;
    request.width = manifest.width;
    Problem &problem = request.problem;
    problem.tiles = {tiles->getInteger("q").value_or(0), tiles->getInteger("kv").value_or(0),
                     std::max<int64_t>(number("fold"), 1)};
    problem.mask = toMask(mask);
    problem.heads = sizes.heads;
    problem.kvHeads = sizes.kvHeads;
    problem.headDim = number("head_dim");
    problem.headDimV = number("head_dim_v");
    problem.own = ownsQ() ? TensorSide::Q : TensorSide::KV;
    problem.cut = number("cut");
    problem.chains = ownsQ() || request.parts > 1 || hasSums();
    findStep(problem);
    SequenceLengths rows{roundUp(sizes.qRows, step.q), roundUp(sizes.kvRows, step.kv)};
    problem.sequences.assign(sizes.batch, rows);
    return makeCost(request);
  }

  /// Derives again everything that depends on sizes.
  PlannedFiles rewrite(const PlannedOrder &planned) {
    PlannedFiles files;
    files.order.resize(planned.words.size() * sizeof(int32_t));
    for (auto [index, word] : llvm::enumerate(planned.words))
      llvm::support::endian::write32le(&files.order[index * sizeof(int32_t)], word);
    json::Object &whole = *root.getAsObject();
    for (const launch::Size &size : manifest.sizes)
      (*whole.getObject("sizes"))[size.name] = json::Object{{"value", *sizes.find(size.name)}};
    stateRows(whole);
    bool waits = mayWait(planned.words);
    bool drawsTickets = llvm::any_of(
        manifest.workspace, [](const launch::Region &region) { return region.name == "tickets"; });
    (*program)["min_workers"] = !waits         ? 1
                                : drawsTickets ? planned.facts.minWorkers
                                               : manifest.workers;
    for (auto [entry, known] : llvm::zip_equal(*whole.getArray("entries"), manifest.entries))
      if (known.role == "main")
        (*entry.getAsObject())["cooperative"] =
            waits && takesTurns(known) && manifest.workers > 1 && !drawsTickets;
    for (json::Value &region : *whole.getArray("workspace"))
      if (region.getAsObject()->getString("initial") == "file")
        (*region.getAsObject())["bytes"] = std::to_string(files.order.size());
    (*order)["bytes"] = int64_t(files.order.size());
    std::string hash = hashOf(files.order);
    (*order)["sha256"] = hash;
    if (StringRef(manifest.orderCommand).contains(sizesOption))
      (*order)["command"] = StringRef(manifest.orderCommand).rsplit(sizesOption).first.str() +
                            sizesOption.str() + describeSizes() + "'";
    files.certificate =
        certify(*program, "sha256:" + hash, searchText(), "sha256:" + manifest.ptxSha256);
    whole["certificate"] = files.certificate;
    llvm::raw_string_ostream(files.manifest) << llvm::formatv("{0:2}", root) << '\n';
    return files;
  }

private:
  /// Its items own q tiles, so nothing that they add is shared.
  bool ownsQ() const { return program->getString("own") == "q"; }

  bool writes(StringRef name) const {
    return llvm::any_of(manifest.tensors, [&](const launch::TensorSpec &tensor) {
      return tensor.isWritten && tensor.name == name;
    });
  }
  bool has(StringRef name) const {
    return llvm::any_of(manifest.tensors,
                        [&](const launch::TensorSpec &tensor) { return tensor.name == name; });
  }
  /// Whether dQ is among the gradients.
  bool hasSums() const { return writes("dq"); }

  /// What the kernel computes, as --dash-apply-schedule finds it in a program.
  Priced getPriced() const {
    if (!ownsQ())
      return hasSums() ? Priced::Whole : Priced::OfKv;
    return writes("o") ? Priced::Forward : has("ds") ? Priced::OfDs : Priced::OfQ;
  }

  /// Not if the entry is that of a gradient apart, which adds nothing.
  static bool takesTurns(const launch::Entry &entry) {
    return llvm::any_of(entry.parameters, [](const launch::Parameter &parameter) {
      return parameter.name == "workspace.turns";
    });
  }

  static constexpr llvm::StringLiteral sizesOption = " sizes=";

  static int64_t roundUp(int64_t rows, int64_t step) { return llvm::divideCeil(rows, step) * step; }

  /// Rows with the same tiles have the same order if the mask meets these tiles alike. A mask that
  /// hides nothing: q and kv rows vary independently. A mask that depends on positions: q and kv
  /// rows vary together. Any other mask: no two numbers of rows share an order.
  void findStep(const Problem &problem) {
    if (problem.tiles.q < 1 || problem.tiles.kv < 1) // the planner refuses it
      return;
    int64_t both = std::gcd(problem.tiles.q, problem.tiles.kv);
    if (problem.mask.isFull()) {
      step = problem.tiles;
    } else if (problem.mask.isBand() && sizes.qRows == sizes.kvRows) {
      step = {both, both};
      rowsMustBeEqual = both > 1;
    }
  }

  /// The row counts that the order serves, and their equality where the mask needs it.
  void stateRows(json::Object &whole) {
    constexpr llvm::StringLiteral areEqual = "q_rows - kv_rows";
    for (auto [name, rows, each] :
         {std::tuple("q_rows", sizes.qRows, step.q), {"kv_rows", sizes.kvRows, step.kv}})
      if (int64_t most = roundUp(rows, each); each > 1)
        (*whole.getObject("sizes"))[name] = json::Object{{"min", most - each + 1}, {"max", most}};
    json::Array &constraints = *whole.getArray("constraints");
    auto said = llvm::find_if(constraints, [&](const json::Value &constraint) {
      return constraint.getAsObject()->getString("expression") == areEqual;
    });
    if (said != constraints.end()) // an order that was replanned before
      constraints.erase(said);
    if (rowsMustBeEqual)
      constraints.push_back(json::Object{
          {"expression", areEqual},
          {"equals", 0},
          {"message",
           "the order serves as many rows of q as of kv, as the tiles of others are masked "
           "in another way"}});
  }

  Outcome refuse(const llvm::Twine &what) {
    return fail(DASH_INVALID_MANIFEST, "manifest of '" + manifest.name + "': " + what +
                                           " is not what this compiler writes" +
                                           (message.empty() ? "" : ": " + message));
  }

  template <typename AttrT> AttrT parse(const std::string &text) {
    if (nestsDeeper(text, mostNestingOfAttr)) {
      message = "brackets nest deeper than " + std::to_string(mostNestingOfAttr) + " levels";
      return AttrT();
    }
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    return dyn_cast_or_null<AttrT>(parseAttribute(text, &context));
  }

  std::string searchText() const {
    std::optional<StringRef> search = order->getString("search"), cost = order->getString("cost");
    return search && cost ? (*search + " " + *cost).str() : "";
  }

  /// An order of a fixed kind does not depend on costs.
  Outcome makeCost(ScheduleHeader &request) {
    Cost shipped = Prices::shipped().of(request.problem, getPriced());
    request.cost = shipped;
    if (searchText().empty())
      return std::nullopt;
    auto search = parse<SearchAttr>(order->getString("search")->str());
    auto cost = parse<CostAttr>(order->getString("cost")->str());
    if (!search || !cost)
      return refuse("its order");
    if (search.getVersion() != searchVersion || search.getBudget() != searchBudget)
      return fail(DASH_INVALID_MANIFEST,
                  "the order of '" + manifest.name + "' was found by version " +
                      llvm::Twine(search.getVersion()) + " of the search with a budget of " +
                      llvm::Twine(search.getBudget()) + ", expected " + llvm::Twine(searchVersion) +
                      " and " + llvm::Twine(searchBudget) + ": compile it anew");
    request.maxDqBytes = search.getDqLimit();
    request.cost = toCost(cost);
    // A manifest omits what does not affect its order; a choice of parts depends on it.
    if (request.cost.piece == 0)
      request.cost.piece = shipped.piece;
    request.cost.convert = shipped.convert;
    request.cost.gather = shipped.gather;
    return std::nullopt;
  }

  /// True if two workers add to one q tile (with parts, also to one kv tile) and contributions are
  /// not kept apart.
  bool mayWait(ArrayRef<int32_t> words) const {
    // Keys are (sequence, head) and tile; kv heads are numbers below 0.
    llvm::DenseMap<std::pair<int64_t, int32_t>, int64_t> workerOf;
    std::optional<StringRef> apart = program->getString("apart");
    if (apart == "all" || ownsQ())
      return false;
    bool hasParts = program->getInteger("parts") != 1 && !apart;
    ArrayRef<int32_t> lists = words.slice(orderHeaderWords, manifest.workers + 1);
    for (int64_t worker = 0; worker < manifest.workers; ++worker)
      for (int32_t index = lists[worker]; index < lists[worker + 1]; ++index) {
        const int32_t *item = &words[words[OrderFirstItem] + index * orderItemWords];
        const int32_t *visit = &words[words[OrderFirstVisit]] + item[4] * orderVisitWords;
        int64_t kvHead = -1 - (item[0] * sizes.kvHeads + item[1]);
        if (hasParts && workerOf.try_emplace({kvHead, item[2]}, worker).first->second != worker)
          return true;
        for (int32_t i = 0; i < item[5]; ++i, visit += orderVisitWords) {
          int64_t head = item[0] * sizes.heads + item[3] + visit[0];
          if (workerOf.try_emplace({head, visit[1]}, worker).first->second != worker)
            return true;
        }
      }
    return false;
  }

  std::string describeSizes() const {
    return llvm::formatv("q:{0},kv:{1},batch:{2},heads:{3},kv-heads:{4}", sizes.qRows, sizes.kvRows,
                         sizes.batch, sizes.heads, sizes.kvHeads);
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<DashDialect>();
    return registry;
  }

  MLIRContext context{makeRegistry(), MLIRContext::Threading::DISABLED};
  std::string message; ///< the last attribute that could not be read
  launch::Manifest manifest;
  json::Value root = nullptr;
  json::Object *program = nullptr, *order = nullptr;
  Sizes sizes;
  TileShape step = {1, 1}; ///< row counts within one step share an order
  bool rowsMustBeEqual = false;
};

} // namespace

Outcome dash::replan(OrderPlanner &planner, StringRef manifest, ArrayRef<DashSize> sizes,
                     PlannedFiles &result) {
  Replanner replanner;
  ScheduleHeader request;
  Outcome wrong;
  if ((wrong = replanner.read(manifest)) || (wrong = replanner.demandTable()) ||
      (wrong = replanner.bind(sizes)) || (wrong = replanner.makeRequest(request)))
    return wrong;
  llvm::Expected<std::shared_ptr<const PlannedOrder>> planned = planner.plan(request);
  if (!planned)
    return fail(DASH_INVALID_ARGUMENT, llvm::toString(planned.takeError()));
  result = replanner.rewrite(**planned);
  return std::nullopt;
}

Outcome dash::choose(OrderPlanner &planner, StringRef manifest, ArrayRef<DashSize> sizes,
                     int64_t parts, DashChoice &result) {
  Replanner replanner;
  ScheduleHeader request;
  Outcome wrong;
  if ((wrong = replanner.read(manifest)) || (wrong = replanner.bind(sizes)) ||
      (wrong = replanner.makeRequest(request)))
    return wrong;
  request.parts = parts;
  llvm::Expected<OrderChoice> chosen = planner.choose(request);
  if (!chosen)
    return fail(DASH_INVALID_ARGUMENT, llvm::toString(chosen.takeError()));
  StringRef kind = findScheduleKind(chosen->kind)->name;
  const SequenceLengths &rows = request.problem.sequences.front();
  StringRef apart = stringifyApart(chosen->apart);
  result = {{kind.data(), kind.size()},
            chosen->parts,
            {apart.data(), apart.size()},
            chosen->isTable,
            rows.q,
            rows.kv,
            chosen->makespan,
            chosen->lowerBound};
  return std::nullopt;
}
