//===- ProtocolRun.cpp - the roles of a worker, run together --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProtocolRun.h"
#include "dash/IR/Consumers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dash;

/// The limit for all processes; a list takes a thousandth of it.
static constexpr int64_t mostSteps = 1 << 22;

ProtocolRun::ProtocolRun(WorkersOp workers, ArrayRef<RoleProgram> programs, WorkerList list,
                         Moves moves)
    : workers(workers), list(list), moves(moves), channels(llvm::to_vector(workers.getChannels())),
      stepsLeft(mostSteps) {
  for (const RoleProgram &program : programs) {
    RoleOp role = program.role;
    for (int64_t warp : llvm::seq<int64_t>(role.isReducer() ? role.getWarps() : 1))
      processes.push_back({&program, warp, program.registers, Clock()});
    rowParts = std::lcm(rowParts, int64_t(role.getWarpgroups().value_or(1)));
  }
  for (auto [number, process] : llvm::enumerate(processes)) {
    process.clock = newClock();
    process.clock[number] = 1;
  }
  engine = newClock();
  for (ChannelOp channel : channels) {
    size_t depth = channel.getDepth(), elements = channel.getType().getNumTiles() + 1;
    parts.emplace_back(depth * elements * rowParts);
    indices.emplace_back(depth * channel.getType().getNumIndices());
    auto &both = barriers.emplace_back();
    for (size_t i = 0; i < 2 * depth; ++i)
      both.emplace_back((*channel.getArrivals())[i % 2], newClock());
  }
  handovers.assign(getNumMultiplying(workers), {{}, {}, newClock()});
}

LogicalResult ProtocolRun::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i : llvm::seq(processes.size())) {
      size_t number = (i + moves.first) % processes.size();
      Outcome outcome;
      do {
        outcome = step(number);
        moved |= outcome == Outcome::Ran;
      } while (outcome == Outcome::Ran && moves.isPatient);
      if (outcome == Outcome::Wrong)
        return failure();
    }
  }
  bool areDone = llvm::all_of(processes, [](const Process &one) { return one.isDone(); });
  return areDone ? checkEnd() : reportWaits();
}

ProtocolRun::Outcome ProtocolRun::step(size_t number) {
  Process &process = processes[number];
  if (process.isDone())
    return Outcome::Waits;
  const Instruction &instruction = process.program->code[process.at];
  if (--stepsLeft < 0) {
    instruction.op->emitError() << "runs for ever: " << mostSteps
                                << " instructions of all roles come to no end";
    return Outcome::Wrong;
  }
  ++process.at;
  if (compute(process, instruction))
    return Outcome::Ran;
  if (instruction.opcode == Opcode::ComputeTile)
    return succeeded(computeTile(process, instruction)) ? Outcome::Ran : Outcome::Wrong;
  if (const auto &place = instruction.place)
    if (int64_t use = process.registers[place->use]; use < 0) {
      instruction.op->emitError() << "is at use " << use << " of channel '"
                                  << channels[place->channel].getName()
                                  << "', and uses are counted from 0";
      return Outcome::Wrong;
    }
  Outcome outcome = act(process, instruction, number);
  if (outcome == Outcome::Waits)
    --process.at;
  return outcome;
}

/// Executes instructions that others can observe, and those that read the list.
ProtocolRun::Outcome ProtocolRun::act(Process &process, const Instruction &instruction,
                                      size_t number) {
  switch (instruction.opcode) {
  case Opcode::Access:
    return succeeded(access(process, instruction, number)) ? Outcome::Ran : Outcome::Wrong;
  case Opcode::Synchronize:
    return synchronize(process, instruction, number);
  case Opcode::Turn:
    return instruction.is(SumAction::Take) ? acquireTurn(process, instruction)
                                           : releaseTurn(process, instruction, number);
  default:
    return succeeded(readList(process, instruction)) ? Outcome::Ran : Outcome::Wrong;
  }
}

//===----------------------------------------------------------------------===//
// Numbers and the list
//===----------------------------------------------------------------------===//

