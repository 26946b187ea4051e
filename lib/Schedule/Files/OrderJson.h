//===- OrderJson.h - the JSON form of an order ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types only. OrderFile.cpp checks whether the numbers form an order.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_SCHEDULE_FILES_ORDERJSON_H
#define DASH_LIB_SCHEDULE_FILES_ORDERJSON_H

#include "dash/IR/Problem.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace mlir::dash::order_json {

struct Item {
  int64_t worker, sequence, kvHead, part, kv;
  std::vector<std::pair<int64_t, int64_t>> visit; ///< (head, q)
};

struct Chain {
  int64_t sequence, head, q;
  std::vector<std::pair<int64_t, int64_t>> order; ///< (kv, part)
};

struct PartChain {
  int64_t sequence, kvHead, kv;
  std::vector<int64_t> order;
};

struct Cost {
  double compute, reduce, latency;
  int64_t buffers;
  double boundary = 0, piece = 0, convert = 0, gather = 0;
};

struct Blocks {
  int64_t q, kv;
  std::vector<std::string> bits; ///< one string of 0 and 1 for each kv block
};

struct Union {
  int64_t columns;
  std::pair<int64_t, int64_t> window; ///< (left, right)
};

struct Mask {
  bool causal;
  std::optional<std::pair<int64_t, int64_t>> window; ///< (left, right)
  std::optional<Blocks> blocks;
  std::optional<Union> firstColumns;
};

/// An order needs items and chains. Other statements of a file about the problem must be true.
struct Schedule {
  std::string op;
  std::optional<std::string> level, apart;
  std::optional<int64_t> forWorkers, headDim, headDimV;
  std::optional<Mask> mask;
  std::optional<TileShape> tiles;
  std::optional<std::vector<SequenceLengths>> sequences;
  std::optional<int64_t> heads, kvHeads, parts, workers;
  std::optional<Cost> cost;
  std::vector<Item> items;
  std::vector<Chain> chains;
  std::optional<std::vector<PartChain>> partChains;
};

struct Document {
  std::vector<Schedule> schedules;
};

/// Reports members that are missing, unknown, or of another type, with their paths.
bool fromJSON(const llvm::json::Value &value, Document &document, llvm::json::Path path);

} // namespace mlir::dash::order_json

#endif // DASH_LIB_SCHEDULE_FILES_ORDERJSON_H
