//===- Prices.cpp - what operations cost on a machine ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Prices.h"
#include "dash/IR/DashAttrs.h"
#include "dash/Schedule/JsonFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace mlir::dash;
namespace json = llvm::json;

/// The price of rounding the sums of a kv tile, in reductions of a dQ tile, if a file does not
/// state it.
static constexpr double reducesToConvert = 5;

namespace {
struct Price {
  std::string program;
  int64_t headDim, headDimV;
  std::string mask;
  Cost cost;

  bool isWhole() const { return program.empty(); }
};

/// What only items that sum something across each other pay.
bool readSums(json::ObjectMapper &object, const json::Value &value, Price &price, json::Path path) {
  Cost &cost = price.cost;
  if (!price.isWhole()) {
    for (StringRef key : {"reduce", "latency", "piece", "convert", "gather"})
      if (value.getAsObject()->get(key)) {
        path.field(key).report("expected none: such a program sums nothing across items");
        return false;
      }
    cost.reduce = cost.latency = cost.piece = cost.convert = cost.gather = 0;
    return true;
  }
  if (!object.map("reduce", cost.reduce) || !object.map("latency", cost.latency))
    return false;
  // Files from before parts existed: a piece, or a contribution, has as many bytes as a dQ tile.
  cost.piece = cost.gather = cost.reduce;
  cost.convert = reducesToConvert * cost.reduce;
  return object.mapOptional("piece", cost.piece) && object.mapOptional("convert", cost.convert) &&
         object.mapOptional("gather", cost.gather);
}

bool fromJSON(const json::Value &value, Price &price, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object ||
      !hasOnlyKeys(value, path,
                   {"program", "headDim", "headDimV", "mask", "compute", "reduce", "latency",
                    "boundary", "piece", "convert", "gather"}) ||
      !object.mapOptional("program", price.program) || !object.map("headDim", price.headDim))
    return false;
  price.headDimV = price.headDim;
  if (!object.mapOptional("headDimV", price.headDimV) || !object.map("mask", price.mask) ||
      !object.map("compute", price.cost.compute) || !object.map("boundary", price.cost.boundary))
    return false;
  if (!price.isWhole() &&
      !llvm::is_contained({"dk dv", "dq", "dq of ds", "forward"}, price.program)) {
    path.field("program").report(
        "expected 'dk dv', 'dq', 'dq of ds' or 'forward', or none of a whole backward");
    return false;
  }
  for (auto [key, headDim] :
       {std::pair<StringRef, int64_t>("headDim", price.headDim), {"headDimV", price.headDimV}})
    if (headDim < 1) {
      path.field(key).report("expected a number of at least 1");
      return false;
    }
  if (price.isWhole() && price.headDimV != price.headDim) {
    path.field("headDimV")
        .report("expected none of a whole backward, whose larger head dim counts");
    return false;
  }
  if (price.mask != "full" && price.mask != "masked") {
    path.field("mask").report("expected full or masked");
    return false;
  }
  return readSums(object, value, price, path);
}
} // namespace

Priced dash::findPriced(ItemsOp items, const Problem &problem) {
  if (problem.hasChains())
    return Priced::Whole;
  if (!problem.ownsQ())
    return Priced::OfKv;
  bool isForward =
      items.walk([](RunningMaxOp) { return WalkResult::interrupt(); }).wasInterrupted();
  bool readsDs =
      items
          .walk([](LoadOp load) {
            return load.getOther().empty() ? WalkResult::advance() : WalkResult::interrupt();
          })
          .wasInterrupted();
  return isForward ? Priced::Forward : readsDs ? Priced::OfDs : Priced::OfQ;
}

static Priced toPriced(StringRef program) {
  return llvm::StringSwitch<Priced>(program)
      .Case("", Priced::Whole)
      .Case("dq", Priced::OfQ)
      .Case("dq of ds", Priced::OfDs)
      .Case("forward", Priced::Forward)
      .Default(Priced::OfKv);
}

