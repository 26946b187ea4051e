//===- ProtocolOps.cpp - what an instruction does to slots and turns ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProtocolRun.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static int64_t phaseOf(ChannelOp channel, int64_t use) { return use / int64_t(channel.getDepth()); }

PhaseBarrier &ProtocolRun::barrier(unsigned channel, BarrierSide side, int64_t use) {
  return barriers[channel][2 * (use % int64_t(channels[channel].getDepth())) + int64_t(side)];
}

/// Those of the role's own warpgroup, or all.
MutableArrayRef<SlotPart> ProtocolRun::partsOf(Process &process, const SlotPlace &place) {
  ChannelOp channel = channels[place.channel];
  int64_t slot = process.registers[place.use] % int64_t(channel.getDepth());
  size_t elements = channel.getType().getNumTiles() + 1;
  MutableArrayRef<SlotPart> all(parts[place.channel]);
  all = all.slice((slot * elements + place.element) * warpgroups, warpgroups);
  RoleOp role = process.program->role;
  return place.isWhole || !role.getWarpgroup() ? all : all.slice(*role.getWarpgroup(), 1);
}

ProtocolRun::Outcome ProtocolRun::onSlot(Process &process, const Instruction &instruction,
                                         size_t number) {
  Event event{instruction.op, number, process.clock[number]};
  auto outcome = [](LogicalResult result) {
    return succeeded(result) ? Outcome::Ran : Outcome::Wrong;
  };
  const SlotPlace &place = instruction.places.front();
  int64_t use = process.registers[place.use];
  switch (instruction.opcode) {
  case Opcode::Wait:
    return wait(process, instruction, event);
  case Opcode::Arrive: {
    auto arrive = cast<MbarrierArriveOp>(instruction.op);
    RoleOp role = process.program->role;
    if (role.isReducer() && arrive.getSide() == BarrierSide::Empty &&
        failed(checkAdded(process, instruction)))
      return Outcome::Wrong;
    int64_t lanes = arrive.getScope() == ArriveScope::Warp ? 1 : 32;
    int64_t count = role.isConsumer() ? lanes * int64_t(role.getWarps()) : 1;
    LogicalResult done =
        barrier(place.channel, arrive.getSide(), use).arrive(arrive, count, process.clock);
    ++process.clock[number];
    return outcome(done);
  }
  case Opcode::Expect: {
    auto expect = cast<MbarrierExpectOp>(instruction.op);
    PhaseBarrier &full = barrier(place.channel, BarrierSide::Full, use);
    full.expect(expect.getBytes());
    LogicalResult done = full.arrive(expect, 1, process.clock);
    ++process.clock[number];
    return outcome(done);
  }
  case Opcode::CopyIn:
    return outcome(copyIn(process, instruction));
  case Opcode::CopyOut:
    return outcome(copyOut(process, instruction, event));
  default:
    return outcome(access(process, instruction, event));
  }
}

ProtocolRun::Outcome ProtocolRun::wait(Process &process, const Instruction &instruction,
                                       const Event &event) {
  auto op = cast<MbarrierWaitOp>(instruction.op);
  const SlotPlace &place = instruction.places.front();
  int64_t use = process.registers[place.use], phase = phaseOf(channels[place.channel], use);
  if (int64_t given = process.registers[instruction.in.front()]; given != phase % 2) {
    op.emitError() << "waits with phase " << given << " for use " << use << ", whose phase is "
                   << phase % 2;
    return Outcome::Wrong;
  }
  PhaseBarrier &barrier = this->barrier(place.channel, op.getSide(), use);
  // The use before has to be released; the first use of a slot finds it empty.
  int64_t phases = phase + (op.getSide() == BarrierSide::Full ? 1 : 0);
  if (barrier.getComplete() < phases)
    return Outcome::Waits;
  return succeeded(barrier.see(event, phases, process.clock)) ? Outcome::Ran : Outcome::Wrong;
}

