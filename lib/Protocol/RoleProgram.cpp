//===- RoleProgram.cpp - a role as a list of instructions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleProgram.h"
#include "SlotRing.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class Reader {
public:
  explicit Reader(RoleOp role) {
    program.role = role;
    for (auto [number, channel] :
         llvm::enumerate(cast<WorkersOp>(role->getParentOp()).getChannels()))
      channels[channel.getResult()] = number;
  }

  LogicalResult read(Region &region) {
    for (Operation &op : region.getOps())
      if (failed(read(&op)))
        return failure();
    return success();
  }

  RoleProgram program;

private:
  LogicalResult read(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return readLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return readBranch(branch);
    if (isa<scf::YieldOp>(op) ||
        matchPattern(op, m_Constant())) // its parent has read it; its register has its value
      return success();
    if (auto ring = dyn_cast<RingOp>(op))
      return add(Opcode::Ring, op, ring.getUse()), success();
    if (std::optional<Opcode> opcode = numbersOf(op))
      return add(*opcode, op, op->getOperands()), success();
    if (failed(verifySpelledOut(op)) || failed(checkKnown(op)) || failed(readEffects(op)))
      return failure();
    if (auto wait = dyn_cast<WgmmaWaitOp>(op)) // result: the same sums
      copy(wait, wait.getInputs(), wait.getOutputs());
    else if (computesTile(op))
      computeTile(op);
    return success();
  }

  /// The effect of an op on numbers, or of one that reads the worker's list.
  static std::optional<Opcode> numbersOf(Operation *op) {
    using Known = std::optional<Opcode>;
    return llvm::TypeSwitch<Operation *, Known>(op)
        .Case<arith::AddIOp>([](auto) { return Opcode::Add; })
        .Case<arith::SubIOp>([](auto) { return Opcode::Subtract; })
        .Case<arith::MulIOp>([](auto) { return Opcode::Multiply; })
        .Case<arith::DivUIOp>([](auto) { return Opcode::Divide; })
        .Case<arith::RemUIOp>([](auto) { return Opcode::Remainder; })
        .Case<arith::CmpIOp>([](auto) { return Opcode::Compare; })
        .Case<VisibleStepsOp>([](auto) { return Opcode::VisibleSteps; })
        .Case<arith::SelectOp>([](auto) { return Opcode::Select; })
        .Case<NumItemsOp>([](auto) { return Opcode::NumItems; })
        .Case<ReadItemOp>([](auto) { return Opcode::ReadItem; })
        .Case<ReadPartOp>([](auto) { return Opcode::ReadPart; })
        .Case<ReadVisitOp>([](auto) { return Opcode::ReadVisit; })
        .Case<WarpOfRoleOp>([](auto) { return Opcode::WarpOfRole; })
        .Default([](Operation *) { return Known(); });
  }

  /// An op of dash states its effects on others, or has none. An op of another dialect is known
  /// only if it has no effect.
  static LogicalResult checkKnown(Operation *op) {
    if (isa<SlotAccessInterface, SyncInterface, SumAccessInterface, BandLeadOp>(op))
      return success(); // the model has no leads
    auto isNumber = [](Type type) { return type.isIntOrIndex(); };
    if (llvm::any_of(op->getResultTypes(), isNumber))
      return op->emitError("gives a number that the proof of the protocol does not know: how it is "
                           "computed must be said in RoleProgram.cpp");
    bool isOfDash = isa_and_present<DashDialect>(op->getDialect());
    if (op->getNumRegions() == 0 && (isOfDash || isMemoryEffectFree(op)))
      return success();
    return op->emitError("is unknown to the proof of the protocol: what it does to slots and "
                         "barriers must be said by SlotAccessInterface, SyncInterface or "
                         "SumAccessInterface");
  }

  //===--------------------------------------------------------------------===//
  // Values and jumps
  //===--------------------------------------------------------------------===//

  unsigned registerOf(Value value) {
    auto [found, isNew] = registers.try_emplace(value, program.registers.size());
    if (isNew) {
      APInt number;
      bool isKnown = matchPattern(value, m_ConstantInt(&number));
      program.registers.push_back(!isKnown                    ? 0
                                  : number.getBitWidth() == 1 ? number.getZExtValue()
                                                              : number.getSExtValue());
    }
    return found->second;
  }

  SmallVector<unsigned, 4> registersOf(ValueRange values) {
    return llvm::map_to_vector<4>(values, [&](Value value) { return registerOf(value); });
  }

  Instruction &add(Opcode opcode, Operation *op, ValueRange in) {
    program.code.push_back({opcode, op, registersOf(in), registersOf(op->getResults())});
    return program.code.back();
  }

  /// Computes tiles, and does not read them in place from a slot; or writes one to memory, and not
  /// through a slot.
  static bool computesTile(Operation *op) {
    if (isa<StoreRowOp>(op))
      return true;
    auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
    if (op->getNumResults() == 0 || !llvm::all_of(op->getResultTypes(), isTile))
      return false;
    return llvm::none_of(accessesOf(op), [&](const SlotAccess &access) {
      return llvm::is_contained(op->getResults(), access.tile);
    });
  }

  void computeTile(Operation *op) {
    Instruction &instruction = add(Opcode::ComputeTile, op, {});
    instruction.tiles = registersOf(op->getOperands());
  }

  void copy(Operation *op, ValueRange from, ValueRange to) {
    if (!to.empty())
      program.code.push_back({Opcode::Copy, op, registersOf(from), registersOf(to)});
  }

  /// A jump whose target is set later.
  size_t jump(Opcode opcode, Operation *op, ValueRange in) {
    program.code.push_back({opcode, op, registersOf(in)});
    return program.code.size() - 1;
  }
  void land(size_t jump) { program.code[jump].target = program.code.size(); }

  LogicalResult readLoop(scf::ForOp loop) {
    Value variable = loop.getInductionVar();
    SmallVector<Value> inits = {loop.getLowerBound()}, carried = {variable};
    llvm::append_range(inits, loop.getInitArgs());
    llvm::append_range(carried, loop.getRegionIterArgs());
    copy(loop, inits, carried);
    size_t begin = jump(Opcode::JumpAtEnd, loop, {variable, loop.getUpperBound(), loop.getStep()});
    if (failed(read(loop.getRegion())))
      return failure();
    copy(loop, loop.getYieldedValues(), loop.getRegionIterArgs());
    SmallVector<unsigned, 4> next = registersOf({variable, loop.getStep()});
    program.code.push_back({Opcode::Add, loop, next, {next.front()}});
    program.code[jump(Opcode::Jump, loop, {})].target = begin;
    land(begin);
    copy(loop, loop.getRegionIterArgs(), loop.getResults());
    return success();
  }

  LogicalResult readSide(scf::IfOp branch, Region &side) {
    if (side.empty())
      return success();
    if (failed(read(side)))
      return failure();
    copy(branch, side.front().getTerminator()->getOperands(), branch.getResults());
    return success();
  }

  LogicalResult readBranch(scf::IfOp branch) {
    size_t otherwise = jump(Opcode::JumpIfZero, branch, branch.getCondition());
    if (failed(readSide(branch, branch.getThenRegion())))
      return failure();
    size_t end = jump(Opcode::Jump, branch, {});
    land(otherwise);
    if (failed(readSide(branch, branch.getElseRegion())))
      return failure();
    land(end);
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Effects of ops
  //===--------------------------------------------------------------------===//

  LogicalResult readEffects(Operation *op) {
    std::optional<SumAccess> contribution;
    for (const SumAccess &sum : sumAccessesOf(op))
      if (sum.isOfTurns())
        readTurn(op, sum);
      else if (sum.isContribution())
        contribution = sum;
    for (const SlotAccess &access : accessesOf(op))
      if (failed(readAccess(op, access, contribution)))
        return failure();
    for (const Sync &sync : syncsOf(op))
      if (failed(readSync(op, sync)))
        return failure();
    return success();
  }

  FailureOr<SlotPlace> placeOf(Operation *op, const SlotRef &slot) {
    FailureOr<RingOp> ring = ringOf(op, slot);
    if (failed(ring))
      return failure();
    return SlotPlace{channels.lookup(slot.channel), registerOf(ring->getUse())};
  }

  SmallVector<unsigned, 4> registersOfTile(const MemoryRef &memory) {
    if (memory.isOfTask())
      return registersOf({memory.sequence, memory.head, memory.tile, memory.kvHead, memory.kvTile});
    return registersOf({memory.sequence, memory.head, memory.tile});
  }

  LogicalResult readAccess(Operation *op, const SlotAccess &access,
                           const std::optional<SumAccess> &contribution) {
    FailureOr<SlotPlace> place = placeOf(op, access.slot);
    if (failed(place))
      return failure();
    if (access.kind == AccessKind::Name) // no effect yet
      return success();
    place->element = access.element;
    place->isWhole = access.rows == AccessRows::Whole;
    Instruction instruction{Opcode::Access, op};
    instruction.place = *place;
    instruction.access = access;
    instruction.sum = contribution;
    if (access.tile)
      instruction.tiles = {registerOf(access.tile)};
    if (access.memory)
      instruction.memory = registersOfTile(access.memory);
    for (const SlotIndex &index : access.indices) {
      bool isFound = access.kind == AccessKind::Read && !index.isTold;
      (isFound ? instruction.out : instruction.in).push_back(registerOf(index.value));
    }
    program.code.push_back(std::move(instruction));
    return success();
  }

  void readTurn(Operation *op, const SumAccess &sum) {
    program.takesTurns = true;
    Instruction instruction{Opcode::Turn, op};
    instruction.in = {registerOf(sum.action == SumAction::Take ? sum.turn : sum.isLast)};
    instruction.memory = registersOfTile(sum.sum);
    instruction.sum = sum;
    program.code.push_back(std::move(instruction));
  }

  /// --dash-verify-waits checks fences and the barriers within a warpgroup.
  LogicalResult readSync(Operation *op, const Sync &sync) {
    if (sync.kind == SyncKind::FenceShared || sync.kind == SyncKind::FenceGlobal ||
        sync.kind == SyncKind::MeetWarpgroup)
      return success();
    Instruction instruction{Opcode::Synchronize, op};
    instruction.sync = sync;
    if (sync.slot.channel) {
      FailureOr<SlotPlace> place = placeOf(op, sync.slot);
      if (failed(place))
        return failure();
      instruction.place = *place;
    }
    if (sync.phase)
      instruction.in = {registerOf(sync.phase)};
    program.code.push_back(std::move(instruction));
    return success();
  }

  llvm::DenseMap<Value, unsigned> channels;  // looked up only
  llvm::DenseMap<Value, unsigned> registers; // looked up only
};

} // namespace

