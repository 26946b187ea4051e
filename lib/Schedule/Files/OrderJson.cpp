//===- OrderJson.cpp - the JSON form of an order --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderJson.h"
#include "dash/Schedule/JsonFile.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::dash::SequenceLengths;
using mlir::dash::TileShape;

static bool readPairs(const json::Value &value, std::vector<std::pair<int64_t, int64_t>> &out,
                      json::Path path, StringLiteral expected) {
  const json::Array *array = value.getAsArray();
  if (!array) {
    path.report("expected array");
    return false;
  }
  out.reserve(array->size());
  for (auto [index, entry] : enumerate(*array)) {
    const json::Array *pair = entry.getAsArray();
    std::optional<int64_t> first, second;
    if (pair && pair->size() == 2) {
      first = (*pair)[0].getAsInteger();
      second = (*pair)[1].getAsInteger();
    }
    if (!first || !second) {
      path.index(index).report(expected);
      return false;
    }
    out.emplace_back(*first, *second);
  }
  return true;
}

/// Reads the pairs under `key`, which must exist.
static bool readPairs(const json::Value &value, StringLiteral key,
                      std::vector<std::pair<int64_t, int64_t>> &out, json::Path path,
                      StringLiteral expected) {
  const json::Value *pairs = value.getAsObject()->get(key);
  if (pairs)
    return readPairs(*pairs, out, path.field(key), expected);
  path.field(key).report("missing value");
  return false;
}

namespace mlir::dash {

static bool fromJSON(const json::Value &value, SequenceLengths &lengths, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("q", lengths.q) && object.map("kv", lengths.kv) &&
         hasOnlyKeys(value, path, {"q", "kv"});
}

static bool fromJSON(const json::Value &value, TileShape &tiles, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("q", tiles.q) && object.map("kv", tiles.kv) &&
         hasOnlyKeys(value, path, {"q", "kv"});
}

} // namespace mlir::dash

namespace mlir::dash::order_json {

static bool fromJSON(const json::Value &value, Blocks &blocks, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object || !object.map("q", blocks.q) || !object.map("kv", blocks.kv) ||
      !object.map("bits", blocks.bits) || !hasOnlyKeys(value, path, {"q", "kv", "bits"}))
    return false;
  for (auto [index, row] : enumerate(blocks.bits))
    if (StringRef(row).find_first_not_of("01") != StringRef::npos) {
      path.field("bits").index(index).report("expected a string of 0 and 1");
      return false;
    }
  return true;
}

/// The bounds under `window`.
static std::optional<std::pair<int64_t, int64_t>>
readWindow(const json::Value &value, json::Path path, StringLiteral expected) {
  const json::Value *window = value.getAsObject()->get("window");
  const json::Array *bounds = window ? window->getAsArray() : nullptr;
  std::optional<int64_t> left, right;
  if (bounds && bounds->size() == 2) {
    left = (*bounds)[0].getAsInteger();
    right = (*bounds)[1].getAsInteger();
  }
  if (left && right && *left >= -1 && *right >= -1)
    return std::pair(*left, *right);
  path.field("window").report(expected);
  return std::nullopt;
}

static bool fromJSON(const json::Value &value, Union &both, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object || !object.map("columns", both.columns) ||
      !hasOnlyKeys(value, path, {"columns", "window"}))
    return false;
  auto window = readWindow(value, path, "expected [left, right], each at least -1");
  if (window)
    both.window = *window;
  return window.has_value();
}

static bool fromJSON(const json::Value &value, Mask &mask, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object || !object.map("causal", mask.causal) || !object.map("blocks", mask.blocks) ||
      !object.map("union", mask.firstColumns) ||
      !hasOnlyKeys(value, path, {"causal", "window", "blocks", "union"}))
    return false;
  const json::Value *window = value.getAsObject()->get("window");
  if (!window || window->getAsNull())
    return true;
  mask.window = readWindow(value, path, "expected null or [left, right], each at least -1");
  return mask.window.has_value();
}

static bool fromJSON(const json::Value &value, Item &item, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("worker", item.worker) && object.map("sequence", item.sequence) &&
         object.map("kvHead", item.kvHead) && object.map("part", item.part) &&
         object.map("kv", item.kv) &&
         readPairs(value, "visit", item.visit, path, "expected [head, q tile]") &&
         hasOnlyKeys(value, path, {"worker", "sequence", "kvHead", "part", "kv", "visit"});
}

static bool fromJSON(const json::Value &value, Chain &chain, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("sequence", chain.sequence) && object.map("head", chain.head) &&
         object.map("q", chain.q) &&
         readPairs(value, "order", chain.order, path, "expected [kv tile, part]") &&
         hasOnlyKeys(value, path, {"sequence", "head", "q", "order"});
}

static bool fromJSON(const json::Value &value, PartChain &chain, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("sequence", chain.sequence) && object.map("kvHead", chain.kvHead) &&
         object.map("kv", chain.kv) && object.map("order", chain.order) &&
         hasOnlyKeys(value, path, {"sequence", "kvHead", "kv", "order"});
}

static bool fromJSON(const json::Value &value, Cost &cost, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("c", cost.compute) && object.map("r", cost.reduce) &&
         object.map("latency", cost.latency) && object.map("buffers", cost.buffers) &&
         object.mapOptional("boundary", cost.boundary) && object.mapOptional("piece", cost.piece) &&
         object.mapOptional("convert", cost.convert) && object.mapOptional("gather", cost.gather) &&
         hasOnlyKeys(value, path,
                     {"c", "r", "latency", "buffers", "boundary", "piece", "convert", "gather"});
}

static bool fromJSON(const json::Value &value, Schedule &schedule, json::Path path) {
  json::ObjectMapper object(value, path);
  if (!object ||
      !hasOnlyKeys(value, path,
                   {"op",           "kind",          "level",      "forWorkers", "mask",
                    "tiles",        "sequences",     "heads",      "kvHeads",    "parts",
                    "headDim",      "headDimV",      "workers",    "minWorkers", "cost",
                    "dynamicIssue", "makespan",      "lowerBound", "items",      "chains",
                    "partChains",   "deterministic", "search",     "apart",      "keeps"}))
    return false;
  return object.mapOptional("op", schedule.op) && object.map("level", schedule.level) &&
         object.map("apart", schedule.apart) && object.map("forWorkers", schedule.forWorkers) &&
         object.map("headDim", schedule.headDim) && object.map("headDimV", schedule.headDimV) &&
         object.map("mask", schedule.mask) && object.map("tiles", schedule.tiles) &&
         object.map("sequences", schedule.sequences) && object.map("heads", schedule.heads) &&
         object.map("kvHeads", schedule.kvHeads) && object.map("parts", schedule.parts) &&
         object.map("workers", schedule.workers) && object.map("cost", schedule.cost) &&
         object.map("items", schedule.items) && object.map("chains", schedule.chains) &&
         object.map("partChains", schedule.partChains);
}

bool fromJSON(const json::Value &value, Document &document, json::Path path) {
  json::ObjectMapper object(value, path);
  int64_t version = 0;
  if (!object || !object.map("version", version) ||
      !hasOnlyKeys(value, path, {"version", "schedules"}))
    return false;
  if (version != 1) {
    path.field("version").report("expected 1");
    return false;
  }
  return object.map("schedules", document.schedules);
}

} // namespace mlir::dash::order_json
