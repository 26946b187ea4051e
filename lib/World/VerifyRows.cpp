//===- VerifyRows.cpp - rows arrive, come home, and are added once --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates each kv head of each document: which rows of each tensor, and of each node's sum, each
// rank has. A sum exists once. It moves, or it is added to another; either way it is gone from its
// old place.
//
//===----------------------------------------------------------------------===//

#include "VerifyState.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir::dash::world;

template <typename Item>
static DocumentIndex::Lists<Item> listByDocument(ArrayRef<Item> items, int64_t documents) {
  DocumentIndex::Lists<Item> lists;
  lists.begin.resize(documents + 1);
  lists.indices.resize(items.size());
  for (const Item &item : items)
    ++lists.begin[item.document + 1];
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  std::vector<int64_t> place = lists.begin;
  for (auto [index, item] : llvm::enumerate(items))
    lists.indices[place[item.document]++] = index;
  return lists;
}

DocumentIndex::DocumentIndex(const World &world, const WorldPlan &plan) {
  int64_t documents = world.numDocuments();
  for (auto [lists, phase] : llvm::zip_equal(forward, plan.forward))
    lists = listByDocument(ArrayRef(phase.messages), documents);
  for (auto [lists, phase] : llvm::zip_equal(backward, plan.backward))
    lists = listByDocument(ArrayRef(phase.messages), documents);
  folds = listByDocument(ArrayRef(plan.folds), documents);
}

llvm::Error RowCheck::check() {
  for (document = 0; document < world.numDocuments(); ++document) {
    ends = leafEnds.of(document);
    leaves = ends.size();
    auto isSilent = [&](auto &lists) {
      return llvm::all_of(lists, [&](auto &list) { return list[document].empty(); });
    };
    bool isQuiet = leaves == 1 && isSilent(index.forward) && isSilent(index.backward) &&
                   index.folds[document].empty();
    ofForward = tensorsToLookAt(plan.forward, index.forward);
    ofBackward = tensorsToLookAt(plan.backward, index.backward);
    for (head = 0; head < world.problem().kvHeads; ++head) {
      ranks = servers.slice(leafEnds.firstUnit(document, head), leaves);
      if ((isQuiet && isHome(ranks.front(), 0, ends.back())) || isAsHeadBefore())
        continue;
      if (llvm::Error error = checkHead())
        return error;
    }
  }
  return llvm::Error::success();
}

template <typename Phases, typename Lists, typename Test>
bool RowCheck::allMessages(const Phases &phases, const Lists &lists, Test test) const {
  for (auto [phase, list] : llvm::zip_equal(phases, lists))
    for (int32_t number : list[document])
      if (!test(phase.messages[number]))
        return false;
  return true;
}

template <typename Phases, typename Lists>
uint32_t RowCheck::tensorsToLookAt(const Phases &phases, const Lists &lists) const {
  uint32_t tensors = ~0u;
  for (uint32_t alike : {Q | DO | LSE | Delta, DO | Delta, K | V, O | LSE})
    if (allMessages(phases, lists, [&](const Message &message) {
          return (message.what & alike) == 0 || (message.what & alike) == alike;
        }))
      tensors &= ~alike | (alike & -alike);
  return tensors;
}

bool RowCheck::isAsHeadBefore() const {
  if (head == 0 || ranks != servers.slice(leafEnds.firstUnit(document, head - 1), leaves) ||
      kept.has(document, head) != kept.has(document, head - 1))
    return false;
  auto hasBothOrNone = [&](auto &item) {
    return item.kvHead != head && item.kvHead + item.kvHeads != head;
  };
  return allMessages(plan.forward, index.forward, hasBothOrNone) &&
         allMessages(plan.backward, index.backward, hasBothOrNone) &&
         llvm::all_of(index.folds[document],
                      [&](int32_t number) { return hasBothOrNone(plan.folds[number]); });
}

bool RowCheck::isHome(int32_t rank, int64_t first, int64_t end) const {
  for (const Home &home : world.homesOf(document)) {
    if (home.end <= first || first >= end)
      continue;
    if (home.first > first || home.rank != rank)
      return false;
    first = home.end;
  }
  return first >= end;
}

llvm::Error RowCheck::checkHead() {
  rows.clear();
  if (llvm::Error error = checkInputs(/*isForward=*/true))
    return error;
  if (llvm::Error error = checkComingHome("forward", plan.forward[ForwardOutputs],
                                          index.forward[ForwardOutputs][document], O | LSE))
    return error;
  rows.clear();
  if (llvm::Error error = checkInputs(/*isForward=*/false))
    return error;
  if (llvm::Error error = checkComingHome("backward", plan.backward[Gradients],
                                          index.backward[Gradients][document], DQ))
    return error;
  return checkSums();
}

