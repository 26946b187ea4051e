//===- Prices.cpp - what operations cost on a machine ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Prices.h"
#include "dash/IR/DashAttrs.h"
#include "dash/Schedule/JsonFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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
  int64_t headDim;
  std::string mask;
  Cost cost;
};

bool fromJSON(const json::Value &value, Price &price, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object ||
      !hasOnlyKeys(value, path,
                   {"headDim", "mask", "compute", "reduce", "latency", "boundary", "piece",
                    "convert", "gather"}) ||
      !object.map("headDim", price.headDim) || !object.map("mask", price.mask) ||
      !object.map("compute", price.cost.compute) || !object.map("reduce", price.cost.reduce) ||
      !object.map("latency", price.cost.latency) || !object.map("boundary", price.cost.boundary))
    return false;
  // Files from before parts existed: a piece, or a contribution, has as many bytes as a dQ tile.
  price.cost.piece = price.cost.gather = price.cost.reduce;
  price.cost.convert = reducesToConvert * price.cost.reduce;
  if (!object.mapOptional("piece", price.cost.piece) ||
      !object.mapOptional("convert", price.cost.convert) ||
      !object.mapOptional("gather", price.cost.gather))
    return false;
  if (price.headDim < 1) {
    path.field("headDim").report("expected a number of at least 1");
    return false;
  }
  if (price.mask != "full" && price.mask != "masked") {
    path.field("mask").report("expected full or masked");
    return false;
  }
  return true;
}
} // namespace

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
    int64_t headDim = price.headDim;
    MaskClass mask = price.mask == "full" ? MaskClass::Full : MaskClass::Masked;
    if (llvm::any_of(prices.entries, [&](const Entry &entry) {
          return entry.headDim == headDim && entry.mask == mask;
        }))
      return emitAt() << "head dim " << headDim << " with mask " << price.mask
                      << " is there before, expected it once";
    prices.entries.push_back({price.headDim, mask, price.cost});
  }
  llvm::sort(prices.entries, [](const Entry &a, const Entry &b) {
    return std::pair(a.headDim, a.mask) < std::pair(b.headDim, b.mask);
  });
  for (const Entry &entry : prices.entries)
    if (llvm::count_if(prices.entries,
                       [&](const Entry &other) { return other.headDim == entry.headDim; }) != 2)
      return emitError() << "costs file '" << path << "': head dim " << entry.headDim
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

const Prices::Entry &Prices::entryOf(const Problem &problem) const {
  MaskClass mask = problem.mask.isFull() ? MaskClass::Full : MaskClass::Masked;
  int64_t headDim = std::min(largerHeadDim(problem), entries.back().headDim);
  return *llvm::find_if(
      entries, [&](const Entry &entry) { return entry.mask == mask && entry.headDim >= headDim; });
}

std::string Prices::describeUnmeasured(const Problem &problem) const {
  int64_t wanted = largerHeadDim(problem), taken = headDimOf(problem);
  if (wanted == taken)
    return "";
  return llvm::formatv(
      "no costs are measured for head dim {0}: those of head dim {1} are taken, as they are",
      wanted, taken);
}

LogicalResult dash::verifyCost(const Cost &cost, EmitError emitError) {
  return CostAttr::verify(emitError, APFloat(cost.compute), APFloat(cost.reduce),
                          APFloat(cost.latency), cost.buffers, APFloat(cost.boundary),
                          APFloat(cost.piece), APFloat(cost.convert), APFloat(cost.gather));
}
