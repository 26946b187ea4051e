//===- VerifySums.cpp - every node is the sum of its two children ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VerifyState.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

static std::string nameNode(Node node) {
  return node.level == 0 ? llvm::formatv("leaf {0}", node.index).str()
                         : llvm::formatv("node {0}.{1}", node.level, node.index).str();
}

llvm::Error RowCheck::fold(Stage stage) {
  for (int32_t number : index.folds[document]) {
    const Fold &fold = plan.folds[number];
    if (fold.stage != stage || head < fold.kvHead || head >= fold.kvHead + fold.kvHeads)
      continue;
    for (Node child : {fold.node.left(), fold.node.right(leaves)}) {
      int64_t end = std::min(fold.end, ends[child.endLeaf(leaves) - 1]);
      if (fold.first < end && !sums[{fold.rank, child.level, child.index}].remove(fold.first, end))
        return refuse(
            "fold {0}: rank {1} makes rows {2} to {3} of {4} of {5} and does not have them of {6}",
            number, fold.rank, fold.first, fold.end, nameNode(fold.node), headName(),
            nameNode(child));
    }
    // The right child has each row once, so the node has too.
    sums[{fold.rank, fold.node.level, fold.node.index}].add(fold.first, fold.end);
  }
  return llvm::Error::success();
}

llvm::Error RowCheck::moveSums(const Phase &phase, ArrayRef<int32_t> indices, RowSet &came) {
  Node root = Node::root(leaves);
  for (int32_t number : indices) {
    const Message &message = phase.messages[number];
    if (!isOfHead(message) || !(message.what & (Sums | DK | DV)))
      continue;
    auto at = [&] { return placeOf("backward", phase, number); };
    // A complete sum is rounded for dK and dV at once.
    bool isRounded = message.what & (DK | DV);
    if (isRounded && message.what != (DK | DV))
      return refuse("{0}: expected dK+dV, found {1}", at(), nameTensors(message.what));
    Node node = isRounded ? root : message.node;
    if (!sums[{message.from, node.level, node.index}].remove(message.first, message.end))
      return refuse("{0}: rank {1} does not have rows {2} to {3} of {4} of {5}", at(), message.from,
                    message.first, message.end, nameNode(node), headName());
    if (!isRounded)
      continue;
    if (!isHome(message.to, message.first, message.end))
      return refuse("{0}: rows {1} to {2} of dK+dV, {3}, are not at home on rank {4}", at(),
                    message.first, message.end, headName(), message.to);
    came.add(message.first, message.end); // the root has each row once
  }
  for (int32_t number : indices)
    if (const Message &message = phase.messages[number]; isOfHead(message) && message.what == Sums)
      sums[{message.to, message.node.level, message.node.index}].add(message.first, message.end);
  return llvm::Error::success();
}

llvm::Error RowCheck::checkSums() {
  sums.clear();
  for (int64_t leaf = 0; leaf < leaves; ++leaf)
    sums[{ranks[leaf], 0, leaf}].add(0, ends[leaf]);
  RowSet came;
  if (llvm::Error error = fold(Stage::Server))
    return error;
  if (llvm::Error error =
          moveSums(plan.backward[BackwardSums], index.backward[BackwardSums][document], came))
    return error;
  if (llvm::Error error = fold(Stage::Node))
    return error;
  if (llvm::Error error =
          moveSums(plan.backward[Gradients], index.backward[Gradients][document], came))
    return error;
  if (llvm::Error error = fold(Stage::Home))
    return error;
  // What remains is rounded where it is: complete sums at home.
  Node root = Node::root(leaves);
  for (const auto &[key, held] : sums) {
    if (held.empty())
      continue;
    auto [rank, level, number] = key;
    if (!(Node{level, number} == root))
      return refuse(
          "backward: rows {0} to {1} of {2} of {3} are left on rank {4}, and added to nothing",
          held.all().front().first, held.all().front().second, nameNode({level, number}),
          headName(), rank);
    for (auto [first, end] : held.all())
      for (const Home &home : world.homesOf(document))
        if (int64_t from = std::max(first, home.first), to = std::min(end, home.end);
            from < to && home.rank == rank)
          came.add(from, to);
  }
  if (auto missing = came.missing(0, ends.back()))
    return refuse("backward: rows {0} to {1} of dK+dV, {2}, do not come home", missing->first,
                  missing->second, headName());
  return llvm::Error::success();
}
