//===- TileLayouts.cpp - layouts of tiles in slots and registers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileLayouts.h"
#include "dash/IR/Panels.h"
#include "dash/IR/SlotAccess.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

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

RankedTensorType dash::inRegisters(Location loc, RankedTensorType tile, int64_t warpgroups,
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

RankedTensorType dash::inSlot(ChannelOp channel, unsigned element, RankedTensorType tile,
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
