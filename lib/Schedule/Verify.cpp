//===- Verify.cpp - prove a schedule --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One replay proves coverage, total order and progress together: a schedule that passes the checks
// of its items and whose every task ran when its turn came has all three. Only if the replay stops
// early is the order written out to say why (Explain.cpp).
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Verify.h"
#include "Explain.h"
#include "Replay.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

/// Every (sequence, kv head, part, kv tile) is one item, on one list, with one place in the chain
/// over the parts.
static LogicalResult verifyItems(const Schedule &schedule, EmitError emitError) {
  const Problem &problem = schedule.problem;
  KvTileIds kvTiles(problem);
  int64_t parts = schedule.parts, expected = numItems(problem, parts);
  if (int64_t(schedule.items().size()) != expected)
    return emitError() << "schedule has " << schedule.items().size() << " items, expected "
                       << expected << ": one for each sequence, kv head, part and kv tile";
  std::vector<int32_t> itemOf(expected, -1), itemAtTurn(expected, -1);
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    if (failed(verifyItemRange(schedule, item, index, emitError)))
      return failure();
    int64_t tile = kvTiles(item) * parts;
    if (int32_t other = itemOf[tile + item.part]; other >= 0)
      return emitError() << "items " << other << " (worker " << schedule.items()[other].worker
                         << ") and " << index << " (worker " << item.worker << ") are both "
                         << describe(schedule, item) << ", expected it once";
    if (int32_t other = itemAtTurn[tile + item.partTurn]; other >= 0)
      return emitError() << "part turn " << item.partTurn << " is given to items " << other
                         << " and " << index << ", both of kv tile " << item.kv << ", kv head "
                         << item.kvHead << ", sequence " << item.sequence;
    itemOf[tile + item.part] = itemAtTurn[tile + item.partTurn] = index;
  }
  return success();
}

namespace {

/// Checks each item's tasks against the mask, and whether anything waits for a later item.
class Proof : public Replay::Visitor {
public:
  Proof(const Schedule &schedule, EmitError emitError)
      : schedule(schedule), emitError(emitError), chains(schedule.problem),
        lastItem(chains.size(), -1),
        lastPart(schedule.parts > 1 ? KvTileIds(schedule.problem).size() : 0, -1) {}

  LogicalResult enterItem(int64_t index, ArrayRef<Visit> visits) override {
    const Item &item = schedule.items()[index];
    TileSet activeQ = schedule.problem.activeQ(item.sequence, item.kv);
    TileRange active = activeQ.hull();
    int64_t firstHead = schedule.firstHead(item), numHeads = schedule.headsPerPart();
    enterSequence(item.sequence);
    ++stamp;
    for (const Visit &visit : visits) {
      int64_t head = visit.head - firstHead, q = visit.q - active.begin;
      if (head < 0 || head >= numHeads || q < 0 || q >= active.size()) {
        InFlightDiagnostic error = emitError();
        error << describe(schedule, item) << " visits q tile " << visit.q << " of head "
              << visit.head << ", expected ";
        if (active.size() == 0)
          return error << "no task: the mask hides all of its columns";
        return error << "q tiles " << active.begin << " to " << active.end - 1 << " of heads "
                     << firstHead << " to " << firstHead + numHeads - 1;
      }
      if (!activeQ.contains(visit.q))
        return emitError() << describe(schedule, item) << " visits q tile " << visit.q
                           << " of head " << visit.head << ", which the mask hides";
      int64_t &mark = seen[head * active.size() + q];
      if (mark == stamp)
        return emitError() << describe(schedule, item) << " visits q tile " << visit.q
                           << " of head " << visit.head << " twice";
      mark = stamp;
      if (visit.turn < 0 || visit.turn >= chainLength[visit.q])
        return emitError() << describe(schedule, item) << " has turn " << visit.turn
                           << " at q tile " << visit.q << " of head " << visit.head
                           << ", expected 0 to " << chainLength[visit.q] - 1;
    }
    if (int64_t(visits.size()) == numHeads * activeQ.size())
      return success();
    for (int64_t head : llvm::seq(numHeads))
      for (int64_t q : activeQ.tiles())
        if (seen[head * active.size() + q - active.begin] != stamp)
          return emitError() << describe(schedule, item) << " leaves out q tile " << q
                             << " of head " << firstHead + head;
    llvm_unreachable("as many distinct active tasks as there are are all of them");
  }

  void task(int64_t, int64_t item, const Visit &, int64_t chain) override {
    noteOrder(lastItem[chain], item);
  }
  void leaveItem(int64_t item, int64_t kvTile) override { noteOrder(lastPart[kvTile], item); }

  bool dynamicIssue = true;

private:
  void enterSequence(int64_t index) {
    const Problem &problem = schedule.problem;
    bool isSame = sequence >= 0 && problem.sequences[index] == problem.sequences[sequence];
    sequence = index;
    if (isSame)
      return;
    chainLength.resize(problem.numQTiles(index));
    for (auto [q, length] : llvm::enumerate(chainLength))
      length = schedule.isOrdered() ? problem.activeKv(index, q).size() : 1;
    seen.resize(std::max<size_t>(seen.size(), schedule.headsPerPart() * chainLength.size()));
  }
  void noteOrder(int32_t &last, int64_t item) {
    dynamicIssue &= last < item || !schedule.isOrdered();
    last = item;
  }

  const Schedule &schedule;
  EmitError emitError;
  ChainIds chains;
  std::vector<int32_t> lastItem, lastPart;
  int64_t sequence = -1;
  std::vector<int64_t> chainLength; // by q tile of `sequence`; without chains, the only turn is 0
  std::vector<int64_t> seen;        // by task of an item: the last stamp that saw it
  int64_t stamp = 0;
};

} // namespace

/// The replay stopped early. What it has not reached may be wrong as well, and would mislead whoever
/// explains chains and cycles: so look at every item first.
static LogicalResult explainStop(const Schedule &schedule, const Replay &replay, Proof &proof,
                                 EmitError emitError) {
  VisitReader reader(schedule);
  SmallVector<Visit, 0> visits;
  for (int64_t item : llvm::seq<int64_t>(schedule.items().size())) {
    if (failed(reader.read(item, visits)))
      return emitError() << "formula 'visit' or 'turn' divides by a number below 1";
    if (failed(proof.enterItem(item, visits)))
      return failure();
  }
  if (failed(explainBrokenChain(schedule, emitError)))
    return failure();
  return explainCycle(schedule, replay, emitError);
}

FailureOr<ScheduleFacts> dash::verify(const Schedule &schedule, EmitError emitError) {
  if (failed(verifyItems(schedule, emitError)))
    return failure();
  Proof proof(schedule, emitError);
  Replay replay(schedule, proof);
  int64_t mostUnfinished = 0;
  for (int64_t worker : llvm::seq(schedule.workers)) {
    switch (replay.start(worker)) {
    case Replay::Outcome::Ran:
      break;
    case Replay::Outcome::Refused:
      return failure();
    case Replay::Outcome::Unreadable:
    case Replay::Outcome::TurnTaken:
      return explainStop(schedule, replay, proof, emitError);
    }
    mostUnfinished = std::max(mostUnfinished, replay.numUnfinished());
  }
  if (replay.numUnfinished() > 0)
    return explainStop(schedule, replay, proof, emitError);
  if (failed(verifyIndependence(schedule, emitError)))
    return failure();
  return ScheduleFacts{1 + mostUnfinished, proof.dynamicIssue};
}
