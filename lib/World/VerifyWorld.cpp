//===- VerifyWorld.cpp - prove a plan --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks runs, the form of messages and folds, buffers and memory. VerifyRows.cpp checks what
// messages carry. Nothing here calls the functions that make plans: leaves, bytes and places are
// derived independently.
//
//===----------------------------------------------------------------------===//

#include "dash/World/VerifyWorld.h"
#include "VerifyState.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir::dash::world;

LeafEnds::LeafEnds(const World &world) : heads(world.problem().kvHeads) {
  const Cut &cut = world.cut();
  int64_t group = world.group(), fewest = cut.step;
  while (fewest * group < cut.least && fewest < cut.least)
    fewest += cut.step;
  std::vector<int64_t> shared;
  int64_t equalWork = 0, longest = *llvm::max_element(world.problem().documents);
  while (shared.empty() || shared.back() < longest) {
    int64_t leaf = shared.size() + 1;
    while ((equalWork + cut.step) * (equalWork + cut.step) <= leaf * cut.area / group)
      equalWork += cut.step;
    shared.push_back(std::max(equalWork, (shared.empty() ? 0 : shared.back()) + fewest));
  }
  for (int64_t rows : world.problem().documents) {
    for (size_t leaf = 0; leaf < shared.size() && rows - shared[leaf] >= fewest; ++leaf)
      ends.push_back(shared[leaf]);
    ends.push_back(rows);
    begin.push_back(ends.size());
  }
}

static llvm::Error checkRuns(const World &world, const WorldPlan &plan, const LeafEnds &ends,
                             std::vector<int32_t> &servers) {
  const WorldProblem &problem = world.problem();
  for (auto [number, run] : llvm::enumerate(plan.runs)) {
    if (run.rank < 0 || run.rank >= problem.ranks)
      return refuse("run {0}: expected ranks 0 to {1}, found {2}", number, problem.ranks - 1,
                    run.rank);
    if (run.document < 0 || run.document >= world.numDocuments())
      return refuse("run {0}: expected documents 0 to {1}, found {2}", number,
                    world.numDocuments() - 1, run.document);
    if (run.kvHead < 0 || run.kvHead >= problem.kvHeads)
      return refuse("run {0}: expected kv heads 0 to {1}, found {2}", number, problem.kvHeads - 1,
                    run.kvHead);
    int64_t leaves = ends.of(run.document).size();
    if (run.firstLeaf < 0 || run.firstLeaf >= run.endLeaf || run.endLeaf > leaves)
      return refuse("run {0}: expected some of the {1} leaves of document {2}, found {3} to {4}",
                    number, leaves, run.document, run.firstLeaf, run.endLeaf);
    for (int64_t leaf = run.firstLeaf; leaf < run.endLeaf; ++leaf) {
      int32_t &server = servers[ends.firstUnit(run.document, run.kvHead) + leaf];
      if (server >= 0)
        return refuse(
            "document {0}, kv head {1}, leaf {2} is computed twice, by rank {3} and by rank {4}",
            run.document, run.kvHead, leaf, server, run.rank);
      server = run.rank;
    }
  }
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (int64_t head = 0; head < problem.kvHeads; ++head)
      for (int64_t leaf = 0, leaves = ends.of(document).size(); leaf < leaves; ++leaf)
        if (servers[ends.firstUnit(document, head) + leaf] < 0)
          return refuse("document {0}, kv head {1}, leaf {2} is computed by no rank", document,
                        head, leaf);
  return llvm::Error::success();
}

/// Includes padding.
static int64_t expectedBytes(const World &world, const Message &message) {
  int64_t columns = world.problem().headDim, queries = world.group(), perRow = 0;
  for (uint32_t tensor : {Q, DO, O, DQ})
    perRow += message.what & tensor ? 2 * columns * queries : 0;
  for (uint32_t tensor : {LSE, Delta})
    perRow += message.what & tensor ? 4 * queries : 0;
  for (uint32_t tensor : {K, V, DK, DV})
    perRow += message.what & tensor ? 2 * columns : 0;
  perRow += message.what & Sums ? 2 * 4 * columns : 0;
  int64_t bytes = perRow * message.kvHeads * (message.end - message.first);
  return (bytes + alignment - 1) / alignment * alignment;
}