/// A reducer gives back what it has added.
LogicalResult ProtocolRun::checkAdded(Process &process, const Instruction &instruction) {
  SlotPlace place = instruction.places.front();
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

/// The engine writes when it likes: only who waits for the slot knows that it has.
LogicalResult ProtocolRun::copyIn(Process &process, const Instruction &instruction) {
  const SlotPlace &place = instruction.places.front();
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

/// What is read again is what was told before.
static LogicalResult checkToldAgain(const Instruction &instruction, ArrayRef<int64_t> registers,
                                    ArrayRef<int64_t> words) {
  ArrayRef<int64_t> indices = *cast<HideOp>(instruction.op).getIndices();
  for (auto [source, index] : llvm::zip_equal(instruction.in, indices))
    if (registers[source] != words[index])
      return instruction.op->emitError()
             << "was told " << registers[source] << " and reads " << words[index]
             << " again, as index " << index << " of its slot";
  return success();
}

LogicalResult ProtocolRun::access(Process &process, const Instruction &instruction,
                                  const Event &event) {
  const SlotPlace &place = instruction.places.front();
  SlotElement what{channels[place.channel], process.registers[place.use], place.element};
  bool isWrite = isa<StoreFragmentOp, WriteIndicesOp>(instruction.op);
  if (auto store = dyn_cast<StoreFragmentOp>(instruction.op))
    what.piece = store.getPiece();
  for (SlotPart &part : partsOf(process, place))
    if (failed(isWrite ? writePart(part, what, event, process.clock)
                       : readPart(part, what, event, process.clock)))
      return failure();
  if (failed(followTile(process, instruction)))
    return failure();
  int64_t count = what.channel.getType().getNumIndices();
  int64_t *words =
      indices[place.channel].data() + what.use % int64_t(what.channel.getDepth()) * count;
  if (instruction.opcode == Opcode::ReadAgain)
    return checkToldAgain(instruction, process.registers, ArrayRef(words, count));
  for (auto [i, source] : llvm::enumerate(instruction.in))
    words[i] = process.registers[source];
  if (instruction.opcode == Opcode::ReadIndices)
    for (auto [i, target] : llvm::enumerate(instruction.out))
      process.registers[target] = words[i];
  return success();
}

//===----------------------------------------------------------------------===//
// Products, copies, turns
//===----------------------------------------------------------------------===//

/// What was under way has read: from here on it may be written again, by who knows of it.
void ProtocolRun::finish(Process &process, size_t number, ArrayRef<Read> reads) {
  for (const Read &read : reads) {
    auto &underWay = read.part->underWay;
    underWay.erase(llvm::find(underWay, read.op));
    llvm::erase_if(read.part->readers, [&](const Event &one) { return one.agent == number; });
    read.part->readers.push_back({read.op, number, process.clock[number]});
  }
}

ProtocolRun::Outcome ProtocolRun::onTurn(Process &process, const Instruction &instruction,
                                         size_t number) {
  Event event{instruction.op, number, process.clock[number]};
  auto &registers = process.registers;
  switch (instruction.opcode) {
  case Opcode::Issue: {
    Group group;
    for (const SlotPlace &place : instruction.places) {
      SlotElement what{channels[place.channel], registers[place.use], place.element};
      for (SlotPart &part : partsOf(process, place)) {
        if (failed(readPart(part, what, event, process.clock)))
          return Outcome::Wrong;
        part.underWay.push_back(instruction.op);
        group.push_back({&part, instruction.op});
      }
    }
    process.products.push_back(group);
    return succeeded(computeTile(process, instruction)) ? Outcome::Ran : Outcome::Wrong;
  }
  case Opcode::WaitProducts: {
    size_t pending = cast<WgmmaWaitOp>(instruction.op).getPending();
    while (process.products.size() > pending) {
      finish(process, number, process.products.front());
      process.products.erase(process.products.begin());
    }
    return Outcome::Ran;
  }
  case Opcode::TakeTensorCore:
  case Opcode::GiveTensorCore:
    return hand(process, instruction, event);
  case Opcode::AcquireTurn:
    return acquireTurn(process, instruction);
  case Opcode::ReleaseTurn:
    return releaseTurn(process, instruction, number);
  case Opcode::AddTile:
    return succeeded(addTile(process, instruction, event)) ? Outcome::Ran : Outcome::Wrong;
  case Opcode::CommitCopies:
    process.copies.push_back(std::exchange(process.openCopies, {}));
    ++process.unfinished;
    return Outcome::Ran;
  case Opcode::WaitCopies: {
    auto op = cast<NVVM::CpAsyncBulkWaitGroupOp>(instruction.op);
    size_t pending = op.getGroup();
    while (process.copies.size() > pending) {
      finish(process, number, process.copies.front());
      process.copies.erase(process.copies.begin());
    }
    if (!op.getRead())
      process.unfinished = std::min(process.unfinished, pending);
    return Outcome::Ran;
  }
  default:
    llvm_unreachable("an instruction that neither slots nor numbers know");
  }
}

ProtocolRun::TileKey ProtocolRun::tileOf(const Process &process, const Instruction &instruction) {
  auto number = [&](unsigned i) { return process.registers[instruction.in[i]]; };
  return {instruction.op->getOperand(0), {number(0), {number(1), number(2)}}};
}

ProtocolRun::Outcome ProtocolRun::acquireTurn(Process &process, const Instruction &instruction) {
  TileKey tile = tileOf(process, instruction);
  Counter &counter = counters.try_emplace(tile, Counter{0, newClock()}).first->second;
  if (counter.value != process.registers[instruction.in[3]])
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
  counter.value = process.registers[instruction.in[3]] ? 0 : counter.value + 1;
  counter.clock = process.clock;
  process.turn.reset();
  ++process.clock[number];
  return Outcome::Ran;
}

/// A contribution that is stored in a place of its own, and not added to a sum.
static bool isKept(Operation *op) {
  auto store = dyn_cast<BulkStoreOp>(op);
  return store && store.getTurn();
}

/// Whether a role adds to these sums itself: then what it keeps of them besides is for tests.
static bool addsTo(const RoleProgram &program, Value sums) {
  return llvm::any_of(program.code, [&](const Instruction &one) {
    return one.opcode == Opcode::AddTile && one.op->getOperand(0) == sums && !isKept(one.op);
  });
}

/// A chain's first turn assigns, the others add.
LogicalResult ProtocolRun::addTile(Process &process, const Instruction &instruction,
                                   const Event &event) {
  auto store = dyn_cast<BulkStoreOp>(instruction.op);
  bool isApart = isKept(instruction.op);
  if (process.program->takesTurns && !isApart) {
    TileKey tile = tileOf(process, instruction);
    if (process.turn != tile)
      return instruction.op->emitError("adds to a tile whose turn the role has not acquired");
    if (bool isFirst = counters[tile].value == 0; isFirst != bool(store))
      return instruction.op->emitError() << (isFirst ? "adds in the first turn of a chain, to what "
                                                       "nobody has stored"
                                                     : "stores over what turns before have added");
  }
  bool isForTests = isApart && addsTo(*process.program, instruction.op->getOperand(0));
  const SlotPlace &place = instruction.places.front();
  SlotElement what{channels[place.channel], process.registers[place.use], place.element};
  for (SlotPart &part : partsOf(process, place)) {
    if (failed(readPart(part, what, event, process.clock)))
      return failure();
    if (std::exchange(isForTests ? part.isKept : part.isAdded, true))
      return instruction.op->emitError()
             << (isApart ? "stores" : "adds") << " use " << what.use << " of channel '"
             << what.channel.getName() << "' a second time";
    part.underWay.push_back(instruction.op);
    process.openCopies.push_back({&part, instruction.op});
  }
  return followTile(process, instruction);
}

/// A group of its own.
LogicalResult ProtocolRun::copyOut(Process &process, const Instruction &instruction,
                                   const Event &event) {
  const SlotPlace &place = instruction.places.front();
  auto op = cast<CopyOutOp>(instruction.op);
  SlotElement what{channels[place.channel], process.registers[place.use], place.element,
                   op.getPiece()};
  Group group;
  for (SlotPart &part : partsOf(process, place)) {
    if (failed(leavePart(part, what, event, process.clock)))
      return failure();
    part.underWay.push_back(instruction.op);
    group.push_back({&part, instruction.op});
  }
  process.copies.push_back(group);
  ++process.unfinished;
  auto number = [&](unsigned i) { return process.registers[instruction.tiles[i]]; };
  RoleOp role = process.program->role;
  TileKey tile{op.getTarget(), {number(0), {number(1), number(2)}}};
  size_t count = op.getNumPieces() * warpgroups;
  Leaving none{op, SmallVector<int64_t, 4>(count)};
  Leaving &leaving = this->leaving.try_emplace(tile, none).first->second;
  if (leaving.counts.size() != count) {
    auto diagnostic = op.emitError() << "copies out a tile in pieces of another width";
    return diagnostic.attachNote(leaving.op.getLoc()) << "this op copies it too";
  }
  for (unsigned warpgroup : llvm::seq(warpgroups))
    if (role.getWarpgroup().value_or(warpgroup) == warpgroup)
      ++leaving.counts[op.getPiece() * warpgroups + warpgroup];
  return followTile(process, instruction);
}

/// Takes and gives are the two halves of a barrier of two warpgroups: whoever gives twice completes it alone.
ProtocolRun::Outcome ProtocolRun::hand(Process &process, const Instruction &instruction,
                                       const Event &event) {
  RoleOp role = process.program->role;
  if (warpgroups == 1)
    return Outcome::Ran;
  int64_t mine = role.getWarpgroup().value_or(0);
  if (instruction.opcode == Opcode::TakeTensorCore) {
    Handover &handover = handovers[mine];
    if (!handover.isGiven)
      return Outcome::Waits;
    handover.isGiven = false;
    handover.taken = event;
    process.clock.join(handover.clock);
    return Outcome::Ran;
  }
  Handover &handover = handovers[(mine + 1) % warpgroups];
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
