//===- ProtocolOps.cpp - effects of instructions on slots and turns -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProtocolRun.h"
#include "dash/IR/Consumers.h"
#include "dash/IR/TargetDescription.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static int64_t phaseOf(ChannelOp channel, int64_t use) { return use / int64_t(channel.getDepth()); }

PhaseBarrier &ProtocolRun::barrier(unsigned channel, BarrierSide side, int64_t use) {
  return barriers[channel][2 * (use % int64_t(channels[channel].getDepth())) + int64_t(side)];
}

PhaseBarrier &ProtocolRun::barrierOf(const Process &process, const Instruction &instruction) {
  const SlotPlace &place = *instruction.place;
  return barrier(place.channel, instruction.sync->side, process.registers[place.use]);
}

llvm::iota_range<int64_t> ProtocolRun::rowsOf(RoleOp role) const {
  int64_t count = rowParts / int64_t(role.getWarpgroups().value_or(1));
  int64_t first = role.getWarpgroup().value_or(0) * count;
  return llvm::seq(first, first + count);
}

/// The parts of the role's own warpgroup, or all parts.
MutableArrayRef<SlotPart> ProtocolRun::partsOf(Process &process, const SlotPlace &place) {
  ChannelOp channel = channels[place.channel];
  int64_t slot = process.registers[place.use] % int64_t(channel.getDepth());
  size_t elements = channel.getType().getNumTiles() + 1;
  MutableArrayRef<SlotPart> all(parts[place.channel]);
  all = all.slice((slot * elements + place.element) * rowParts, rowParts);
  auto own = rowsOf(process.program->role);
  return place.isWhole ? all : all.slice(*own.begin(), own.size());
}

ProtocolRun::Outcome ProtocolRun::synchronize(Process &process, const Instruction &instruction,
                                              size_t number) {
  const Sync &sync = *instruction.sync;
  RoleOp role = process.program->role;
  Event event{instruction.op, number, process.clock[number]};
  auto outcome = [](LogicalResult result) {
    return succeeded(result) ? Outcome::Ran : Outcome::Wrong;
  };
  switch (sync.kind) {
  case SyncKind::WaitForSlot:
    return wait(process, instruction, event);
  case SyncKind::Arrive: {
    if (role.isReducer() && sync.side == BarrierSide::Empty &&
        failed(checkAdded(process, instruction)))
      return Outcome::Wrong;
    LogicalResult done = barrierOf(process, instruction)
                             .arrive(instruction.op, countArrivals(role, sync), process.clock);
    ++process.clock[number];
    return outcome(done);
  }
  case SyncKind::Expect: {
    PhaseBarrier &full = barrierOf(process, instruction);
    full.expect(sync.bytes);
    LogicalResult done = full.arrive(instruction.op, 1, process.clock);
    ++process.clock[number];
    return outcome(done);
  }
  case SyncKind::IssueProduct:
    process.products.push_back(std::exchange(process.openProduct, {}));
    return Outcome::Ran;
  case SyncKind::WaitForProducts:
    finishTo(process, number, process.products, sync.pending);
    return Outcome::Ran;
  case SyncKind::CommitCopies:
    process.copies.push_back(std::exchange(process.openCopies, {}));
    ++process.unfinished;
    return Outcome::Ran;
  case SyncKind::WaitForCopies:
    finishTo(process, number, process.copies, sync.pending);
    if (!sync.isOnlyRead)
      process.unfinished = std::min<size_t>(process.unfinished, sync.pending);
    return Outcome::Ran;
  case SyncKind::TakeTensorCore:
  case SyncKind::GiveTensorCore:
    return hand(process, instruction, event);
  case SyncKind::FenceShared: // ignored: RoleProgram.cpp
  case SyncKind::FenceGlobal:
  case SyncKind::MeetWarpgroup:
    return Outcome::Ran;
  }
  llvm_unreachable("a kind of synchronisation");
}

ProtocolRun::Outcome ProtocolRun::wait(Process &process, const Instruction &instruction,
                                       const Event &event) {
  const SlotPlace &place = *instruction.place;
  int64_t use = process.registers[place.use], phase = phaseOf(channels[place.channel], use);
  if (int64_t given = process.registers[instruction.in.front()]; given != phase % 2) {
    instruction.op->emitError() << "waits with phase " << given << " for use " << use
                                << ", whose phase is " << phase % 2;
    return Outcome::Wrong;
  }
  PhaseBarrier &barrier = barrierOf(process, instruction);
  // The previous use must be released; the first use of a slot finds it empty.
  int64_t phases = phase + (instruction.sync->side == BarrierSide::Full ? 1 : 0);
  if (barrier.getComplete() < phases)
    return Outcome::Waits;
  return succeeded(barrier.see(event, phases, process.clock)) ? Outcome::Ran : Outcome::Wrong;
}