static StringRef nameOf(Priced program) {
  switch (program) {
  case Priced::Whole:
    return "a whole backward";
  case Priced::OfKv:
    return "dk and dv";
  case Priced::OfQ:
    return "dq";
  case Priced::OfDs:
    return "dq of a given ds";
  case Priced::Forward:
    return "a forward";
  }
  llvm_unreachable("of the enumeration");
}

/// "head dim 64", or "dq at head dims 192 and 128".
static std::string describe(Priced program, int64_t headDim, int64_t headDimV) {
  if (program == Priced::Whole)
    return "head dim " + std::to_string(headDim);
  return llvm::formatv("{0} at head dims {1} and {2}", nameOf(program), headDim, headDimV);
}

static bool readPrices(const json::Value &value, std::vector<Price> &prices, json::Path path) {
  json::ObjectMapper object(value, path);
  int64_t version = 0;
  std::string machine;
  if (!object || !hasOnlyKeys(value, path, {"version", "machine", "prices"}) ||
      !object.map("version", version))
    return false;
  if (version != 1) {
    path.field("version").report("expected 1");
    return false;
  }
  return object.map("machine", machine) && object.map("prices", prices);
}

FailureOr<Prices> Prices::parse(StringRef path, StringRef text, EmitError emitError) {
  std::vector<Price> list;
  auto read = [&](const json::Value &value, json::Path place) {
    return readPrices(value, list, place);
  };
  if (failed(parseJson("costs", path, text, read, emitError)))
    return failure();
  if (list.empty())
    return emitError() << "costs file '" << path << "': expected at least one price";
  Prices prices;
  for (auto [index, price] : llvm::enumerate(list)) {
    auto emitAt = [&, index = index] {
      return emitError() << "costs file '" << path << "': prices[" << index << "]: ";
    };
    if (failed(verifyCost(price.cost, emitAt)))
      return failure();
    MaskClass mask = price.mask == "full" ? MaskClass::Full : MaskClass::Masked;
    Entry mine{toPriced(price.program), price.headDim, price.headDimV, mask, price.cost};
    if (llvm::any_of(prices.entries, [&](const Entry &entry) {
          return entry.key() == mine.key() && entry.mask == mine.mask;
        }))
      return emitAt() << describe(mine.program, mine.headDim, mine.headDimV) << " with mask "
                      << price.mask << " is there before, expected it once";
    prices.entries.push_back(mine);
  }
  llvm::sort(prices.entries, [](const Entry &a, const Entry &b) {
    return std::pair(a.key(), a.mask) < std::pair(b.key(), b.mask);
  });
  if (prices.entries.front().program != Priced::Whole)
    return emitError() << "costs file '" << path << "': expected prices of a whole backward, found "
                       << "those of parts alone";
  for (const Entry &entry : prices.entries)
    if (llvm::count_if(prices.entries,
                       [&](const Entry &other) { return other.key() == entry.key(); }) != 2)
      return emitError() << "costs file '" << path
                         << "': " << describe(entry.program, entry.headDim, entry.headDimV)
                         << " has no price with mask "
                         << (entry.mask == MaskClass::Full ? "masked" : "full");
  return prices;
}

FailureOr<Prices> Prices::read(StringRef path, EmitError emitError) {
  FailureOr<std::string> text = readText("costs", path, emitError);
  if (failed(text))
    return failure();
  return parse(path, *text, emitError);
}

namespace {
struct ShippedFile {
  StringRef card, text;
};
} // namespace

/// The files dialects/dash/Schedule/costs-CARD.json, embedded by the build.
static constexpr ShippedFile shippedFiles[] = {
#include "ShippedCosts.inc"
};

const Prices &Prices::shipped() { return *shippedFor(defaultCard); }

