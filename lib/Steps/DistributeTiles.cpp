//===- DistributeTiles.cpp - give every tile a layout ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A consumer's tile is in a slot or in registers. Its type and its defining op decide the layout;
// nothing is searched for. The role that fills a slot decides the layout of its contents. Every op
// after the slot uses the same layout, up to the function's `dash.convert`.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/IR/Panels.h"
#include "dash/IR/SlotAccess.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TileSplits.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_DISTRIBUTETILES
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The tile with a layout; null, with an error at `loc`, if it cannot have it.
static RankedTensorType withLayout(Location loc, RankedTensorType tile,
                                   VerifiableTensorEncoding layout) {
  if (failed(layout.verifyEncoding(tile.getShape(), tile.getElementType(),
                                   [&] { return emitError(loc); })))
    return nullptr;
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), layout);
}

/// The layout of a tile in a role's registers: sums as products give them, rounded tiles as the
/// next product takes them.
static RankedTensorType inRegisters(Location loc, RankedTensorType tile, int64_t warpgroups,
                                    SplitAttr split) {
  MLIRContext *context = tile.getContext();
  // Loaded row vectors belong to columns, those of a product's rows are split as it is.
  bool isPerRow =
      split && (tile.getRank() == 1 || tile.getDimSize(1) == FragmentAttr::threadsOfRow);
  if (isPerRow) {
    auto perRow =
        FragmentAttr::getChecked([&] { return emitError(loc); }, context, FragmentKind::PerRow,
                                 split.getSums().getSplit(), warpgroups);
    return perRow ? withLayout(loc, tile, perRow) : RankedTensorType();
  }
  if (tile.getRank() == 1)
    return withLayout(
        loc, tile,
        FragmentAttr::get(context, FragmentKind::PerColumn, FragmentSplit::Replicated, warpgroups));
  if (!split) {
    emitError(loc) << "no product says how warpgroups split this tile, " << tile;
    return nullptr;
  }
  FragmentAttr sums = split.getSums();
  if (tile.getElementType().isF32())
    return withLayout(loc, tile, sums);
  auto factor = FragmentAttr::getChecked([&] { return emitError(loc); }, context,
                                         FragmentKind::Operand, sums.getSplit(), warpgroups);
  return factor ? withLayout(loc, tile, factor) : RankedTensorType();
}

/// How many columns of a channel's element each warpgroup reads at once, for products that read it
/// by columns. This limits the width of its panels.
static void addPartsRead(ChannelOp channel, unsigned element, SmallVector<int64_t> &parts) {
  for (RoleOp role : channel->getParentOfType<WorkersOp>().getRoles())
    role.walk([&](MatmulOp product) {
      auto isElement = [&](Value factor) {
        std::optional<SlotAccess> named = findNamed(factor);
        return named && named->slot.channel == channel.getResult() && named->element == element;
      };
      SplitAttr split = product.getSplitAttr();
      if (product.getTransposeA() && isElement(product.getA()))
        parts.push_back(product.getType().getDimSize(0) / split.getRows());
      if (!product.getTransposeB() && isElement(product.getB()))
        parts.push_back(product.getType().getDimSize(1) / split.getColumns());
    });
}

/// The tensor whose tiles are loaded into a channel's element, or null.
static Value findSource(ChannelOp channel, unsigned element) {
  for (Operation *user : channel.getResult().getUsers())
    if (auto put = dyn_cast<PutOp>(user); put && put.isLoad())
      if (auto load = put.getElements()[element].getDefiningOp<LoadOp>())
        return load.getSource();
  return Value();
}

/// One descriptor copies a tensor's tiles for all main kernels of a program, in the same panels.
static SmallVector<int64_t> partsRead(ChannelOp channel, unsigned element) {
  SmallVector<int64_t> parts;
  addPartsRead(channel, element, parts);
  auto function = channel->getParentOfType<FunctionOpInterface>();
  Value source = findSource(channel, element);
  if (function && source)
    function.walk([&](ChannelOp other) {
      for (unsigned number : llvm::seq<unsigned>(other.getType().getNumTiles()))
        if (other != channel && findSource(other, number) == source)
          addPartsRead(other, number, parts);
    });
  return parts;
}

/// The layout of a tile in a slot: factors as the copy engine writes them, sums as the putting role
/// holds them.
static RankedTensorType inSlot(ChannelOp channel, unsigned element, RankedTensorType tile,
                               const TileSplits &splitsOfPutter) {
  if (tile.getRank() == 1)
    return tile;
  if (!tile.getElementType().isF32()) {
    MLIRContext *context = channel.getContext();
    SwizzledAttr layout = widestPanels(context, tile.getDimSize(1), partsRead(channel, element));
    // If none fits, the verifier of the tile or of its products reports the narrowest.
    return withLayout(channel.getLoc(), tile,
                      layout ? layout : SwizzledAttr::get(context, /*bytes=*/32));
  }
  RoleOp putter = channel.getPutter();
  if (!putter || !putter.isConsumer())
    return tile;
  return inRegisters(channel.getLoc(), tile, putter.getNumWarpgroups(),
                     splitsOfPutter.lookup(channel.getResult()));
}

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
    return success();
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
    Operation *op = value.getDefiningOp();
    return isa_and_present<WaitOp, HeldOp>(op) &&
           cast<RankedTensorType>(value.getType()).getRank() == 2;
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
