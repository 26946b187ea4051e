//===- DistributeTiles.cpp - give every tile a layout ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A consumer's tile is in a slot or in registers. Its type and its defining op decide the layout;
// nothing is searched for. The role that fills a slot decides the layout of its contents. Every op
// after the slot uses the same layout, up to the function's `dash.convert`.
//
//===----------------------------------------------------------------------===//

#include "TileLayouts.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/SlotAccess.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TileSplits.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::dash {
#define GEN_PASS_DEF_DISTRIBUTETILES
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

class ConsumerTiles {
public:
  ConsumerTiles(RoleOp role, const TileSplits &splits)
      : role(role), splits(splits), b(OpBuilder::atBlockBegin(&role.getBody().front())) {}

  LogicalResult distribute() {
    if (role.getWarps() % warpsOfWarpgroup != 0)
      return role.emitError() << "a consumer needs whole warpgroups, of " << warpsOfWarpgroup
                              << " warps each, got " << role.getWarps() << " warps";
    WalkResult result = role.walk([&](Operation *op) {
      return failed(distribute(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  LogicalResult distribute(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (failed(takeIn(op, operand)))
        return failure();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(hold(argument, splits.lookup(argument))))
          return failure();
    for (OpResult result : op->getResults())
      if (failed(hold(result, splits.lookup(result))))
        return failure();
    reshapeConstant(op);
    return success();
  }

  static void reshapeConstant(Operation *op) {
    Attribute value;
    if (op->getNumResults() == 1 && op->hasTrait<OpTrait::ConstantLike>() &&
        matchPattern(op, m_Constant(&value)))
      if (auto elements = dyn_cast<DenseElementsAttr>(value))
        op->setAttr("value", elements.reshape(cast<ShapedType>(op->getResult(0).getType())));
  }

  /// Gives a value of the role its layout.
  LogicalResult hold(Value value, SplitAttr split) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile || tile.getEncoding())
      return success();
    RankedTensorType type = isInSlot(value)
                                ? elementOf(value)
                                : inRegisters(value.getLoc(), tile, role.getNumWarpgroups(), split);
    if (!type)
      return failure();
    value.setType(type);
    return checkPassed(value, type);
  }

  /// What other threads held goes to the same registers here.
  static LogicalResult checkPassed(Value value, RankedTensorType type) {
    auto wait = value.getDefiningOp<WaitOp>();
    RankedTensorType put = wait && type.getRank() == 2 ? elementOf(value) : type;
    if (put == type)
      return success();
    return wait.emitError() << "gets what other threads held, in another layout: expected " << type
                            << ", got " << put;
  }

  /// Only products read slots; every other op needs its operands in registers. A constant of the
  /// function becomes one of the role.
  LogicalResult takeIn(Operation *op, OpOperand &operand) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      return success();
    if (isInSlot(value) && !isa<MatmulOp, LoadFactorOp>(op))
      return op->emitError() << "uses a tile of a slot, which only products can read; what goes "
                                "around a loop is read again with 'dash.held'";
    if (role->isProperAncestor(value.getParentRegion()->getParentOp()) ||
        value.getParentRegion() == &role.getBody())
      return success();
    Operation *constant = value.getDefiningOp();
    if (!constant || !constant->hasTrait<OpTrait::ConstantLike>())
      return op->emitError("uses a tile from outside of its role, which can only be a constant");
    Operation *&copy = constants[constant];
    if (!copy) {
      copy = b.clone(*constant);
      if (failed(hold(copy->getResult(0), splits.lookup(constant->getResult(0)))))
        return failure();
      reshapeConstant(copy);
    }
    operand.set(copy->getResult(0));
    return success();
  }

  /// The type in its channel, which already has its layouts.
  static RankedTensorType elementOf(Value value) {
    SlotAccess named = *findNamed(value);
    auto channel = cast<ChannelType>(named.slot.channel.getType());
    return cast<RankedTensorType>(channel.getElements()[named.element]);
  }

  static bool isInSlot(Value value) {
    auto tile = cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    return isa_and_present<WaitOp, HeldOp>(op) && !WaitOp::isReadByThreads(tile);
  }

  RoleOp role;
  const TileSplits &splits;
  OpBuilder b;                                        // at the role's begin
  llvm::DenseMap<Operation *, Operation *> constants; // looked up only
};

struct DistributeTiles : public dash::impl::DistributeTilesBase<DistributeTiles> {
  void runOnOperation() override {
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) { all.push_back(workers); });
    if (all.empty())
      getOperation().emitWarning("no 'dash.workers' whose tiles to distribute; run "
                                 "--dash-assign-roles first");
    for (WorkersOp workers : all)
      if (failed(distribute(workers)))
        return signalPassFailure();
  }

private:
  LogicalResult distribute(WorkersOp workers) {
    llvm::DenseMap<Operation *, TileSplits> splits; // looked up only
    for (RoleOp role : workers.getRoles()) {
      FailureOr<TileSplits> ofRole = TileSplits::read(role);
      if (failed(ofRole))
        return failure();
      splits[role] = *std::move(ofRole);
    }
    for (ChannelOp channel : workers.getChannels())
      if (RoleOp putter = channel.getPutter(); failed(distribute(channel, splits[putter])))
        return failure();
    for (RoleOp role : workers.getRoles())
      if (role.isConsumer() ? failed(ConsumerTiles(role, splits[role]).distribute())
                            : failed(followChannels(role)))
        return failure();
    return success();
  }

  static LogicalResult distribute(ChannelOp channel, const TileSplits &splits) {
    SmallVector<Type> elements(channel.getType().getElements());
    for (auto [number, element] : llvm::enumerate(elements))
      if (auto tile = dyn_cast<RankedTensorType>(element))
        if (!(element = inSlot(channel, number, tile, splits)))
          return failure();
    channel.getResult().setType(ChannelType::get(channel.getContext(), elements));
    return success();
  }

  /// A reducer's tiles have their channel's layouts, in slots and in memory. So do the sums that
  /// are converted.
  static LogicalResult followChannels(RoleOp role) {
    role.walk([](WaitOp wait) {
      for (auto [tile, type] : llvm::zip(wait.getTiles(), wait.getChannel().getType().getTiles()))
        tile.setType(type);
    });
    WalkResult result = role.walk([](Operation *op) {
      Value value, target;
      if (auto reduce = dyn_cast<OrderedReduceOp>(op))
        value = reduce.getValue(), target = reduce.getTarget();
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        value = reduce.getValue(), target = reduce.getTarget();
      else
        return WalkResult::advance();
      auto tile = cast<RankedTensorType>(value.getType());
      auto layout = dyn_cast_or_null<FragmentAttr>(tile.getEncoding());
      if (!layout) {
        op->emitError("adds a tile that no consumer has put into a slot");
        return WalkResult::interrupt();
      }
      for (Operation *user : target.getUsers())
        if (auto convert = dyn_cast<ConvertOp>(user))
          convert.setLayoutAttr(layout);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
