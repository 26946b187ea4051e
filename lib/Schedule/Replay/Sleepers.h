//===- Sleepers.h - which worker waits for which turn -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPLAY_SLEEPERS_H
#define DASH_LIB_SCHEDULE_REPLAY_SLEEPERS_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::dash {

/// Waiting workers, by chain and turn. An open-addressing table that stays small, because a worker
/// waits for one turn at a time.
class Sleepers {
public:
  /// False if another worker already waits for this turn.
  bool insert(int64_t chain, int32_t turn, int32_t worker) {
    if (2 * (size + 1) > entries.size())
      grow();
    std::size_t place = findPlace(chain, turn);
    if (entries[place].worker >= 0)
      return false;
    entries[place] = {chain, turn, worker};
    ++size;
    return true;
  }

  /// Removes and returns the worker that waits for this turn; -1 if there is none.
  int32_t take(int64_t chain, int32_t turn) {
    std::size_t place = findPlace(chain, turn);
    int32_t worker = entries[place].worker;
    if (worker < 0)
      return -1;
    // Moves up the entries that follow without a gap, if they may stand there.
    std::size_t mask = entries.size() - 1;
    for (std::size_t gap = place, at = place;;) {
      at = (at + 1) & mask;
      if (entries[at].worker < 0) {
        entries[gap] = {};
        break;
      }
      std::size_t home = homeOf(entries[at].chain, entries[at].turn);
      if (((at - home) & mask) >= ((at - gap) & mask)) {
        entries[gap] = entries[at];
        gap = at;
      }
    }
    --size;
    return worker;
  }

  bool empty() const { return size == 0; }

private:
  struct Entry {
    int64_t chain = 0;
    int32_t turn = 0, worker = -1;
  };

  std::size_t homeOf(int64_t chain, int32_t turn) const {
    uint64_t key = uint64_t(chain) * 0x9E3779B97F4A7C15 + uint32_t(turn);
    return (key * 0xD6E8FEB86659FD93 >> 32) & (entries.size() - 1);
  }
  std::size_t findPlace(int64_t chain, int32_t turn) const {
    std::size_t place = homeOf(chain, turn);
    while (entries[place].worker >= 0 &&
           (entries[place].chain != chain || entries[place].turn != turn))
      place = (place + 1) & (entries.size() - 1);
    return place;
  }
  void grow() {
    std::vector<Entry> old = std::exchange(entries, std::vector<Entry>(2 * entries.size()));
    for (const Entry &entry : old)
      if (entry.worker >= 0)
        entries[findPlace(entry.chain, entry.turn)] = entry;
  }

  std::vector<Entry> entries = std::vector<Entry>(64);
  std::size_t size = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPLAY_SLEEPERS_H