/// Executes an instruction on numbers, or a jump; false for other instructions.
bool ProtocolRun::compute(Process &process, const Instruction &instruction) {
  auto &registers = process.registers;
  auto in = [&](unsigned i) -> uint64_t { return registers[instruction.in[i]]; };
  auto give = [&](uint64_t value) {
    registers[instruction.out.front()] = value;
    return true;
  };
  switch (instruction.opcode) {
  case Opcode::Add:
    return give(in(0) + in(1));
  case Opcode::Subtract:
    return give(in(0) - in(1));
  case Opcode::Multiply:
    return give(in(0) * in(1));
  case Opcode::Divide:
    return give(in(1) ? in(0) / in(1) : 0);
  case Opcode::Remainder:
    return give(in(1) ? in(0) % in(1) : in(0));
  case Opcode::Select:
    return give(in(0) ? in(1) : in(2));
  case Opcode::VisibleSteps:
    return give(HiddenSteps::of(instruction).visible(in(0)));
  case Opcode::Compare:
    return give(arith::applyCmpPredicate(cast<arith::CmpIOp>(instruction.op).getPredicate(),
                                         APInt(64, in(0)), APInt(64, in(1))));
  case Opcode::Copy: { // all at once: a loop may exchange the values it carries
    SmallVector<int64_t, 8> values;
    for (unsigned source : instruction.in)
      values.push_back(registers[source]);
    for (auto [target, value] : llvm::zip_equal(instruction.out, values))
      registers[target] = value;
    return true;
  }
  case Opcode::Jump:
    process.at = instruction.target;
    return true;
  case Opcode::JumpIfZero:
    if (!in(0))
      process.at = instruction.target;
    return true;
  case Opcode::JumpAtEnd:
    if (int64_t(in(0)) >= int64_t(in(1)))
      process.at = instruction.target;
    return true;
  case Opcode::Ring: {
    uint64_t depth =
        cast<RingOp>(instruction.op).getChannel().getDefiningOp<ChannelOp>().getDepth();
    registers[instruction.out[0]] = in(0) % depth;
    registers[instruction.out[1]] = in(0) / depth % 2;
    return true;
  }
  default:
    return false;
  }
}

