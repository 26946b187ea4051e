//===- Exchange.h - messages that follow from the places of leaves -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_EXCHANGE_H
#define DASH_LIB_WORLD_EXCHANGE_H

#include "KeptUnits.h"

namespace mlir::dash::world {

/// Fills in a plan's messages and folds, document by document. Kv heads whose leaves are placed
/// alike travel together, unless only one of them is kept.
class Exchange {
public:
  Exchange(const World &world, const Owners &owners, WorldPlan &plan)
      : world(world), owners(owners), result(plan), kept(world, plan.kept) {}

  void plan();
  /// Plans folds without messages.
  void planFolds() {
    onlyFolds = true;
    plan();
  }

private:
  /// Consecutive leaves of the current heads on a rank.
  struct Served {
    int32_t rank;
    int64_t firstRow, endRow;
  };
  /// A rank that reads K and V, and how many rows it reads.
  struct Reader {
    int32_t rank;
    int64_t rows;
  };
  /// A rank that has rows of a sum.
  struct Holder {
    int32_t rank;
    int64_t first, end;
  };
  /// A node of the tree whose leaves are all on ranks of one cluster node, and the ranks that hold
  /// it.
  struct Held {
    Node node;
    std::vector<Holder> holders;
  };

  void planHeads();
  void sendQueries();
  void sendContext();
  void relay(const Home &home, ArrayRef<Reader> readers);
  void planSums();
  void classify();
  int32_t rankOf(Node node) const { return ranksOf[node.level][node.index]; }
  int32_t groupOf(Node node) const { return groupsOf[node.level][node.index]; }
  int64_t rowsOf(Node node) const { return world.leafEnd(document, node.endLeaf(leaves) - 1); }

  void foldAtServer(Node node);
  void foldInNode(Node node, std::vector<Node> &whole, std::vector<Node> &sums);
  void foldAtHome(Node node, std::vector<Node> &sums);
  void hold(Node node);
  void sendTo(Phase &phase, uint32_t what, int32_t from, int32_t to, int64_t first, int64_t end,
              Node node = {});

  const World &world;
  const Owners &owners;
  WorldPlan &result;
  KeptUnits kept;
  bool onlyFolds = false;

  // For the current heads:
  int64_t document = 0, kvHead = 0, kvHeads = 0, leaves = 0;
  ArrayRef<int32_t> ranks; ///< of each leaf
  bool areKept = false;
  std::vector<Served> served;
  std::vector<Reader> readers;
  std::vector<std::vector<int32_t>> ranksOf, groupsOf; ///< for each node: the only one below, or -1
  std::vector<Held> held;
  std::array<std::vector<Fold>, 3> folds; ///< of all heads, by stage
};

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_EXCHANGE_H