/// A reducer only releases a slot that it has added.
LogicalResult ProtocolRun::checkAdded(Process &process, const Instruction &instruction) {
  SlotPlace place = *instruction.place;
  ChannelOp channel = channels[place.channel];
  for (unsigned element : llvm::seq(channel.getType().getNumTiles())) {
    place.element = element;
    for (const SlotPart &part : partsOf(process, place))
      if (part.use != process.registers[place.use] || !part.isAdded)
        return instruction.op->emitError()
               << "gives back use " << process.registers[place.use] << " of channel '"
               << channel.getName() << "', of which it has not added element " << element;
  }
  return success();
}

/// The engine writes at any time: only an agent that waits for the slot knows that it has.
LogicalResult ProtocolRun::copyIn(Process &process, const Instruction &instruction) {
  const SlotPlace &place = *instruction.place;
  ChannelOp channel = channels[place.channel];
  int64_t use = process.registers[place.use];
  size_t agent = processes.size() + place.channel;
  Event event{instruction.op, agent, ++engine[agent]};
  for (SlotPart &part : partsOf(process, place))
    if (failed(writePart(part, {channel, use, place.element}, event, process.clock)))
      return failure();
  if (failed(followTile(process, instruction)))
    return failure();
  Clock clock = newClock();
  clock[agent] = event.time;
  return barrier(place.channel, BarrierSide::Full, use)
      .bring(instruction.op, channel.getType().getElementBytes(place.element), clock);
}

/// An index that is read again has its old value.
static LogicalResult checkToldAgain(Operation *op, int64_t told, int64_t word, unsigned index) {
  if (told == word)
    return success();
  return op->emitError() << "was told " << told << " and reads " << word << " again, as index "
                         << index << " of its slot";
}

/// Indices that are written, found, or read again.
LogicalResult ProtocolRun::passIndices(Process &process, const Instruction &instruction) {
  const SlotPlace &place = *instruction.place;
  ChannelOp channel = channels[place.channel];
  int64_t slot = process.registers[place.use] % int64_t(channel.getDepth());
  int64_t *words = indices[place.channel].data() + slot * channel.getType().getNumIndices();
  auto &registers = process.registers;
  bool isWrite = instruction.access->kind == AccessKind::Write;
  for (auto [i, index] : llvm::enumerate(instruction.access->indices)) {
    int64_t &word = words[index.number];
    if (isWrite)
      word = registers[instruction.in[i]];
    else if (!index.isTold)
      registers[instruction.out[i]] = word;
    else if (failed(
                 checkToldAgain(instruction.op, registers[instruction.in[i]], word, index.number)))
      return failure();
  }
  return success();
}

LogicalResult ProtocolRun::access(Process &process, const Instruction &instruction, size_t number) {
  const SlotAccess &access = *instruction.access;
  if (access.kind == AccessKind::Write && access.by == AccessAgent::CopyEngine)
    return copyIn(process, instruction);
  if (instruction.sum && failed(checkTurn(process, instruction)))
    return failure();
  Event event{instruction.op, number, process.clock[number]};
  const SlotPlace &place = *instruction.place;
  SlotElement what{channels[place.channel], process.registers[place.use], place.element,
                   access.slice};
  bool isRead = access.kind == AccessKind::Read, goesOn = access.by != AccessAgent::Threads;
  auto pass = !isRead ? writePart : goesOn && access.isBorrowed() ? leavePart : readPart;
  Group &group = access.by == AccessAgent::TensorCore ? process.openProduct : process.openCopies;
  for (SlotPart &part : partsOf(process, place)) {
    if (failed(pass(part, what, event, process.clock)) ||
        (instruction.sum && failed(bring(process, instruction, part))))
      return failure();
    if (!goesOn)
      continue;
    part.underWay.push_back(instruction.op);
    group.push_back({&part, instruction.op});
  }
  if (access.memory && !instruction.sum && failed(countLeaving(process, instruction)))
    return failure();
  return failure(failed(followTile(process, instruction)) ||
                 failed(passIndices(process, instruction)));
}

//===----------------------------------------------------------------------===//
// Products, copies, turns
//===----------------------------------------------------------------------===//

/// The reads of a finished group are over: an agent that knows this may write there again.
void ProtocolRun::finish(Process &process, size_t number, ArrayRef<Read> reads) {
  for (const Read &read : reads) {
    auto &underWay = read.part->underWay;
    underWay.erase(llvm::find(underWay, read.op));
    llvm::erase_if(read.part->readers, [&](const Event &one) { return one.agent == number; });
    read.part->readers.push_back({read.op, number, process.clock[number]});
  }
}

/// Finishes the oldest groups until at most `pending` remain.
void ProtocolRun::finishTo(Process &process, size_t number, SmallVectorImpl<Group> &groups,
                           size_t pending) {
  while (groups.size() > pending) {
    finish(process, number, groups.front());
    groups.erase(groups.begin());
  }
}

ProtocolRun::TileKey ProtocolRun::tileOf(const Process &process, const Instruction &instruction) {
  auto number = [&](unsigned i) { return process.registers[instruction.memory[i]]; };
  Value tensor = instruction.sum ? instruction.sum->sum.tensor : instruction.access->memory.tensor;
  return {tensor, {number(0), {number(1), number(2)}}};
}