const Prices *Prices::shippedFor(StringRef card) {
  static const std::map<StringRef, Prices> all = [] {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    std::map<StringRef, Prices> all;
    for (const ShippedFile &file : shippedFiles) {
      FailureOr<Prices> parsed = parse(("costs-" + file.card + ".json").str(), file.text,
                                       [&] { return emitError(UnknownLoc::get(&context)); });
      assert(succeeded(parsed) && "the files that come with the library are right");
      all.emplace(file.card, std::move(*parsed));
    }
    return all;
  }();
  auto found = all.find(card);
  return found == all.end() ? nullptr : &found->second;
}

FailureOr<Prices> Prices::find(StringRef path, StringRef card, DeterminismLevel level,
                               EmitError emitError) {
  if (!path.empty() && !card.empty())
    return emitError() << "costs are named twice: expected a file or card '" << card
                       << "', got both";
  if (!path.empty())
    return read(path, emitError);
  if (card.empty())
    return shipped();
  const Prices *prices = shippedFor(card);
  if (!prices) {
    auto cards = llvm::map_range(shippedFiles, [](const ShippedFile &file) { return file.card; });
    return emitError() << "no costs are shipped for card '" << card << "', expected one of "
                       << llvm::join(cards, ", ") << "; a file of costs serves any other card";
  }
  if (level >= DeterminismLevel::Machine)
    return emitError() << "level '" << stringifyDeterminismLevel(level)
                       << "' gives the same bits on every card, so its costs are no card's: leave "
                          "out card '"
                       << card << "', or name a file of costs that all take";
  return *prices;
}

static int64_t largerHeadDim(const Problem &problem) {
  return std::max(problem.headDim, problem.headDimV);
}

const Prices::Entry &Prices::entryOf(const Problem &problem, Priced program) const {
  MaskClass mask = problem.mask.isFull() ? MaskClass::Full : MaskClass::Masked;
  auto isOfPart = [&](const Entry &entry) {
    return entry.program == program && entry.mask == mask && entry.headDim >= problem.headDim &&
           entry.headDimV >= problem.headDimV;
  };
  if (program != Priced::Whole)
    if (auto found = llvm::find_if(entries, isOfPart); found != entries.end())
      return *found;
  if (program == Priced::OfDs)
    return entryOf(problem, Priced::OfQ);
  int64_t most = 0;
  for (const Entry &entry : entries)
    if (entry.program == Priced::Whole)
      most = std::max(most, entry.headDim);
  int64_t headDim = std::min(largerHeadDim(problem), most);
  return *llvm::find_if(entries, [&](const Entry &entry) {
    return entry.program == Priced::Whole && entry.mask == mask && entry.headDim >= headDim;
  });
}

std::string Prices::describeUnmeasured(const Problem &problem, Priced program) const {
  const Entry &taken = entryOf(problem, program);
  if (program != Priced::Whole && taken.program == Priced::Whole)
    return llvm::formatv("the file of costs has none of {0}: what a task of a whole backward "
                         "computes at head dim {1} is taken, without its reduction",
                         program == Priced::Forward
                             ? "a forward"
                             : describe(program, problem.headDim, problem.headDimV),
                         taken.headDim);
  int64_t wanted = program == Priced::Whole ? largerHeadDim(problem) : problem.headDim;
  int64_t wantedV = program == Priced::Whole ? wanted : problem.headDimV;
  if (program == taken.program && wanted == taken.headDim && wantedV == taken.headDimV)
    return "";
  std::string what = describe(program, wanted, wantedV),
              found = describe(taken.program, taken.headDim, taken.headDimV);
  return llvm::formatv("no costs are measured for {0}: those of {1} are taken, as they are", what,
                       found);
}

LogicalResult dash::verifyCost(const Cost &cost, EmitError emitError) {
  return CostAttr::verify(emitError, APFloat(cost.compute), APFloat(cost.reduce),
                          APFloat(cost.latency), cost.buffers, APFloat(cost.boundary),
                          APFloat(cost.piece), APFloat(cost.convert), APFloat(cost.gather));
}
