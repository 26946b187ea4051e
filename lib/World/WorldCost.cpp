//===- WorldCost.cpp - predict the time of a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldCost.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir::dash::world;

void Traffic::add(const World &world, int64_t from, int64_t to, int64_t bytes) {
  bool isNear = world.nodeOf(from) == world.nodeOf(to);
  (isNear ? linkOut : networkOut)[from] += bytes;
  (isNear ? linkIn : networkIn)[to] += bytes;
}

/// Bytes over GB/s.
static int64_t toPicoseconds(double bytes, double perNanosecond) {
  return int64_t(bytes * 1000 / perNanosecond);
}

int64_t mlir::dash::world::foldTime(const World &world, int64_t kvHeads, int64_t rows) {
  return toPicoseconds(3.0 * bytesOf(world, Sums, kvHeads, rows), world.problem().prices.memory);
}

/// Reads a complete sum, writes dK and dV.
static int64_t roundTime(const World &world, int64_t kvHeads, int64_t rows) {
  return toPicoseconds(bytesOf(world, Sums, kvHeads, rows) + bytesOf(world, DK | DV, kvHeads, rows),
                       world.problem().prices.memory);
}

int64_t mlir::dash::world::unitTime(const World &world, int64_t document, int64_t leaf) {
  int64_t time = world.leafTime(document, leaf);
  if (leaf == 0)
    return time;
  // The left sibling of the largest node that begins with this leaf ends just before it.
  return time + foldTime(world, 1, world.leafFirst(document, leaf));
}

static PassLoad loadOf(const World &world, const WorldPlan &plan, ArrayRef<Phase> phases) {
  PassLoad load;
  int64_t ranks = world.problem().ranks;
  load.compute.resize(ranks);
  load.folds.resize(ranks);
  std::vector<bool> isPacking(ranks);
  for (const Run &run : plan.runs)
    for (int64_t leaf = run.firstLeaf; leaf < run.endLeaf; ++leaf) {
      load.compute[run.rank] += world.leafTime(run.document, leaf);
      if (world.problem().documents[run.document] < world.cut().packedBelow)
        isPacking[run.rank] = true;
    }
  // Packed documents share a launch.
  for (int64_t rank = 0; rank < ranks; ++rank)
    load.compute[rank] += isPacking[rank] ? world.problem().prices.launch : 0;
  for (const Phase &phase : phases) {
    Traffic traffic(ranks);
    traffic.name = phase.name;
    for (const Message &message : phase.messages)
      traffic.add(world, message.from, message.to, message.bytes);
    load.phases.push_back(std::move(traffic));
  }
  return load;
}

static void slowDown(const World &world, std::vector<int64_t> &times) {
  for (auto [rank, time] : llvm::enumerate(times))
    time = time * 1000 / world.speedOf(rank);
}

PassLoad mlir::dash::world::forwardLoad(const World &world, const WorldPlan &plan) {
  PassLoad load = loadOf(world, plan, plan.forward);
  for (int64_t &time : load.compute)
    time = int64_t(double(time) * world.problem().prices.forward);
  slowDown(world, load.compute);
  return load;
}

std::vector<int64_t> mlir::dash::world::foldTimes(const World &world, ArrayRef<Fold> folds) {
  std::vector<int64_t> times(world.problem().ranks);
  for (const Fold &fold : folds) {
    // Rows that the left child lacks are copied.
    int64_t leaves = world.numLeaves(fold.document);
    int64_t left = world.leafEnd(fold.document, fold.node.left().endLeaf(leaves) - 1);
    if (int64_t rows = std::min(fold.end, left) - fold.first; rows > 0)
      times[fold.rank] += foldTime(world, fold.kvHeads, rows);
    if (fold.node == Node::root(leaves))
      times[fold.rank] += roundTime(world, fold.kvHeads, fold.end - fold.first);
  }
  return times;
}

PassLoad mlir::dash::world::backwardLoad(const World &world, const WorldPlan &plan) {
  PassLoad load = loadOf(world, plan, plan.backward);
  slowDown(world, load.compute);
  load.folds = foldTimes(world, plan.folds);
  return load;
}

int64_t mlir::dash::world::phaseTime(const World &world, const Traffic &traffic) {
  const WorldPrices &prices = world.problem().prices;
  auto most = [](const std::vector<int64_t> &in, const std::vector<int64_t> &out) {
    return double(std::max(*llvm::max_element(in), *llvm::max_element(out)));
  };
  double link = most(traffic.linkIn, traffic.linkOut);
  double network = most(traffic.networkIn, traffic.networkOut);
  if (link == 0 && network == 0)
    return 0;
  return prices.phase +
         std::max(toPicoseconds(link, prices.nvlink), toPicoseconds(network, prices.network));
}

Figures mlir::dash::world::figuresOf(const World &world, const PassLoad &load, bool isForward) {
  Figures figures;
  int64_t ranks = world.problem().ranks, speeds = 0, fastest = 0;
  double work = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t speed = world.speedOf(rank);
    speeds += speed;
    fastest = std::max(fastest, speed);
    work += double(load.time(rank)) * speed;
    figures.compute = std::max(figures.compute, load.time(rank));
  }
  figures.balance = work / speeds / figures.compute;
  for (const Traffic &phase : load.phases) {
    figures.exchange += phaseTime(world, phase);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      figures.meanIn += double(phase.linkIn[rank] + phase.networkIn[rank]) / ranks;
      figures.meanOut += double(phase.linkOut[rank] + phase.networkOut[rank]) / ranks;
      figures.meanNetwork += double(phase.networkIn[rank]) / ranks;
    }
  }
  figures.layer = std::max(figures.compute, figures.exchange);
  figures.hidden =
      figures.exchange <= figures.compute ? 1 : double(figures.compute) / figures.exchange;
  double share = isForward ? world.problem().prices.forward : 1;
  figures.even = int64_t(double(world.totalTime()) * share * 1000 / speeds);
  figures.uncut = int64_t(double(world.uncutTime()) * share * 1000 / speeds);
  figures.overEven = double(figures.layer) / figures.even;
  figures.overUncut = double(figures.layer) / figures.uncut;
  int64_t largest = 0;
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf)
      largest = std::max(largest, world.leafTime(document, leaf));
  figures.bound = std::max(figures.even, int64_t(share * double(largest) * 1000 / fastest));
  return figures;
}
