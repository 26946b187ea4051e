//===- Cut.h - how a document's backward is cut and summed ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What determines the bits of a world: the leaves into which a document is cut, and the order in
// which their sums of dK and dV are added. Both follow from the document's length and the heads
// alone (dialects/dash/docs/world.md).
//
//===----------------------------------------------------------------------===//
#ifndef DASH_WORLD_CUT_H
#define DASH_WORLD_CUT_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace mlir::dash::world {

/// q rows [begin, end) of one kv head with its query heads, over the context [0, end), as kernels
/// compute it: padded with rows that see nothing.
struct LeafShape {
  int64_t qRows, context;
  bool isPacked; ///< the document is so short that it is computed in a list with others
};

/// The numbers of a version. Integers only, so that every machine cuts alike.
struct Cut {
  int64_t version;
  int64_t step;        ///< leaves end at multiples of this many rows, except a document's last
  int64_t area;        ///< rows x context x 2 of a leaf of one query head
  int64_t least;       ///< least query rows of a leaf, over all heads
  int64_t padEnd;      ///< a document's last leaf ends at a multiple of this many rows
  int64_t padWhole;    ///< a document of one leaf has a multiple of this many rows
  int64_t packedBelow; ///< a document with fewer rows is packed

  /// 1: the version of the kernels. 0: the same cut, scaled down, for tests.
  static llvm::Expected<Cut> get(int64_t version);

  /// The least rows of a leaf, with `group` query heads for each kv head.
  int64_t leastRows(int64_t group) const;
  /// Ends of the leaves of a document of `rows` rows, in order; the last is `rows`.
  std::vector<int64_t> leafEnds(int64_t rows, int64_t group) const;
  /// The shape of the leaf with rows [begin, end) of a document of `rows` rows.
  LeafShape paddedShape(int64_t begin, int64_t end, int64_t rows) const;
};

/// A sum over leaves index << level … (index + 1) << level - 1 of a document. A node without a
/// right child is its left child, and has its name.
struct Node {
  int64_t level = 0, index = 0;

  int64_t firstLeaf() const { return index << level; }
  Node left() const { return {level - 1, 2 * index}; }
  /// Whether the node of a document with `leaves` leaves adds up two children.
  bool isSum(int64_t leaves) const { return level > 0 && (2 * index + 1) << (level - 1) < leaves; }
  /// The node under the name of the child that it equals, if it equals one.
  Node named(int64_t leaves) const {
    Node node = *this;
    while (node.level > 0 && !node.isSum(leaves))
      node = node.left();
    return node;
  }
  Node right(int64_t leaves) const { return Node{level - 1, 2 * index + 1}.named(leaves); }
  int64_t endLeaf(int64_t leaves) const { return std::min(leaves, (index + 1) << level); }
  static Node root(int64_t leaves) {
    int64_t level = 0;
    while (int64_t(1) << level < leaves)
      ++level;
    return {level, 0};
  }
  bool operator==(const Node &other) const { return level == other.level && index == other.index; }
};

} // namespace mlir::dash::world

#endif // DASH_WORLD_CUT_H