LogicalResult ProtocolRun::readList(Process &process, const Instruction &instruction) {
  int64_t items = list.steps.size();
  auto in = [&](unsigned i) { return process.registers[instruction.in[i]]; };
  auto give = [&](std::initializer_list<int64_t> values) {
    for (auto [target, value] : llvm::zip_equal(instruction.out, values))
      process.registers[target] = value;
    return success();
  };
  if (instruction.opcode == Opcode::NumItems)
    return give({items});
  if (instruction.opcode == Opcode::WarpOfRole)
    return give({process.warp});
  // The address of an item's first visit is the item's number.
  int64_t item = in(0);
  if (item < 0 || item >= items)
    return instruction.op->emitError() << "reads item " << item << " of a list of " << items;
  if (instruction.opcode == Opcode::ReadItem)
    return give(
        {list.sequence(item), 0, list.kvTile(item), 0, item, list.visits(item), list.rounds(item)});
  if (instruction.opcode == Opcode::ReadPart)
    return give({list.partTurn(item), list.isLastPart(item)});
  int64_t visit = in(1), round = in(3);
  if (round < 0 || visit < 0 || !list.visitsTile(item, round, visit))
    return instruction.op->emitError()
           << "reads visit " << visit << " of round " << round << " of an item with "
           << list.visits(item) << " visits in " << list.rounds(item) << " rounds";
  auto visits = [&](int64_t other) {
    return list.sequence(other) == list.sequence(item) && list.visitsTile(other, round, visit);
  };
  int64_t turn = llvm::count_if(llvm::seq<int64_t>(0, item), visits);
  bool isLast = llvm::none_of(llvm::seq<int64_t>(item + 1, items), visits);
  return give({in(2) + round, visit, turn, isLast});
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

std::string ProtocolRun::nameOf(const Process &process) const {
  RoleOp role = process.program->role;
  std::string name = llvm::formatv("role '{0}'", role.getName());
  return role.isReducer() ? name + llvm::formatv(", warp {0}", process.warp).str() : name;
}

static std::string toString(WorkerList list) {
  std::string text = llvm::formatv("a list of {0} items", list.steps.size());
  if (!list.steps.empty())
    text +=
        llvm::formatv(" of {0:$[, ]} steps", llvm::make_range(list.steps.begin(), list.steps.end()))
            .str();
  return text;
}

LogicalResult ProtocolRun::reportWaits() {
  auto diagnostic = workers.emitError() << "roles wait for ever, on " << toString(list);
  for (Process &process : processes) {
    if (process.isDone())
      continue;
    const Instruction &instruction = process.program->code[process.at];
    Diagnostic &note = diagnostic.attachNote(instruction.op->getLoc());
    note << nameOf(process) << ", waits ";
    if (const auto &place = instruction.place)
      note << "for use " << process.registers[place->use] << " of channel '"
           << channels[place->channel].getName() << "' to be "
           << stringifyBarrierSide(instruction.sync->side);
    else if (instruction.is(SyncKind::TakeTensorCore))
      note << "for the tensor core";
    else
      note << "for turn " << process.registers[instruction.in.front()] << " of a tile";
  }
  return diagnostic;
}

/// All tensors have the same tiles of results, each as often: in all slices, from all warpgroups.
LogicalResult ProtocolRun::checkLeaving() {
  llvm::MapVector<decltype(TileKey::second), int64_t> expected; // of a tile
  llvm::MapVector<Value, Operation *> tensors;
  for (auto &[key, one] : leaving) {
    tensors.insert({key.first, one.op});
    int64_t &most = expected.try_emplace(key.second, 0).first->second;
    most = std::max(most, *llvm::max_element(one.counts));
  }
  for (auto &[tile, count] : expected)
    for (auto &[tensor, op] : tensors) {
      const auto *found = leaving.find({tensor, tile});
      const int64_t none[] = {0};
      ArrayRef<int64_t> counts =
          found == leaving.end() ? ArrayRef(none) : ArrayRef(found->second.counts);
      int64_t parts = rowParts / op->getParentOfType<RoleOp>().getWarpgroups().value_or(1);
      for (auto [i, times] : llvm::enumerate(counts))
        if (times != count)
          return op->emitError() << "copies results out of which slice " << i / rowParts
                                 << " of tile (" << tile.first << ", " << tile.second.first << ", "
                                 << tile.second.second << ") leaves " << times
                                 << " times from warpgroup " << i % rowParts / parts
                                 << ", expected " << count
                                 << ": as often as all slices of all results";
    }
  return success();
}

/// Nothing is in flight, and the next worker finds the barriers as this one did.
LogicalResult ProtocolRun::checkEnd() {
  for (const Process &process : processes)
    if (process.unfinished > 0 || !process.openCopies.empty() || !process.products.empty()) {
      RoleOp role = process.program->role;
      return role.emitError() << "ends while copies or products are under way";
    }
  for (auto [channel, both] : llvm::zip_equal(channels, barriers))
    for (size_t i = 0; i < both.size(); i += 2)
      if (!both[i].isUntouched() || !both[i + 1].isUntouched() ||
          both[i].getComplete() != both[i + 1].getComplete())
        return channel.emitError() << "slot " << i / 2 << " of channel '" << channel.getName()
                                   << "' is not empty where all roles end";
  if (failed(checkLeaving()))
    return failure();
  for (const Handover &handover : handovers)
    if (handover.isGiven)
      return handover.given.op->emitError(
          "gives the tensor core to a warpgroup that never takes it");
  for (auto &[tile, counter] : counters)
    if (counter.value != allTurnsGiven)
      return workers.emitError() << "the counter of a tile is " << counter.value
                                 << " where all roles end, and must be " << allTurnsGiven
                                 << ": no turn was given as the chain's last";
  return success();
}
