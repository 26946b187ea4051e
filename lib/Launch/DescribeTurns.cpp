//===- DescribeTurns.cpp - which worker holds a launch up -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Turns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::dash::launch;

/// Lines of waits for each cause, the nearest first; and causes that are described.
static constexpr size_t mostWaits = 8, mostRoots = 8;
/// Where a warp of a worker stands still, the others go on for 2 * slots - 2 turns, as long as they
/// find slots of dQ, of which there are 2, or 3 where a build asks for it. A worker that has given
/// more turns behind one lost that one.
static constexpr int64_t mostUnderWay = 4;

static std::string counted(int64_t number, const Twine &one) {
  return (Twine(number) + " " + one + (number == 1 ? "" : "s")).str();
}

const Turns::Sums &Turns::sumsOf(int64_t chain) const {
  return *find_if(sums, [&](const Sums &one) { return chain < one.first + one.count; });
}

std::string Turns::nameOf(int64_t chain) const {
  const Sums &one = sumsOf(chain);
  int64_t piece = (chain - one.first) % one.pieces, tile = (chain - one.first) / one.pieces;
  int64_t head = tile / one.tiles, sequence = 0;
  tile %= one.tiles;
  if (firstTiles.empty()) {
    sequence = head / one.heads, head %= one.heads;
  } else {
    for (size_t i = 0; i + 1 < firstTiles.size();
         ++i) // the last one has no tile; empty ones share theirs
      if (firstTiles[i] <= tile && tile < firstTiles[i + 1])
        sequence = i;
    tile -= firstTiles[sequence];
  }
  std::string place = one.isOfItems ? "piece " + std::to_string(piece) + " of kv tile " : "q tile ";
  return (place + Twine(tile) + " of " + one.tensor + " (sequence " + Twine(sequence) +
          (one.isOfItems ? ", kv head " : ", head ") + Twine(head) + ")")
      .str();
}

static std::string stepOf(const TurnTask &task) {
  return (task.step < task.steps ? "step " + Twine(task.step) + " of " + Twine(task.steps)
                                 : "piece " + Twine(task.step - task.steps))
      .str();
}

std::string Turns::describeRoot(int64_t number) const {
  const TurnWorker &worker = workers[number];
  std::string text;
  raw_string_ostream os(text);
  os << "worker " << number << " has turn " << worker.next.turn << " of "
     << nameOf(worker.next.chain) << " and has not given it: item " << worker.next.item
     << " of its list, " << stepOf(worker.next) << ". It has given " << worker.given << " of its "
     << counted(worker.total, "turn") << ", and " << counted(worker.behind, "worker")
     << (worker.behind == 1 ? " waits" : " wait") << " behind it.";
  if (worker.givenBehind > mostUnderWay)
    os << " It has given " << counted(worker.givenBehind, "turn")
       << " behind this one, so this turn was never given.";
  else if (worker.given == 0)
    os << " Its block may not have begun: the launch needs " << minWorkers << " resident.";
  return text;
}

std::string Turns::describe(const Turns *before) const {
  std::string text;
  raw_string_ostream os(text);
  size_t ended = count_if(workers, [](const TurnWorker &one) { return one.given == one.total; });
  os << given << " of " << counted(total, "turn") << (given == 1 ? " is" : " are") << " given; "
     << ended << " of " << counted(workers.size(), "worker") << (ended == 1 ? " has" : " have")
     << " given all of theirs\n";
  if (given == total) {
    os << "no worker waits for a turn: the launch is at its end, or the counters are those of one "
          "before\n";
    return text;
  }
  if (before && before->given != given) {
    os << "the launch goes on: " << counted(given - before->given, "turn")
       << (given - before->given == 1 ? " was" : " were")
       << " given between two looks, so it is slow and does not stand still\n";
    return text;
  }
  if (before)
    os << "no turn was given between two looks\n";
  for (int64_t root : ArrayRef(roots).take_front(mostRoots)) {
    os << (before ? "cause: " : "at work, or the cause: ") << describeRoot(root) << "\n";
    SmallVector<int64_t> waiting;
    for (auto [number, worker] : enumerate(workers))
      if (worker.root == root && worker.distance > 0)
        waiting.push_back(number);
    llvm::sort(waiting, [&](int64_t one, int64_t other) {
      return std::pair(workers[one].distance, one) < std::pair(workers[other].distance, other);
    });
    for (int64_t number : ArrayRef(waiting).take_front(mostWaits)) {
      const TurnWorker &worker = workers[number];
      os << "  worker " << number << " waits for turn " << worker.next.turn << " of "
         << nameOf(worker.next.chain) << "; turn " << worker.holder.turn << " is worker "
         << worker.holder.worker << "'s, at " << stepOf(worker.holder) << " of its item "
         << worker.holder.item << "\n";
    }
    if (waiting.size() > mostWaits)
      os << "  and " << counted(waiting.size() - mostWaits, "more worker") << "\n";
  }
  if (roots.size() > mostRoots)
    os << "and " << counted(roots.size() - mostRoots, "worker") << " more that have a turn\n";
  return text;
}

std::string Turns::toJson() const {
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os, 1);
  auto write = [&](StringRef name, const TurnTask &task) {
    json.attributeObject(name, [&] {
      json.attribute("tile", nameOf(task.chain));
      json.attribute("turn", task.turn);
      json.attribute("turns", lengths[task.chain]);
      json.attribute("worker", task.worker);
      json.attribute("item", task.item);
      json.attribute("step", task.step);
      json.attribute("steps", task.steps);
    });
  };
  json.object([&] {
    json.attribute("given", given);
    json.attribute("total", total);
    json.attributeArray("roots", [&] {
      for (int64_t root : roots)
        json.value(root);
    });
    json.attributeArray("workers", [&] {
      for (const TurnWorker &worker : workers)
        json.object([&] {
          json.attribute("given", worker.given);
          json.attribute("total", worker.total);
          if (worker.root < 0)
            return;
          json.attribute("given_behind", worker.givenBehind);
          json.attribute("root", worker.root);
          json.attribute("distance", worker.distance);
          json.attribute("behind", worker.behind);
          write("next", worker.next);
          write("holder", worker.holder);
        });
    });
  });
  return text;
}
