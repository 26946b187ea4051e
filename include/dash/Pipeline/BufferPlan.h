//===- BufferPlan.h - what all buffer plans share ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of dash's own plan, for any chip: planning, checking and lowering passes must agree on
// them. Numbers of a chip are in its TargetDescription.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_PIPELINE_BUFFERPLAN_H
#define DASH_PIPELINE_BUFFERPLAN_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// The first bytes of shared memory are reserved: for barriers, for the indices of slots, and from
/// `ticketOffset` on for the index that a worker draws. Slots may take all other bytes of a block.
constexpr int64_t reservedBytes = 1024, ticketOffset = reservedBytes - 16;
/// Bytes of an mbarrier, and reserved bytes for the indices of a slot: one load reads all of them.
constexpr int64_t barrierBytes = 8, indexBytesOfSlot = 16;

/// Tiles start at multiples of the longest period of a swizzle, row vectors at multiples of a bank
/// row.
constexpr int64_t tileAlignment = SwizzledAttr::rowsOfGroup * SwizzledAttr::mostBytes,
                  rowAlignment = 128;

/// Slots of results on their way to memory: the second slice is written while the first is copied.
constexpr int64_t slotsOfWayOut = 2;

/// The most slots of a channel; more never fit.
constexpr int64_t maxDepth = 8;

} // namespace mlir::dash

#endif // DASH_PIPELINE_BUFFERPLAN_H
