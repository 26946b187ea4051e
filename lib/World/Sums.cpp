//===- Sums.cpp - the fixed tree over the places of its leaves ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three stages add up the same tree. First, a server folds the nodes of which it has all leaves.
// Then the ranks of one cluster node share the rows of each tree node of which they have all leaves
// together. The home of the rows adds up what is left. So no rank receives whole sums, and the work
// of folding is spread.
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

void Exchange::classify() {
  ranksOf.clear();
  groupsOf.clear();
  ranksOf.emplace_back(ranks.begin(), ranks.end());
  groupsOf.emplace_back();
  for (int32_t rank : ranks)
    groupsOf.back().push_back(world.nodeOf(rank));
  auto raise = [](std::vector<std::vector<int32_t>> &levels) {
    const std::vector<int32_t> &below = levels.back();
    std::vector<int32_t> level;
    for (size_t i = 0; i < below.size(); i += 2)
      level.push_back(i + 1 == below.size() || below[i] == below[i + 1] ? below[i] : -1);
    levels.push_back(std::move(level));
  };
  while (ranksOf.back().size() > 1) {
    raise(ranksOf);
    raise(groupsOf);
  }
}

void Exchange::planSums() {
  held.clear();
  classify();
  Node root = Node::root(leaves);
  ArrayRef<Home> homes = world.homesOf(document);
  std::vector<Node> sums;
  foldAtHome(root, sums);
  for (const Held &one : held)
    for (const Holder &holder : one.holders)
      for (const Home &home : homes)
        sendTo(result.backward[Gradients], sums.empty() ? DK | DV : Sums, holder.rank, home.rank,
               std::max(holder.first, home.first), std::min(holder.end, home.end),
               sums.empty() ? Node() : one.node);
  for (Node node : sums)
    for (const Home &home : homes)
      if (int64_t end = std::min(home.end, rowsOf(node)); home.first < end)
        folds[2].push_back(
            {Stage::Home, home.rank, document, kvHead, kvHeads, node, home.first, end});
}

/// The tree nodes that one cluster node completes become `held`; those above them become `sums`,
/// children first.
void Exchange::foldAtHome(Node node, std::vector<Node> &sums) {
  node = node.named(leaves);
  if (groupOf(node) >= 0)
    return hold(node);
  foldAtHome(node.left(), sums);
  foldAtHome(node.right(leaves), sums);
  sums.push_back(node);
}

void Exchange::hold(Node node) {
  int64_t rows = rowsOf(node);
  if (int32_t rank = rankOf(node); rank >= 0) {
    foldAtServer(node);
    held.push_back({node, {{rank, 0, rows}}});
    return;
  }
  std::vector<Node> whole, sums;
  foldInNode(node, whole, sums);
  std::vector<int32_t> sharing;
  for (Node one : whole)
    sharing.push_back(rankOf(one));
  llvm::sort(sharing);
  sharing.erase(std::unique(sharing.begin(), sharing.end()), sharing.end());
  std::vector<Holder> holders;
  // In units of whole kv tiles.
  auto boundary = [&](int64_t i) {
    return i == int64_t(sharing.size()) ? rows : rows * i / int64_t(sharing.size()) / 128 * 128;
  };
  for (auto [i, rank] : llvm::enumerate(sharing)) {
    Holder holder{rank, boundary(i), boundary(i + 1)};
    if (holder.first == holder.end)
      continue;
    holders.push_back(holder);
    for (Node one : whole)
      sendTo(result.backward[BackwardSums], Sums, rankOf(one), rank, holder.first,
             std::min(holder.end, rowsOf(one)), one);
    for (Node sum : sums)
      if (int64_t end = std::min(holder.end, rowsOf(sum)); holder.first < end)
        folds[1].push_back({Stage::Node, rank, document, kvHead, kvHeads, sum, holder.first, end});
  }
  held.push_back({node, std::move(holders)});
}

void Exchange::foldInNode(Node node, std::vector<Node> &whole, std::vector<Node> &sums) {
  node = node.named(leaves);
  if (rankOf(node) >= 0) {
    foldAtServer(node);
    whole.push_back(node);
    return;
  }
  foldInNode(node.left(), whole, sums);
  foldInNode(node.right(leaves), whole, sums);
  sums.push_back(node);
}

void Exchange::foldAtServer(Node node) {
  node = node.named(leaves);
  if (node.level == 0)
    return;
  foldAtServer(node.left());
  foldAtServer(node.right(leaves));
  folds[0].push_back(
      {Stage::Server, rankOf(node), document, kvHead, kvHeads, node, 0, rowsOf(node)});
}