llvm::Error RowCheck::deliver(StringRef pass, const Phase &phase, ArrayRef<int32_t> indices,
                              bool isFromHome) {
  for (int32_t number : indices) {
    const Message &message = phase.messages[number];
    if (!isOfHead(message))
      continue;
    for (uint32_t tensors = message.what & (pass == "forward" ? ofForward : ofBackward); tensors;
         tensors &= tensors - 1) {
      uint32_t tensor = tensors & ~(tensors - 1);
      int64_t first = message.first, end = message.end;
      bool isAtHome = isHome(message.from, first, end);
      if (isFromHome && !isAtHome)
        return refuse("{0}: rows {1} to {2} of {3}, {4}, are not at home on rank {5}",
                      placeOf(pass, phase, number), first, end, nameTensors(tensor), headName(),
                      message.from);
      if (!isFromHome && (isAtHome || rows[{message.from, tensor}].missing(first, end)))
        return refuse(
            "{0}: rows {1} to {2} of {3}, {4}, have not arrived at rank {5}, which passes them on",
            placeOf(pass, phase, number), first, end, nameTensors(tensor), headName(),
            message.from);
    }
  }
  for (int32_t number : indices) {
    const Message &message = phase.messages[number];
    if (!isOfHead(message))
      continue;
    for (uint32_t tensors = message.what & (pass == "forward" ? ofForward : ofBackward); tensors;
         tensors &= tensors - 1) {
      uint32_t tensor = tensors & ~(tensors - 1);
      bool isThere = !rows[{message.to, tensor}].add(message.first, message.end);
      for (const Home &home : world.homesOf(document))
        isThere |= home.rank == message.to && home.first < message.end && message.first < home.end;
      if (isThere)
        return refuse("{0}: of rows {1} to {2} of {3}, {4}, some are there already",
                      placeOf(pass, phase, number), message.first, message.end, nameTensors(tensor),
                      headName());
    }
  }
  return llvm::Error::success();
}

llvm::Error RowCheck::checkInputs(bool isForward) {
  StringRef pass = isForward ? "forward" : "backward";
  auto deliverOne = [&](auto &phases, auto &lists, int which, bool isFromHome) {
    return deliver(pass, phases[which], lists[which][document], isFromHome);
  };
  if (llvm::Error error = isForward
                              ? deliverOne(plan.forward, index.forward, ForwardInputs, true)
                              : deliverOne(plan.backward, index.backward, BackwardInputs, true))
    return error;
  if (llvm::Error error = isForward
                              ? deliverOne(plan.forward, index.forward, ForwardRelays, false)
                              : deliverOne(plan.backward, index.backward, BackwardRelays, false))
    return error;
  // Rows at home are there. Any other row of a leaf must have arrived.
  auto lacks = [&](int32_t rank, uint32_t tensor, int64_t first,
                   int64_t end) -> std::optional<RowSet::Range> {
    const RowSet &came = rows[{rank, tensor}];
    for (const Home &home : world.homesOf(document))
      if (int64_t from = std::max(first, home.first), to = std::min(end, home.end);
          from < to && home.rank != rank)
        if (auto missing = came.missing(from, to))
          return missing;
    return std::nullopt;
  };
  // What is kept has arrived in the forward.
  bool isKept = kept.has(document, head);
  uint32_t queries = isForward ? Q : isKept ? DO | Delta : Q | DO | LSE | Delta;
  uint32_t context = isForward || !isKept ? K | V : 0;
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    int64_t first = leaf ? ends[leaf - 1] : 0;
    for (uint32_t tensors = (queries | context) & (isForward ? ofForward : ofBackward); tensors;
         tensors &= tensors - 1) {
      uint32_t tensor = tensors & ~(tensors - 1);
      // The last leaf of a rank reads what the leaves before it read.
      if ((tensor & (K | V)) && leaf + 1 < leaves && ranks[leaf + 1] == ranks[leaf])
        continue;
      if (auto missing = lacks(ranks[leaf], tensor, tensor & queries ? first : 0, ends[leaf]))
        return refuse("{0}: rank {1} computes leaf {2} of {3} and lacks rows {4} to {5} of {6}",
                      pass, ranks[leaf], leaf, headName(), missing->first, missing->second,
                      nameTensors(tensor));
    }
  }
  return llvm::Error::success();
}

/// Result rows of a leaf: each comes home once, from the rank that computed it.
llvm::Error RowCheck::checkComingHome(StringRef pass, const Phase &phase, ArrayRef<int32_t> indices,
                                      uint32_t what) {
  for (uint32_t tensors = what & (pass == "forward" ? ofForward : ofBackward); tensors;
       tensors &= tensors - 1) {
    uint32_t tensor = tensors & ~(tensors - 1);
    RowSet came;
    for (int64_t leaf = 0; leaf < leaves; ++leaf)
      for (const Home &home : world.homesOf(document)) {
        int64_t first = std::max(leaf ? ends[leaf - 1] : 0, home.first);
        if (int64_t end = std::min(ends[leaf], home.end); first < end && home.rank == ranks[leaf])
          came.add(first, end);
      }
    for (int32_t number : indices) {
      const Message &message = phase.messages[number];
      if (!isOfHead(message) || !(message.what & tensor))
        continue;
      auto at = [&] { return placeOf(pass, phase, number); };
      for (int64_t leaf = 0; leaf < leaves; ++leaf)
        if (std::max(leaf ? ends[leaf - 1] : 0, message.first) <
                std::min(ends[leaf], message.end) &&
            ranks[leaf] != message.from)
          return refuse("{0}: leaf {1} of {2}, whose {3} it carries, is computed by rank {4}", at(),
                        leaf, headName(), nameTensors(tensor), ranks[leaf]);
      if (!isHome(message.to, message.first, message.end))
        return refuse("{0}: rows {1} to {2} of {3}, {4}, are not at home on rank {5}", at(),
                      message.first, message.end, nameTensors(tensor), headName(), message.to);
      if (!came.add(message.first, message.end))
        return refuse("{0}: of rows {1} to {2} of {3}, {4}, some have come home before", at(),
                      message.first, message.end, nameTensors(tensor), headName());
    }
    if (auto missing = came.missing(0, ends.back()))
      return refuse("{0}: rows {1} to {2} of {3}, {4}, do not come home", pass, missing->first,
                    missing->second, nameTensors(tensor), headName());
  }
  return llvm::Error::success();
}
