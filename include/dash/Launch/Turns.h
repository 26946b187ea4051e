//===- Turns.h - what the counters of a launch say --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every worker takes and gives its turns in the order of its list, so counters and order together
// say which turns are given, and which task each worker is at.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_TURNS_H
#define DASH_LAUNCH_TURNS_H

#include "dash/Launch/Manifest.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dash::launch {

/// A turn, and the task that has it.
struct TurnTask {
  int64_t chain = -1; ///< numbered through all regions of counters; -1: no task
  int64_t turn = 0;
  int64_t worker = 0;
  int64_t item = 0; ///< of the worker's list
  int64_t step = 0; ///< of the item; behind its steps come the pieces of dK and dV
  int64_t steps = 0;
};

/// What a worker has done.
struct TurnWorker {
  int64_t total = 0, given = 0;
  int64_t givenBehind = 0; ///< behind `next`, which stands before them on the list
  TurnTask next;           ///< the first one that is not given
  TurnTask holder;         ///< has the turn that `next` waits for: `next` itself where it is due
  int64_t root = -1;       ///< the worker where the waits end; -1 where all turns are given
  int64_t distance = 0;    ///< waits from here to there
  int64_t behind = 0;      ///< other workers whose waits end here
};

/// Counters that are read beside the order that they belong to.
class Turns {
public:
  /// regions: the bytes of the manifest's regions, in its order. Only counters and the order are
  /// looked at, and all others may be empty. values: sizes and what is derived from them.
  static Outcome read(const Manifest &manifest, const Values &values,
                      llvm::ArrayRef<llvm::StringRef> regions, Turns &result);

  /// Whether `read` looks at a region.
  static bool needs(const Manifest &manifest, const Region &region);

  int64_t getGiven() const { return given; }
  int64_t getTotal() const { return total; }
  llvm::ArrayRef<TurnWorker> getWorkers() const { return workers; }
  /// Workers that have a turn and have not given it, those that most others wait for first.
  llvm::ArrayRef<int64_t> getRoots() const { return roots; }

  /// For people, in lines. before: what was read of the same launch some time earlier.
  std::string describe(const Turns *before = nullptr) const;
  /// For programs: an object of JSON.
  std::string toJson() const;

private:
  friend class TurnsReader;

  /// The tile whose turns a chain has, such as "q tile 5 of dq (sequence 0, head 1)".
  std::string nameOf(int64_t chain) const;
  std::string describeRoot(int64_t worker) const;

  /// Counters of one tensor.
  struct Sums {
    std::string tensor;
    bool isOfItems;               ///< of dK and dV, in pieces
    int64_t first, count;         ///< chains
    int64_t heads, tiles, pieces; ///< of a sequence, or of a list
  };
  const Sums &sumsOf(int64_t chain) const;

  std::vector<Sums> sums;
  std::vector<int32_t> lengths, progress; ///< of chains: turns in all, and those that are given
  std::vector<int64_t> firstTiles;        ///< of a list, by sequence
  std::vector<TurnWorker> workers;
  std::vector<int64_t> roots;
  int64_t given = 0, total = 0, minWorkers = 1;
};

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_TURNS_H
