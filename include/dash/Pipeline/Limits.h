//===- Limits.h - what a worker can have at most ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of a streaming multiprocessor of compute capability 9.0, and of the plan that we make for
// it: who plans and who checks must mean the same ones.
//===----------------------------------------------------------------------===//

#ifndef DASH_PIPELINE_LIMITS_H
#define DASH_PIPELINE_LIMITS_H

#include <cstdint>

namespace mlir::dash {

/// Threads of a warp, warps of a warpgroup, and warps of a block at most.
constexpr int64_t threadsOfWarp = 32, warpsOfWarpgroup = 4, maxWarps = 32;

/// Registers of a chip's block, shared by all its threads; a thread's share comes in units.
constexpr int64_t registersOfChip = 65536, registerUnit = 8;
/// Registers that a role may ask for: 255 is what an instruction can name, 240 the last unit that
/// leaves room for a second role.
constexpr int64_t minRegisters = 24, maxRegisters = 240;
/// Registers of a role that only moves tiles: the fewest.
constexpr int64_t movingRegisters = minRegisters;

/// Bytes of shared memory that a block may have, and those of them that are left for barriers.
constexpr int64_t maxSharedBytes = 232448, reservedBytes = 1024;
/// Where tiles start: the period of a 128-byte swizzle. Where row vectors start: a bank row.
constexpr int64_t tileAlignment = 1024, rowAlignment = 128;

/// Slots of a channel at most; more never fit.
constexpr int64_t maxDepth = 8;
/// Bytes of reserved memory for a slot: a full and an empty barrier.
constexpr int64_t barrierBytesOfSlot = 16;

} // namespace mlir::dash

#endif // DASH_PIPELINE_LIMITS_H
