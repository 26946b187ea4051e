//===- Kept.cpp - what stays with servers from forward to backward --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kv head of a document is kept by all of its servers or by none, so that a home sends a rank of
// a node either all that the node reads, or nothing. K and V of a long document are kept by each of
// its servers, so those with few rows come first.
//
//===----------------------------------------------------------------------===//

#include "KeptUnits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir::dash::world;

namespace {
/// Bytes that a rank would keep.
struct Share {
  int32_t rank;
  int64_t bytes;
};
} // namespace

/// What each server of a head keeps, if its messages were of one head each: so no less than what it
/// does keep.
static std::vector<Share> sharesOf(const World &world, int64_t document, ArrayRef<int32_t> ranks) {
  std::map<int32_t, int64_t> bytes, context;
  auto add = [&](int32_t rank, uint32_t what, int64_t first, int64_t end, int64_t padding) {
    if (first < end)
      bytes[rank] += llvm::alignTo(bytesOf(world, what, 1, end - first), padding);
  };
  for (int64_t leaf = 0, leaves = ranks.size(), first = 0; leaf < leaves; ++leaf) {
    int64_t end = world.leafEnd(document, leaf);
    context[ranks[leaf]] = end;
    if (leaf + 1 < leaves && ranks[leaf + 1] == ranks[leaf])
      continue; // they travel together
    for (const Home &home : world.homesOf(document))
      if (home.rank != ranks[leaf])
        for (auto [what, padding] : {std::pair<uint32_t, int64_t>(Q, alignment), {LSE, 1}})
          add(ranks[leaf], what, std::max(first, home.first), std::min(end, home.end), padding);
    first = end;
  }
  for (auto [rank, rows] : context)
    for (const Home &home : world.homesOf(document))
      if (home.rank != rank)
        add(rank, K | V, home.first, std::min(home.end, rows), alignment);
  std::vector<Share> shares;
  for (auto [rank, size] : bytes)
    shares.push_back({rank, size});
  return shares;
}

std::vector<KeptHeads> mlir::dash::world::keptOf(const World &world, const Owners &owners) {
  const WorldProblem &problem = world.problem();
  std::vector<KeptHeads> kept;
  if (problem.kept == 0)
    return kept;
  std::vector<int64_t> order(world.numDocuments());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(problem.documents[a], a) < std::pair(problem.documents[b], b);
  });
  std::vector<int64_t> left(problem.ranks, problem.kept);
  for (int64_t document : order) {
    ArrayRef<int32_t> before;
    std::vector<Share> shares;
    for (int64_t head = 0; head < problem.kvHeads; ++head) {
      ArrayRef<int32_t> ranks =
          ArrayRef(owners).slice(world.firstUnit(document, head), world.numLeaves(document));
      if (head == 0 || ranks != before)
        shares = sharesOf(world, document, ranks);
      before = ranks;
      auto fits = [&](const Share &share) {
        return problem.kept == keepsAll || share.bytes <= left[share.rank];
      };
      if (shares.empty() || !llvm::all_of(shares, fits))
        continue;
      for (const Share &share : shares)
        left[share.rank] -= problem.kept == keepsAll ? 0 : share.bytes;
      if (!kept.empty() && kept.back().document == document &&
          kept.back().kvHead + kept.back().kvHeads == head)
        ++kept.back().kvHeads;
      else
        kept.push_back({document, head, 1});
    }
  }
  llvm::sort(kept, [](const KeptHeads &a, const KeptHeads &b) {
    return std::pair(a.document, a.kvHead) < std::pair(b.document, b.kvHead);
  });
  return kept;
}

std::vector<int64_t> mlir::dash::world::keptBytesOf(const World &world, const WorldPlan &plan) {
  std::vector<int64_t> bytes(world.problem().ranks);
  KeptUnits kept(world, plan.kept);
  for (ForwardPhase phase : {ForwardInputs, ForwardRelays})
    for (const Message &message : plan.forward[phase].messages)
      if (kept.has(message.document, message.kvHead))
        bytes[message.to] += message.bytes;
  // Rows whose O and LSE travel home.
  for (const Message &message : plan.forward[ForwardOutputs].messages)
    if (kept.has(message.document, message.kvHead))
      bytes[message.from] += bytesOf(world, LSE, message.kvHeads, message.end - message.first);
  return bytes;
}
