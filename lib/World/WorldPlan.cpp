//===- WorldPlan.cpp - which rank computes what, and what travels ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

std::string mlir::dash::world::nameTensors(uint32_t what) {
  static constexpr const char *names[] = {"Q", "dO", "LSE",  "delta", "K", "V",
                                          "O", "dQ", "sums", "dK",    "dV"};
  std::string text;
  for (auto [bit, name] : llvm::enumerate(names))
    if (what & (1u << bit))
      text += (text.empty() ? "" : "+") + std::string(name);
  return text.empty() ? "nothing" : text;
}

int64_t mlir::dash::world::bytesOf(const World &world, uint32_t what, int64_t kvHeads,
                                   int64_t rows) {
  int64_t queries = world.group(), columns = world.problem().headDim;
  int64_t perRow = 2 * columns * queries * llvm::popcount(what & (Q | DO | O | DQ)) +
                   4 * queries * llvm::popcount(what & (LSE | Delta)) +
                   2 * columns * llvm::popcount(what & (K | V | DK | DV)) +
                   8 * columns * llvm::popcount(what & Sums);
  return perRow * kvHeads * rows;
}

std::vector<Run> mlir::dash::world::runsOf(const World &world, const Owners &owners) {
  std::vector<Run> runs;
  for (int64_t document = 0, unit = 0; document < world.numDocuments(); ++document)
    for (int64_t head = 0; head < world.problem().kvHeads; ++head)
      for (int64_t leaf = 0, leaves = world.numLeaves(document); leaf < leaves; ++leaf, ++unit) {
        if (leaf > 0 && runs.back().rank == owners[unit])
          runs.back().endLeaf = leaf + 1;
        else
          runs.push_back({owners[unit], document, head, leaf, leaf + 1});
      }
  return runs;
}

void mlir::dash::world::beginPhases(WorldPlan &plan) {
  auto begin = [](Phase &phase, const char *name, Group group) {
    phase.name = name;
    phase.group = group;
  };
  begin(plan.forward[ForwardInputs], "inputs", Group::All);
  begin(plan.forward[ForwardRelays], "relays", Group::Node);
  begin(plan.forward[ForwardOutputs], "outputs", Group::All);
  begin(plan.backward[BackwardInputs], "inputs", Group::All);
  begin(plan.backward[BackwardRelays], "relays", Group::Node);
  begin(plan.backward[BackwardSums], "sums", Group::Node);
  begin(plan.backward[Gradients], "gradients", Group::All);
}

std::vector<int64_t> mlir::dash::world::sumBytesOf(const World &world, ArrayRef<Run> runs) {
  std::vector<int64_t> most(world.problem().ranks);
  std::vector<int64_t> live;
  for (const Run &run : runs) {
    if (world.numLeaves(run.document) == 1)
      continue; // rounded by the kernel
    // Like a binary counter: when a leaf comes, the pairs that it completes become one.
    live.clear();
    int64_t rows = 0, peak = 0;
    for (int64_t leaf = run.firstLeaf; leaf < run.endLeaf; ++leaf) {
      live.push_back(world.leafEnd(run.document, leaf));
      rows += live.back();
      peak = std::max(peak, rows);
      for (int64_t size = 2; (leaf + 1) % size == 0 && leaf + 1 - size >= run.firstLeaf;
           size *= 2) {
        rows -= live[live.size() - 2];
        live.erase(live.end() - 2);
      }
    }
    most[run.rank] = std::max(most[run.rank], bytesOf(world, Sums, 1, peak));
  }
  return most;
}

int64_t mlir::dash::world::memoryOf(const World &world, const WorldPlan &plan, int64_t rank) {
  auto both = [&](const Phase &phase) { return phase.sendBytes[rank] + phase.receiveBytes[rank]; };
  int64_t forward = 0, backward = plan.sumBytes[rank];
  for (const Phase &phase : plan.forward)
    forward += both(phase);
  for (const Phase &phase : plan.backward)
    backward += both(phase);
  return std::max(forward, backward + plan.keptBytes[rank]);
}
