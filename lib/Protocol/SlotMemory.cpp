//===- SlotMemory.cpp - shared memory with checked order ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SlotMemory.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult PhaseBarrier::arrive(Operation *op, int64_t number, const Clock &clock) {
  gathered.join(clock);
  pending -= number;
  if (pending < 0)
    return op->emitError() << "arrives " << -pending << " times more than the " << arrivals
                           << " arrivals that complete a phase";
  return settle(op);
}

LogicalResult PhaseBarrier::bring(Operation *op, int64_t number, const Clock &clock) {
  gathered.join(clock);
  bytes -= number;
  return settle(op);
}

LogicalResult PhaseBarrier::settle(Operation *op) {
  if (pending != 0 || bytes != 0)
    return success();
  ++complete;
  pending = arrivals;
  before = std::exchange(last, gathered);
  for (const Event &waiter : waiters)
    if (!waiter.isKnownTo(gathered)) {
      auto diagnostic = op->emitError() << "may complete phase " << complete - 1
                                        << " before a wait for the phase before has looked";
      return diagnostic.attachNote(waiter.op->getLoc()) << "this wait";
    }
  return success();
}

LogicalResult PhaseBarrier::see(const Event &event, int64_t phases, Clock &clock) {
  bool isPast = complete > phases;
  if (isPast || (phases > 1 && !clock.knows(before))) {
    auto diagnostic = event.op->emitError() << "waits until " << phases << " phases are complete, ";
    if (isPast)
      diagnostic << "but " << complete << " may be";
    else
      diagnostic << "and does not know that " << phases - 1 << " are";
    return diagnostic << ": a parity cannot tell them apart";
  }
  if (std::exchange(seen, phases) != phases)
    waiters.clear();
  llvm::erase_if(waiters, [&](const Event &other) { return other.agent == event.agent; });
  waiters.push_back(event);
  if (phases > 0)
    clock.join(last);
  return success();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static InFlightDiagnostic refuse(const Event &event, const SlotElement &what, StringRef verb) {
  ChannelOp channel = what.channel;
  return event.op->emitError() << verb << " element " << what.element << " of use " << what.use
                               << " of channel '" << channel.getName() << "' ";
}

static LogicalResult isUnordered(InFlightDiagnostic diagnostic, Operation *other, StringRef what) {
  diagnostic << "without being ordered behind what " << what << " it";
  return diagnostic.attachNote(other->getLoc()) << "this op";
}

LogicalResult dash::readPart(SlotPart &part, const SlotElement &what, const Event &event,
                             const Clock &clock) {
  if (!part.writer.isKnownTo(clock))
    return isUnordered(refuse(event, what, "reads"), part.writer.op, "writes");
  if (part.use != what.use || part.slice != what.slice) {
    auto diagnostic = refuse(event, what, "reads");
    if (!part.writer.op)
      return diagnostic << "before anything is written there";
    if (part.slice)
      diagnostic << "where slice " << *part.slice << " of a consumer's results lies";
    else
      diagnostic << "where use " << part.use << " lies";
    return diagnostic.attachNote(part.writer.op->getLoc()) << "this op wrote it";
  }
  llvm::erase_if(part.readers, [&](const Event &other) { return other.agent == event.agent; });
  part.readers.push_back(event);
  return success();
}

LogicalResult dash::leavePart(SlotPart &part, const SlotElement &what, const Event &event,
                              const Clock &clock) {
  if (failed(readPart(part, what, event, clock)))
    return failure();
  if (!std::exchange(part.hasLeft, true))
    return success();
  auto diagnostic = refuse(event, what, "copies")
                    << "out, and nothing has been written there since it has left";
  return diagnostic.attachNote(part.writer.op->getLoc()) << "this op wrote it";
}

LogicalResult dash::writePart(SlotPart &part, const SlotElement &what, const Event &event,
                              const Clock &clock) {
  if (!part.underWay.empty()) {
    auto diagnostic = refuse(event, what, "writes") << "while a copy or a product still reads it";
    return diagnostic.attachNote(part.underWay.front()->getLoc()) << "this op";
  }
  if (!part.writer.isKnownTo(clock))
    return isUnordered(refuse(event, what, "writes"), part.writer.op, "writes");
  for (const Event &reader : part.readers)
    if (!reader.isKnownTo(clock))
      return isUnordered(refuse(event, what, "writes"), reader.op, "reads");
  part.readers.clear();
  part.writer = event;
  part.slice = what.slice;
  part.hasLeft = part.isAdded = part.isKept = false;
  part.use = what.use;
  return success();
}
