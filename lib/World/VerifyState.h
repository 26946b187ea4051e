//===- VerifyState.h - the rows that ranks have -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_VERIFYSTATE_H
#define DASH_LIB_WORLD_VERIFYSTATE_H

#include "KeptUnits.h"
#include "Refuse.h"
#include <map>
#include <optional>

namespace mlir::dash::world {

/// A set of rows.
class RowSet {
public:
  using Range = std::pair<int64_t, int64_t>;

  /// False, and nothing changes, if one of them is there.
  bool add(int64_t first, int64_t end) {
    auto next = ranges.begin();
    while (next != ranges.end() && next->second < first)
      ++next;
    if (next != ranges.end() && next->first < end && next->second > first)
      return false;
    bool touchesBefore = next != ranges.end() && next->second == first;
    if (touchesBefore) {
      auto after = std::next(next);
      if (after != ranges.end() && after->first < end)
        return false;
      next->second = end;
      if (after != ranges.end() && after->first == end) {
        next->second = after->second;
        ranges.erase(after);
      }
      return true;
    }
    if (next != ranges.end() && next->first == end)
      next->first = first;
    else
      ranges.insert(next, {first, end});
    return true;
  }
  /// False, and nothing changes, if one of them is missing.
  bool remove(int64_t first, int64_t end) {
    for (auto range = ranges.begin(); range != ranges.end(); ++range)
      if (range->first <= first && end <= range->second) {
        Range rest{end, range->second};
        range->second = first;
        if (rest.first < rest.second)
          range = std::prev(ranges.insert(std::next(range), rest));
        if (range->first == range->second)
          ranges.erase(range);
        return true;
      }
    return first == end;
  }
  /// The first rows of [first, end) that are missing.
  std::optional<Range> missing(int64_t first, int64_t end) const {
    for (const Range &range : ranges) {
      if (range.second <= first)
        continue;
      if (range.first > first)
        return Range{first, std::min(end, range.first)};
      first = range.second;
      if (first >= end)
        return std::nullopt;
    }
    return first < end ? std::optional<Range>({first, end}) : std::nullopt;
  }
  bool empty() const { return ranges.empty(); }
  ArrayRef<Range> all() const { return ranges; }

private:
  std::vector<Range> ranges; ///< ascending, never touching
};

/// A place in a plan, as messages name it.
inline std::string placeOf(StringRef pass, const Phase &phase, size_t index) {
  const Message &message = phase.messages[index];
  return llvm::formatv("{0} phase '{1}', message {2} from rank {3} to rank {4}", pass, phase.name,
                       index, message.from, message.to);
}

/// The messages and folds of each document, in order.
struct DocumentIndex {
  DocumentIndex(const World &world, const WorldPlan &plan);
  template <typename Item> struct Lists {
    std::vector<int64_t> begin;
    std::vector<int32_t> indices;
    ArrayRef<int32_t> operator[](int64_t document) const {
      return ArrayRef(indices).slice(begin[document], begin[document + 1] - begin[document]);
    }
  };
  std::array<Lists<Message>, numForwardPhases> forward;
  std::array<Lists<Message>, numBackwardPhases> backward;
  Lists<Fold> folds;
};

/// Ends of leaves by their definition. An end is the largest multiple of the step whose square,
/// times the query heads of a kv head, is at most leaf * area. It is at least `fewest` rows after
/// the end before, and no document ends with fewer rows than that.
class LeafEnds {
public:
  LeafEnds(const World &world);
  ArrayRef<int64_t> of(int64_t document) const {
    return ArrayRef(ends).slice(begin[document], begin[document + 1] - begin[document]);
  }
  int64_t firstUnit(int64_t document, int64_t head) const {
    return begin[document] * heads + head * int64_t(of(document).size());
  }

private:
  int64_t heads;
  std::vector<int64_t> begin = {0}, ends;
};

/// Proves for each kv head of a document that its rows arrive, come home, and are added up as the
/// tree says.
class RowCheck {
public:
  RowCheck(const World &world, const WorldPlan &plan, const LeafEnds &ends,
           ArrayRef<int32_t> servers)
      : world(world), plan(plan), leafEnds(ends), servers(servers), index(world, plan),
        kept(world, plan.kept) {}
  llvm::Error check();

private:
  llvm::Error checkHead();
  bool isAsHeadBefore() const;
  /// The tensors of a pass to check. If all messages of the document carry some tensors together or
  /// not at all, one of them is enough.
  template <typename Phases, typename Lists>
  uint32_t tensorsToLookAt(const Phases &phases, const Lists &lists) const;
  template <typename Phases, typename Lists, typename Test>
  bool allMessages(const Phases &phases, const Lists &lists, Test test) const;
  llvm::Error checkInputs(bool isForward);
  llvm::Error deliver(StringRef pass, const Phase &phase, ArrayRef<int32_t> indices,
                      bool isFromHome);
  llvm::Error checkComingHome(StringRef pass, const Phase &phase, ArrayRef<int32_t> indices,
                              uint32_t what);
  llvm::Error checkSums();
  llvm::Error fold(Stage stage);
  llvm::Error moveSums(const Phase &phase, ArrayRef<int32_t> indices, RowSet &came);

  bool isHome(int32_t rank, int64_t first, int64_t end) const;
  bool isOfHead(const Message &message) const {
    return message.kvHead <= head && head < message.kvHead + message.kvHeads;
  }
  std::string headName() const {
    return llvm::formatv("document {0}, kv head {1}", document, head);
  }

  const World &world;
  const WorldPlan &plan;
  const LeafEnds &leafEnds;
  ArrayRef<int32_t> servers;
  DocumentIndex index;
  KeptUnits kept;

  // For the current head:
  int64_t document = 0, head = 0, leaves = 0;
  uint32_t ofForward = 0, ofBackward = 0; ///< tensors to check
  ArrayRef<int64_t> ends;
  ArrayRef<int32_t> ranks;                                      ///< that compute its leaves
  std::map<std::pair<int32_t, uint32_t>, RowSet> rows;          ///< key: rank and tensor
  std::map<std::tuple<int32_t, int64_t, int64_t>, RowSet> sums; ///< key: rank and node
};

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_VERIFYSTATE_H
