//===- BufferPlan.h - what plans have in common ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of the plan that we make, for any chip: who plans, who checks and who lowers must mean the
// same ones. Those of a chip are in its TargetDescription.
//===----------------------------------------------------------------------===//

#ifndef DASH_PIPELINE_BUFFERPLAN_H
#define DASH_PIPELINE_BUFFERPLAN_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// The first bytes of shared memory are reserved: for barriers, for the indices of slots, and from `ticketOffset` on for the index of a
/// worker that draws it. Slots may take all other bytes of a block.
constexpr int64_t reservedBytes = 1024, ticketOffset = reservedBytes - 16;
/// Bytes of an mbarrier, and those of reserved memory for the indices of a slot: one load brings all of them.
constexpr int64_t barrierBytes = 8, indexBytesOfSlot = 16;

/// Where tiles start: the longest period of a swizzle. Where row vectors start: a bank row.
constexpr int64_t tileAlignment = SwizzledAttr::rowsOfGroup * SwizzledAttr::mostBytes,
                  rowAlignment = 128;

/// Slots of a channel at most; more never fit.
constexpr int64_t maxDepth = 8;

} // namespace mlir::dash

#endif // DASH_PIPELINE_BUFFERPLAN_H