/// `kinds` are the sets of tensors that the phase may carry. Any non-empty subset of one is
/// allowed.
static llvm::Error checkForm(const World &world, StringRef pass, const Phase &phase,
                             ArrayRef<uint32_t> kinds) {
  const WorldProblem &problem = world.problem();
  for (auto [number, message] : llvm::enumerate(phase.messages)) {
    auto at = [&, number = number] { return placeOf(pass, phase, number); };
    if (message.from < 0 || message.from >= problem.ranks || message.to < 0 ||
        message.to >= problem.ranks)
      return refuse("{0}: expected ranks 0 to {1}", at(), problem.ranks - 1);
    if (message.from == message.to)
      return refuse("{0}: a rank has no message for itself", at());
    if (phase.group == Group::Node && world.nodeOf(message.from) != world.nodeOf(message.to))
      return refuse("{0}: expected ranks of one node of {1}", at(), problem.ranksPerNode);
    if (message.document < 0 || message.document >= world.numDocuments())
      return refuse("{0}: expected documents 0 to {1}, found {2}", at(), world.numDocuments() - 1,
                    message.document);
    if (message.kvHead < 0 || message.kvHeads < 1 ||
        message.kvHead > problem.kvHeads - message.kvHeads)
      return refuse("{0}: expected kv heads 0 to {1}, found {2} from {3} on", at(),
                    problem.kvHeads - 1, message.kvHeads, message.kvHead);
    int64_t rows = problem.documents[message.document];
    if (message.first < 0 || message.first >= message.end || message.end > rows)
      return refuse("{0}: expected some of the {1} rows of document {2}, found {3} to {4}", at(),
                    rows, message.document, message.first, message.end);
    auto fits = [&, what = message.what](uint32_t kind) { return what && (what & ~kind) == 0; };
    if (llvm::none_of(kinds, fits)) {
      std::string expected;
      for (uint32_t kind : kinds)
        expected += (expected.empty() ? "" : " or ") + nameTensors(kind);
      return refuse("{0}: expected {1}, found {2}", at(), expected, nameTensors(message.what));
    }
    if (int64_t bytes = expectedBytes(world, message); message.bytes != bytes)
      return refuse("{0}: {1} of {2} rows and {3} kv heads take {4} bytes, found {5}", at(),
                    nameTensors(message.what), message.end - message.first, message.kvHeads, bytes,
                    message.bytes);
  }
  return llvm::Error::success();
}

/// No two messages share bytes of a buffer. Messages of one partner are contiguous and sorted by
/// rank, as an all-to-all exchange with splits needs them.
static llvm::Error checkBuffers(const World &world, StringRef pass, const Phase &phase,
                                bool isSending) {
  const std::vector<int64_t> &sizes = isSending ? phase.sendBytes : phase.receiveBytes;
  int64_t ranks = world.problem().ranks;
  if (int64_t(sizes.size()) != ranks)
    return refuse("{0} phase '{1}': expected buffers of {2} ranks, found {3}", pass, phase.name,
                  ranks, sizes.size());
  auto owner = [&](const Message &message) { return isSending ? message.from : message.to; };
  auto partner = [&](const Message &message) { return isSending ? message.to : message.from; };
  auto offset = [&](const Message &message) {
    return isSending ? message.sendOffset : message.receiveOffset;
  };
  const char *what = isSending ? "send" : "receive";
  std::vector<int64_t> begin(ranks + 1);
  for (const Message &message : phase.messages)
    ++begin[owner(message) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> order(phase.messages.size());
  std::vector<int64_t> place = begin;
  for (auto [number, message] : llvm::enumerate(phase.messages))
    order[place[owner(message)]++] = number;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto mine = llvm::MutableArrayRef(order).slice(begin[rank], begin[rank + 1] - begin[rank]);
    auto isInFront = [&](int32_t a, int32_t b) {
      return offset(phase.messages[a]) < offset(phase.messages[b]);
    };
    if (!llvm::is_sorted(mine, isInFront))
      llvm::sort(mine, isInFront);
    int64_t end = 0, split = 0;
    int32_t last = -1;
    for (int32_t number : mine) {
      const Message &message = phase.messages[number];
      auto at = [&] { return placeOf(pass, phase, number); };
      if (offset(message) < end)
        return refuse("{0}: its bytes in the {1} buffer begin at {2}, where others reach to {3}",
                      at(), what, offset(message), end);
      if (partner(message) < last)
        return refuse("{0}: the {1} buffer has rank {2} behind rank {3}, expected ranks in order",
                      at(), what, partner(message), last);
      if (offset(message) != end)
        return refuse(
            "{0}: its bytes in the {1} buffer begin at {2}, expected {3}, where those in front end",
            at(), what, offset(message), end);
      split = (partner(message) == last ? split : 0) + message.bytes;
      last = partner(message);
      if (split / 4 > mostWords)
        return refuse(
            "{0}: {1} bytes between two ranks in one phase are more than 2^31 - 1 words; use more "
            "ranks or fewer tokens",
            at(), split);
      end += message.bytes;
    }
    if (sizes[rank] != end)
      return refuse("{0} phase '{1}': the {2} buffer of rank {3} takes {4} bytes, found {5}", pass,
                    phase.name, what, rank, end, sizes[rank]);
  }
  return llvm::Error::success();
}