ProtocolRun::Outcome ProtocolRun::acquireTurn(Process &process, const Instruction &instruction) {
  TileKey tile = tileOf(process, instruction);
  Counter &counter = counters.try_emplace(tile, Counter{0, newClock()}).first->second;
  if (counter.value != process.registers[instruction.in.front()])
    return Outcome::Waits;
  process.clock.join(counter.clock);
  process.turn = tile;
  return Outcome::Ran;
}

ProtocolRun::Outcome ProtocolRun::releaseTurn(Process &process, const Instruction &instruction,
                                              size_t number) {
  TileKey tile = tileOf(process, instruction);
  bool isMine = process.turn == tile;
  if (!isMine || process.unfinished > 0 || !process.openCopies.empty()) {
    instruction.op->emitError() << "gives on a turn "
                                << (isMine ? "whose add is not complete"
                                           : "that the role has not acquired");
    return Outcome::Wrong;
  }
  Counter &counter = counters[tile];
  counter.value = process.registers[instruction.in.front()] ? allTurnsGiven : counter.value + 1;
  counter.clock = process.clock;
  process.turn.reset();
  ++process.clock[number];
  return Outcome::Ran;
}

/// Whether a role adds to these sums itself: then anything else that it keeps of them is for tests.
static bool addsTo(const RoleProgram &program, Value sums) {
  return llvm::any_of(program.code, [&](const Instruction &one) {
    return one.opcode == Opcode::Access && one.sum && one.sum->sum.tensor == sums &&
           !one.is(SumAction::Keep);
  });
}

/// A chain's first turn assigns; the others add.
LogicalResult ProtocolRun::checkTurn(Process &process, const Instruction &instruction) {
  if (!process.program->takesTurns || instruction.is(SumAction::Keep))
    return success();
  TileKey tile = tileOf(process, instruction);
  if (process.turn != tile)
    return instruction.op->emitError("adds to a tile whose turn the role has not acquired");
  bool isFirst = counters[tile].value == 0;
  if (isFirst == instruction.is(SumAction::Store))
    return success();
  return instruction.op->emitError() << (isFirst ? "adds in the first turn of a chain, to sums "
                                                   "without a store"
                                                 : "stores over what turns before have added");
}

/// Adds a contribution; each use contributes once.
LogicalResult ProtocolRun::bring(Process &process, const Instruction &instruction, SlotPart &part) {
  bool isApart = instruction.is(SumAction::Keep);
  bool isForTests = isApart && addsTo(*process.program, instruction.sum->sum.tensor);
  if (!std::exchange(isForTests ? part.isKept : part.isAdded, true))
    return success();
  const SlotPlace &place = *instruction.place;
  return instruction.op->emitError()
         << (isApart ? "stores" : "adds") << " use " << process.registers[place.use]
         << " of channel '" << channels[place.channel].getName() << "' a second time";
}

LogicalResult ProtocolRun::countLeaving(Process &process, const Instruction &instruction) {
  int64_t slice = instruction.access->slice.value_or(0);
  size_t count = instruction.access->countSlices() * rowParts;
  Leaving none{instruction.op, SmallVector<int64_t, 4>(count)};
  Leaving &leaving = this->leaving.try_emplace(tileOf(process, instruction), none).first->second;
  if (leaving.counts.size() != count) {
    auto diagnostic = instruction.op->emitError("copies out a tile in slices of another width");
    return diagnostic.attachNote(leaving.op->getLoc()) << "this op copies it too";
  }
  for (int64_t part : rowsOf(process.program->role))
    ++leaving.counts[slice * rowParts + part];
  return success();
}

/// Takes and gives are the two halves of a barrier of two warpgroups: a warpgroup that gives twice
/// completes it alone.
ProtocolRun::Outcome ProtocolRun::hand(Process &process, const Instruction &instruction,
                                       const Event &event) {
  RoleOp role = process.program->role;
  int64_t warpgroups = role.getWarpgroups().value_or(1);
  if (warpgroups == 1)
    return Outcome::Ran;
  int64_t first = getFirstMultiplying(role), mine = role.getWarpgroup().value_or(0);
  if (instruction.is(SyncKind::TakeTensorCore)) {
    Handover &handover = handovers[first + mine];
    if (!handover.isGiven)
      return Outcome::Waits;
    handover.isGiven = false;
    handover.taken = event;
    process.clock.join(handover.clock);
    return Outcome::Ran;
  }
  Handover &handover = handovers[first + (mine + 1) % warpgroups];
  if (handover.isGiven || !handover.taken.isKnownTo(process.clock)) {
    auto diagnostic = instruction.op->emitError(
        "may give the tensor core to a warpgroup that has not taken it since the last time");
    diagnostic.attachNote(handover.given.op->getLoc()) << "the last time";
    return Outcome::Wrong;
  }
  handover.isGiven = true;
  handover.given = event;
  handover.clock = process.clock;
  ++process.clock[event.agent];
  return Outcome::Ran;
}
