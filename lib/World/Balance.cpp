//===- Balance.cpp - move leaves until all are equally full ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Balance.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir::dash::world;

namespace {

/// The bins in order of their load, and the units of each.
class Balancer {
public:
  explicit Balancer(Bins &bins) : bins(bins), inBin(bins.fixed.size()), times(bins.fixed) {
    for (auto [i, unit] : llvm::enumerate(bins.units)) {
      inBin[bins.bin[i]].push_back(i);
      times[bins.bin[i]] += unit.time;
    }
    for (size_t bin = 0; bin < times.size(); ++bin)
      byFullness.insert({fullness(bin, 0), int32_t(bin)});
  }

  void run(int64_t aim) {
    // Each step empties the fullest bin; more than a few steps for each bin are never needed.
    for (size_t step = 0; step < 32 * times.size(); ++step) {
      auto [most, fullest] = *byFullness.rbegin();
      if (most <= aim)
        return;
      bool isBetter = false;
      size_t tries = 0;
      for (auto next = byFullness.begin(); !isBetter && next->second != fullest && tries < 8;
           ++tries)
        isBetter = improve(fullest, (next++)->second);
      if (!isBetter)
        return;
    }
  }

private:
  /// The time of a bin at its speed, with `more` added.
  int64_t fullness(int32_t bin, int64_t more) const {
    return (times[bin] + more) * 1000 / bins.speeds[bin];
  }

  /// Moves the unit, or exchanges the pair, that most reduces the fuller of the two bins; false if
  /// none helps.
  bool improve(int32_t from, int32_t to) {
    auto isShorter = [&](int32_t a, int32_t b) {
      return std::pair(bins.units[a].time, a) < std::pair(bins.units[b].time, b);
    };
    std::vector<int32_t> &theirs = inBin[to];
    llvm::sort(theirs, isShorter);
    int64_t best = fullness(from, 0);
    int32_t give = -1, take = -1;
    auto consider = [&](int32_t mine, int32_t other) {
      int64_t more = bins.units[mine].time - (other < 0 ? 0 : bins.units[other].time);
      if (more <= 0)
        return;
      int64_t after = std::max(fullness(from, -more), fullness(to, more));
      if (std::tuple(after, mine, other) >= std::tuple(best, give, take) ||
          after >= fullness(from, 0))
        return;
      best = after;
      give = mine;
      take = other;
    };
    for (int32_t mine : inBin[from]) {
      consider(mine, -1);
      // The exchange partner is shorter by the amount that makes both bins equally full.
      int64_t wanted = bins.units[mine].time - (times[from] - times[to]) / 2;
      auto above = llvm::partition_point(
          theirs, [&](int32_t other) { return bins.units[other].time < wanted; });
      if (above != theirs.end())
        consider(mine, *above);
      if (above != theirs.begin())
        consider(mine, *std::prev(above));
    }
    if (give < 0)
      return false;
    move(give, from, to);
    if (take >= 0)
      move(take, to, from);
    return true;
  }

  void move(int32_t unit, int32_t from, int32_t to) {
    for (int32_t bin : {from, to})
      byFullness.erase({fullness(bin, 0), bin});
    times[from] -= bins.units[unit].time;
    times[to] += bins.units[unit].time;
    for (int32_t bin : {from, to})
      byFullness.insert({fullness(bin, 0), bin});
    llvm::erase(inBin[from], unit);
    inBin[to].push_back(unit);
    bins.bin[unit] = to;
  }

  Bins &bins;
  std::vector<std::vector<int32_t>> inBin;
  std::vector<int64_t> times;
  std::set<std::pair<int64_t, int32_t>> byFullness;
};

} // namespace

void mlir::dash::world::balance(Bins &bins, int64_t aim) { Balancer(bins).run(aim); }