static llvm::Error checkFoldForm(const World &world, const WorldPlan &plan, const LeafEnds &ends) {
  const WorldProblem &problem = world.problem();
  for (auto [number, fold] : llvm::enumerate(plan.folds)) {
    if (fold.rank < 0 || fold.rank >= problem.ranks || fold.document < 0 ||
        fold.document >= world.numDocuments() || fold.kvHead < 0 || fold.kvHeads < 1 ||
        fold.kvHead > problem.kvHeads - fold.kvHeads)
      return refuse("fold {0}: rank {1}, document {2} or kv heads {3} to {4} do not exist", number,
                    fold.rank, fold.document, fold.kvHead, fold.kvHead + fold.kvHeads);
    int64_t leaves = ends.of(fold.document).size();
    if (fold.node.level < 1 || fold.node.level > 40 || fold.node.index < 0 ||
        fold.node.index >= leaves || !fold.node.isSum(leaves))
      return refuse("fold {0}: node {1}.{2} of document {3} with {4} leaves has no two children",
                    number, fold.node.level, fold.node.index, fold.document, leaves);
    int64_t rows = ends.of(fold.document)[fold.node.endLeaf(leaves) - 1];
    if (fold.first < 0 || fold.first >= fold.end || fold.end > rows)
      return refuse("fold {0}: expected some of the {1} rows of node {2}.{3}, found {4} to {5}",
                    number, rows, fold.node.level, fold.node.index, fold.first, fold.end);
  }
  return llvm::Error::success();
}

/// Heads that are kept exist, once each. A message has only such heads or none of them, and a
/// backward brings their dO and delta alone.
static llvm::Error checkKept(const World &world, const WorldPlan &plan) {
  const WorldProblem &problem = world.problem();
  int64_t document = 0, head = 0;
  for (auto [number, heads] : llvm::enumerate(plan.kept)) {
    if (heads.document < 0 || heads.document >= world.numDocuments() || heads.kvHead < 0 ||
        heads.kvHeads < 1 || heads.kvHead > problem.kvHeads - heads.kvHeads)
      return refuse("kept heads {0}: document {1} or kv heads {2} to {3} do not exist", number,
                    heads.document, heads.kvHead, heads.kvHead + heads.kvHeads);
    if (std::pair(heads.document, heads.kvHead) < std::pair(document, head))
      return refuse("kept heads {0}: kv head {1} of document {2} comes twice, or out of order",
                    number, heads.kvHead, heads.document);
    document = heads.document;
    head = heads.kvHead + heads.kvHeads;
  }
  KeptUnits kept(world, plan.kept);
  auto check = [&](StringRef pass, const Phase &phase, uint32_t allowed) -> llvm::Error {
    for (auto [number, message] : llvm::enumerate(phase.messages)) {
      int64_t count = 0;
      for (int64_t head = 0; head < message.kvHeads; ++head)
        count += kept.has(message.document, message.kvHead + head);
      if (count != 0 && count != message.kvHeads)
        return refuse("{0}: {1} of its {2} kv heads are kept, expected all or none",
                      placeOf(pass, phase, number), count, message.kvHeads);
      if (count != 0 && (message.what & ~allowed))
        return refuse("{0}: expected {1} of kv heads that are kept, found {2}",
                      placeOf(pass, phase, number), nameTensors(allowed),
                      nameTensors(message.what));
    }
    return llvm::Error::success();
  };
  for (ForwardPhase phase : {ForwardInputs, ForwardRelays})
    if (llvm::Error error = check("forward", plan.forward[phase], Q | K | V))
      return error;
  if (llvm::Error error = check("backward", plan.backward[BackwardInputs], DO | Delta))
    return error;
  return check("backward", plan.backward[BackwardRelays], 0);
}

/// What stays with each rank: what it received for kept heads, and their LSE where its row is at
/// home elsewhere.
static std::vector<int64_t> expectedKept(const World &world, const WorldPlan &plan,
                                         const LeafEnds &ends, ArrayRef<int32_t> servers) {
  std::vector<int64_t> bytes(world.problem().ranks);
  KeptUnits kept(world, plan.kept);
  for (ForwardPhase phase : {ForwardInputs, ForwardRelays})
    for (const Message &message : plan.forward[phase].messages)
      if (kept.has(message.document, message.kvHead))
        bytes[message.to] += message.bytes;
  for (const KeptHeads &heads : plan.kept)
    for (int64_t head = heads.kvHead; head < heads.kvHead + heads.kvHeads; ++head) {
      int64_t first = 0;
      for (auto [leaf, end] : llvm::enumerate(ends.of(heads.document))) {
        int32_t server = servers[ends.firstUnit(heads.document, head) + leaf];
        for (const Home &home : world.homesOf(heads.document))
          if (home.rank != server)
            bytes[server] +=
                4 * world.group() *
                std::max<int64_t>(0, std::min(end, home.end) - std::max(first, home.first));
        first = end;
      }
    }
  return bytes;
}

