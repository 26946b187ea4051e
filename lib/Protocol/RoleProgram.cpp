//===- RoleProgram.cpp - a role as a list of instructions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
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
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<scf::ForOp>([&](auto op) { return readLoop(op); })
        .Case<scf::IfOp>([&](auto op) { return readBranch(op); })
        .Case<scf::YieldOp>([](auto) { return success(); }) // whose parent has read it
        .Case<RingOp>([&](auto op) { return add(Opcode::Ring, op, {op.getUse()}), success(); })
        .Case<MbarrierWaitOp>([&](auto op) { return readWait(op); })
        .Case<MbarrierArriveOp>([&](auto op) { return readSlot(Opcode::Arrive, op); })
        .Case<MbarrierExpectOp>([&](auto op) { return readSlot(Opcode::Expect, op); })
        .Case<CopyInOp>([&](auto op) {
          return readSlot(Opcode::CopyIn, op, op.getElement(), true, {},
                          {op.getSequence(), op.getHead(), op.getTile()});
        })
        .Case<CopyOutOp>([&](auto op) {
          return readSlot(Opcode::CopyOut, op, op.getElement(), false, {},
                          {op.getSequence(), op.getHead(), op.getTile()});
        })
        .Case<LoadRowOp>([&](auto op) {
          return readSlot(Opcode::LoadRow, op, op.getElement(), true, {}, op.getResult());
        })
        .Case<LoadFactorOp>([&](auto op) { return readFactor(op); })
        .Case<HideOp>([&](auto op) { return readHide(op); })
        .Case<StoreFragmentOp>([&](auto op) {
          return readSlot(Opcode::StoreFragment, op, op.getElement(), false, {}, op.getValue());
        })
        .Case<WriteIndicesOp>([&](auto op) {
          return readSlot(Opcode::WriteIndices, op, op.getChannel().getType().getNumTiles(), true,
                          op.getIndices());
        })
        .Case<ReadIndicesOp>([&](auto op) {
          return readSlot(Opcode::ReadIndices, op, op.getChannel().getType().getNumTiles());
        })
        .Case<BulkAddOp, BulkStoreOp>([&](auto op) {
          return readSlot(Opcode::AddTile, op, 0, true,
                          {op.getSequence(), op.getHead(), op.getTile()});
        })
        .Case<AcquireTurnOp, ReleaseTurnOp>([&](Operation *op) {
          program.takesTurns = true;
          return readTurn(op);
        })
        .Case<MatmulOp>([&](auto op) { return readProduct(op); })
        .Case<WgmmaWaitOp>([&](auto op) {
          add(Opcode::WaitProducts, op, op->getOperands());
          return copy(op, op.getInputs(), op.getOutputs()), success();
        })
        .Case<RoundOp, PieceOp, SoftcapOp, LogProbabilityOp, Exp2Op, DampOp, ScoreGradientOp>(
            [&](auto op) { return computeTile(op), success(); })
        .Default([&](Operation *op) { return readOther(op); });
  }

  LogicalResult readOther(Operation *op) {
    using Known = std::optional<Opcode>;
    Known opcode =
        llvm::TypeSwitch<Operation *, Known>(op)
            .Case<arith::AddIOp>([](auto) { return Opcode::Add; })
            .Case<arith::SubIOp>([](auto) { return Opcode::Subtract; })
            .Case<arith::MulIOp>([](auto) { return Opcode::Multiply; })
            .Case<arith::DivUIOp>([](auto) { return Opcode::Divide; })
            .Case<arith::RemUIOp>([](auto) { return Opcode::Remainder; })
            .Case<arith::CmpIOp>([](auto) { return Opcode::Compare; })
            .Case<arith::SelectOp>([](auto) { return Opcode::Select; })
            .Case<NumItemsOp>([](auto) { return Opcode::NumItems; })
            .Case<ReadItemOp>([](auto) { return Opcode::ReadItem; })
            .Case<ReadPartOp>([](auto) { return Opcode::ReadPart; })
            .Case<ReadVisitOp>([](auto) { return Opcode::ReadVisit; })
            .Case<WarpOfRoleOp>([](auto) { return Opcode::WarpOfRole; })
            .Case<TakeTensorCoreOp>([](auto) { return Opcode::TakeTensorCore; })
            .Case<GiveTensorCoreOp>([](auto) { return Opcode::GiveTensorCore; })
            .Case<NVVM::CpAsyncBulkCommitGroupOp>([](auto) { return Opcode::CommitCopies; })
            .Case<NVVM::CpAsyncBulkWaitGroupOp>([](auto) { return Opcode::WaitCopies; })
            .Default([](Operation *) { return Known(); });
    if (opcode)
      return add(*opcode, op, op->getOperands()), success();
    // A constant's register has its value. Fences are verify-waits' business; for a number of turns nobody waits.
    if (matchPattern(op, m_Constant()) ||
        isa<SlotTileOp, BandLeadOp, SyncWarpgroupOp, DelayOp, CountTurnsOp, NVVM::FenceProxyOp>(op))
      return success();
    return op->emitError("is unknown to the proof of the protocol: what it does to slots, barriers "
                         "and numbers must be said in RoleProgram.cpp");
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
    program.code.push_back({opcode, op, registersOf(in), registersOf(op->getResults()), {}});
    return program.code.back();
  }

  void setTiles(Instruction &instruction, ValueRange operands, ValueRange result = {}) {
    instruction.tiles = registersOf(operands);
    llvm::append_range(instruction.tiles, registersOf(result));
  }

  void computeTile(Operation *op) {
    setTiles(add(Opcode::ComputeTile, op, {}), op->getOperands(), op->getResults());
  }

  void copy(Operation *op, ValueRange from, ValueRange to) {
    if (!to.empty())
      program.code.push_back({Opcode::Copy, op, registersOf(from), registersOf(to), {}});
  }

  /// A jump whose target is still to be set.
  size_t jump(Opcode opcode, Operation *op, ValueRange in) {
    program.code.push_back({opcode, op, registersOf(in), {}, {}});
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
    program.code.push_back({Opcode::Add, loop, next, {next.front()}, {}});
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
  // Slots
  //===--------------------------------------------------------------------===//

  FailureOr<SlotPlace> placeOf(Operation *op, Value channel, Value slot, unsigned element,
                               bool isWhole) {
    auto ring = slot.getDefiningOp<RingOp>();
    if (ring && slot == ring.getSlot() && ring.getChannel() == channel)
      return SlotPlace{channels.lookup(channel), registerOf(ring.getUse()), element, isWhole};
    return op->emitError("has a slot that is none of a use: the slot of a 'dash.ring' of its "
                         "channel");
  }

  template <typename OpT>
  LogicalResult readSlot(Opcode opcode, OpT op, unsigned element = 0, bool isWhole = true,
                         ValueRange in = {}, ValueRange tiles = {}) {
    FailureOr<SlotPlace> place = placeOf(op, op.getChannel(), op.getSlot(), element, isWhole);
    if (failed(place))
      return failure();
    Instruction &instruction = add(opcode, op, in);
    instruction.places.push_back(*place);
    setTiles(instruction, tiles);
    return success();
  }

  LogicalResult readWait(MbarrierWaitOp op) {
    return readSlot(Opcode::Wait, op, 0, true, op.getPhase());
  }

  LogicalResult readTurn(Operation *op) {
    add(isa<AcquireTurnOp>(op) ? Opcode::AcquireTurn : Opcode::ReleaseTurn, op,
        op->getOperands().drop_front());
    return success();
  }

  FailureOr<SlotPlace> placeOfTile(Operation *op, Value factor, bool isWhole) {
    if (auto tile = factor.getDefiningOp<SlotTileOp>())
      return placeOf(tile, tile.getChannel(), tile.getSlot(), tile.getElement(), isWhole);
    return op->emitError("has a factor in a slot that no 'dash.slot_tile' names");
  }

  /// Its rows are those of the warpgroup, as of `dash.store_fragment`.
  LogicalResult readFactor(LoadFactorOp op) {
    FailureOr<SlotPlace> place = placeOfTile(op, op.getTile(), /*isWhole=*/false);
    if (failed(place))
      return failure();
    Instruction &instruction = add(Opcode::LoadRow, op, {});
    instruction.places.push_back(*place);
    setTiles(instruction, op.getResult());
    return success();
  }

  /// The numbers that it is told, and the slot in which it reads them again.
  LogicalResult readHide(HideOp op) {
    computeTile(op);
    if (!op.getChannel())
      return success();
    SmallVector<Value, 2> told = {op.getKvTile()};
    if (op.getSequence())
      told.push_back(op.getSequence());
    FailureOr<SlotPlace> place =
        placeOf(op, op.getChannel(), op.getSlot(), op.getChannel().getType().getNumTiles(), true);
    if (failed(place))
      return failure();
    add(Opcode::ReadAgain, op, told).places.push_back(*place);
    return success();
  }

  /// The left factor's rows go with the result's: a warpgroup reads its own, where it has rows of the result.
  LogicalResult readProduct(MatmulOp op) {
    SmallVector<SlotPlace, 2> places;
    auto layout = dyn_cast_or_null<FragmentAttr>(op.getResult().getType().getEncoding());
    bool isByRows = layout && layout.getSplit() == FragmentSplit::Rows && !op.getTransposeA();
    for (Value factor : {op.getA(), op.getB()}) {
      if (!isa_and_present<SwizzledAttr>(cast<RankedTensorType>(factor.getType()).getEncoding()))
        continue;
      FailureOr<SlotPlace> place = placeOfTile(op, factor, factor == op.getB() || !isByRows);
      if (failed(place))
        return failure();
      places.push_back(*place);
    }
    Instruction &instruction = add(Opcode::Issue, op, {});
    instruction.places = places;
    setTiles(instruction, op->getOperands(), op->getResults());
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

FailureOr<SmallVector<RoleProgram>> dash::readRoles(WorkersOp workers) {
  for (ChannelOp channel : workers.getChannels())
    if (!channel.getArrivals())
      return channel.emitError() << "does not say how many arrive at its barriers; run "
                                    "--dash-insert-waits first";
  SmallVector<RoleProgram> programs;
  for (RoleOp role : workers.getRoles()) {
    if (role.isConsumer() && role.getNumWarpgroups() > 1)
      return role.emitError() << "is of " << role.getNumWarpgroups()
                              << " warpgroups; run --dash-split-warpgroups first";
    int64_t warpgroup = role.getWarpgroup().value_or(0), all = role.getWarpgroups().value_or(1);
    if (warpgroup < 0 || warpgroup >= all)
      return role.emitError() << "is warpgroup " << warpgroup << " of " << all
                              << ", which are counted from 0";
    FailureOr<RoleProgram> program = RoleProgram::read(role);
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
  }
  return programs;
}
