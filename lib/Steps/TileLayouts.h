//===- TileLayouts.h - layouts of tiles in slots and registers --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_TILELAYOUTS_H
#define DASH_LIB_STEPS_TILELAYOUTS_H

#include "dash/IR/DashOps.h"
#include "dash/IR/TileSplits.h"

namespace mlir::dash {

/// The layout of a tile in a role's registers: sums as products give them, rounded tiles as the
/// next product takes them. Null, with an error at `loc`, if it cannot have one.
RankedTensorType inRegisters(Location loc, RankedTensorType tile, int64_t warpgroups,
                             SplitAttr split);

/// The layout of a tile in a slot: factors as the copy engine writes them, sums as the putting role
/// holds them.
RankedTensorType inSlot(ChannelOp channel, unsigned element, RankedTensorType tile,
                        const TileSplits &splitsOfPutter);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_TILELAYOUTS_H