FailureOr<RoleProgram> RoleProgram::read(RoleOp role) {
  Reader reader(role);
  if (failed(reader.read(role.getBody())))
    return failure();
  return std::move(reader.program);
}

HiddenSteps HiddenSteps::of(const Instruction &instruction) {
  auto op = cast<VisibleStepsOp>(instruction.op);
  auto role = op->getParentOfType<RoleOp>();
  return {int64_t(op.getHidden()), int64_t(role.getWarpgroup().value_or(0)),
          int64_t(role.getWarpgroups().value_or(1))};
}

int64_t dash::countArrivals(RoleOp role, const Sync &arrival) {
  int64_t lanes = arrival.scope == ArriveScope::Warp ? 1 : threadsOfWarp;
  return role.isConsumer() ? lanes * int64_t(role.getWarps()) : 1;
}

/// Copies of a consumer stand together, in order: which warpgroups take turns follows from that.
static LogicalResult verifyFollows(RoleOp role, RoleOp last) {
  int64_t warpgroup = role.getWarpgroup().value_or(0);
  bool follows = last && last.getWarpgroup() && last.getWarpgroups() == role.getWarpgroups() &&
                 int64_t(*last.getWarpgroup()) + 1 == warpgroup;
  if (warpgroup == 0 || follows)
    return success();
  return role.emitError() << "is warpgroup " << warpgroup << " of "
                          << role.getWarpgroups().value_or(1)
                          << ", and does not stand behind warpgroup " << warpgroup - 1
                          << " of the same consumer";
}

FailureOr<SmallVector<RoleProgram>> dash::readRoles(WorkersOp workers) {
  for (ChannelOp channel : workers.getChannels())
    if (!channel.getArrivals())
      return channel.emitError() << "does not say how many arrive at its barriers; run "
                                    "--dash-insert-waits first";
  SmallVector<RoleProgram> programs;
  RoleOp last;
  for (RoleOp role : workers.getRoles()) {
    if (role.isConsumer() && role.getNumWarpgroups() > 1)
      return role.emitError() << "is of " << role.getNumWarpgroups()
                              << " warpgroups; run --dash-split-warpgroups first";
    int64_t warpgroup = role.getWarpgroup().value_or(0), all = role.getWarpgroups().value_or(1);
    if (warpgroup < 0 || warpgroup >= all)
      return role.emitError() << "is warpgroup " << warpgroup << " of " << all
                              << ", which are counted from 0";
    if (failed(verifyFollows(role, last)))
      return failure();
    last = role;
    FailureOr<RoleProgram> program = RoleProgram::read(role);
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
  }
  return programs;
}