/// While leaf n of a run is added, the sums of the largest aligned nodes of the leaves before it
/// are live.
static llvm::Error checkMemory(const World &world, const WorldPlan &plan, const LeafEnds &ends,
                               ArrayRef<int32_t> servers) {
  int64_t ranks = world.problem().ranks;
  std::vector<int64_t> needed(ranks);
  for (const Run &run : plan.runs) {
    ArrayRef<int64_t> of = ends.of(run.document);
    if (of.size() == 1)
      continue;
    for (int64_t leaf = run.firstLeaf; leaf < run.endLeaf; ++leaf) {
      int64_t rows = of[leaf];
      for (int64_t first = run.firstLeaf, size; first < leaf; first += size) {
        for (size = 1; first % (2 * size) == 0 && first + 2 * size <= leaf;)
          size *= 2;
        rows += of[first + size - 1];
      }
      needed[run.rank] = std::max(needed[run.rank], rows * 2 * 4 * world.problem().headDim);
    }
  }
  if (int64_t(plan.sumBytes.size()) != ranks)
    return refuse("expected bytes for sums of {0} ranks, found {1}", ranks, plan.sumBytes.size());
  if (int64_t(plan.keptBytes.size()) != ranks)
    return refuse("expected bytes that are kept of {0} ranks, found {1}", ranks,
                  plan.keptBytes.size());
  int64_t limit = world.problem().memory, budget = world.problem().kept;
  std::vector<int64_t> kept = expectedKept(world, plan, ends, servers);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (plan.keptBytes[rank] != kept[rank])
      return refuse("rank {0}: what is kept takes {1} bytes, found {2}", rank, kept[rank],
                    plan.keptBytes[rank]);
    if (budget != keepsAll && kept[rank] > budget)
      return refuse("rank {0}: keeps {1} bytes from forward to backward, of {2} that it may", rank,
                    kept[rank], budget);
    if (plan.sumBytes[rank] != needed[rank])
      return refuse("rank {0}: sums that are under way take {1} bytes, found {2}", rank,
                    needed[rank], plan.sumBytes[rank]);
    if (int64_t bytes = memoryOf(world, plan, rank); limit && bytes > limit)
      return refuse("rank {0}: buffers take {1} bytes, of {2} that it may use; use more ranks or "
                    "fewer tokens{3}",
                    rank, bytes, limit, kept[rank] ? ", or keep fewer bytes" : "");
  }
  return llvm::Error::success();
}

llvm::Error mlir::dash::world::verifyWorld(const World &world, const WorldPlan &plan) {
  LeafEnds ends(world);
  const WorldProblem &problem = world.problem();
  std::vector<int32_t> servers(ends.firstUnit(world.numDocuments() - 1, problem.kvHeads), -1);
  if (llvm::Error error = checkRuns(world, plan, ends, servers))
    return error;
  struct {
    StringRef pass;
    const Phase &phase;
    std::vector<uint32_t> kinds;
  } const phases[] = {
      {"forward", plan.forward[ForwardInputs], {Q | K | V}},
      {"forward", plan.forward[ForwardRelays], {K | V}},
      {"forward", plan.forward[ForwardOutputs], {O | LSE}},
      {"backward", plan.backward[BackwardInputs], {Q | DO | LSE | Delta | K | V}},
      {"backward", plan.backward[BackwardRelays], {K | V}},
      {"backward", plan.backward[BackwardSums], {Sums}},
      {"backward", plan.backward[Gradients], {DQ, Sums, DK | DV}},
  };
  for (const auto &[pass, phase, kinds] : phases)
    if (llvm::Error error = checkForm(world, pass, phase, kinds))
      return error;
  if (llvm::Error error = checkKept(world, plan))
    return error;
  if (llvm::Error error = checkFoldForm(world, plan, ends))
    return error;
  for (const auto &[pass, phase, kinds] : phases)
    for (bool isSending : {true, false})
      if (llvm::Error error = checkBuffers(world, pass, phase, isSending))
        return error;
  if (llvm::Error error = checkMemory(world, plan, ends, servers))
    return error;
  return RowCheck(world, plan, ends, servers).check();
}
