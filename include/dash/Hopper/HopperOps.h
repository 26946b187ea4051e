//===- HopperOps.h - barriers, copies and fences of sm_90a -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function is one instruction, or a few that belong together. Names follow the PTX ISA.
// Addresses in shared memory are 32-bit numbers.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_HOPPER_HOPPEROPS_H
#define DASH_HOPPER_HOPPEROPS_H

#include "dash/Hopper/PtxBuilder.h"

namespace mlir::dash::hopper {

// ---- mbarriers (PTX ISA 9.7.13.15).
void initBarrier(PtxBuilder &b, Value barrier, int64_t arrivals);
/// Makes initialised barriers visible to the copy engine; before a barrier of the block.
void fenceBarrierInit(PtxBuilder &b);
void arrive(PtxBuilder &b, Value barrier);
/// Predicated: with a branch, the warp's other lanes could spin on the signal that this lane gives.
void arriveIf(PtxBuilder &b, Value condition, Value barrier);
/// Arrives and announces a copy of `bytes` bytes.
void arriveExpecting(PtxBuilder &b, Value barrier, int64_t bytes);
/// Returns when the phase with this parity is complete.
void wait(PtxBuilder &b, Value barrier, Value parity);

// ---- Barriers of some warps, by number.
void syncNamed(PtxBuilder &b, Value id, int64_t threads);
void arriveNamed(PtxBuilder &b, Value id, int64_t threads);
void syncWarp(PtxBuilder &b);

// ---- Registers of a warpgroup.
void setRegisters(PtxBuilder &b, int64_t registers, bool isMore);

// ---- Shared memory by threads.
Value loadWord(PtxBuilder &b, Value address);
SmallVector<Value> loadFloats4(PtxBuilder &b, Value address, int64_t offset);
SmallVector<Value> loadWords4(PtxBuilder &b, Value address, int64_t offset);
void storeWord(PtxBuilder &b, Value word, Value address);
void storeFloats4(PtxBuilder &b, ValueRange floats, Value address, int64_t offset);
/// Four 8x8 matrices of 16-bit elements, one row of one matrix at each lane's address.
void storeMatrices(PtxBuilder &b, ValueRange words, Value address);
SmallVector<Value> loadMatrices(PtxBuilder &b, Value address);

// ---- Copies by the copy engine.
/// Makes the threads' writes to shared memory visible to the copy engine.
void fenceSharedWrites(PtxBuilder &b);
/// Orders the copy engine's accesses to global memory with the thread's.
void fenceGlobal(PtxBuilder &b);
/// Needed before the first use of a descriptor that another kernel has made.
void fenceDescriptor(PtxBuilder &b, Value descriptor);
void copyTile(PtxBuilder &b, Value descriptor, ValueRange coordinates, Value toShared,
              Value barrier);
void copyBytes(PtxBuilder &b, Value fromGlobal, int64_t bytes, Value toShared, Value barrier);
void storeTile(PtxBuilder &b, Value fromShared, Value descriptor, ValueRange coordinates);
/// `evictLast`: L2 keeps the written data as long as it can.
void storeBytes(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes, bool evictLast);
void addFloats(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes, bool evictLast);
void commitCopies(PtxBuilder &b);
/// Waits until every copy of this thread is complete: its writes are in memory.
void waitCopies(PtxBuilder &b);

// ---- Consecutive launches.
/// Lets the next launch begin once all blocks of this one have begun. If it may overlap, it waits
/// for what it reads.
void letNextLaunchBegin(PtxBuilder &b);
/// Waits until the previous launch has ended.
void waitForLaunchBefore(PtxBuilder &b);

// ---- Words in global memory, seen by the whole GPU.
/// Returns when the word is `value`. Writes released before it are then visible.
void waitAcquire(PtxBuilder &b, Value word, Value value);
void addRelease(PtxBuilder &b, Value word);
void storeRelease(PtxBuilder &b, Value word, Value value);
void storeRelaxed(PtxBuilder &b, Value word, Value value);
/// Returns the word and increments it; after `last` it becomes zero.
Value drawTicket(PtxBuilder &b, Value word, Value last);
Value loadWordGlobal(PtxBuilder &b, Value pointer, int64_t offset);
SmallVector<Value> loadWords4Global(PtxBuilder &b, Value pointer, int64_t offset);

// ---- Clocks.
Value clock(PtxBuilder &b); ///< cycles of the multiprocessor, the low 32 bits
Value globalTime(
    PtxBuilder &b); ///< nanoseconds, an i64; the same on all multiprocessors, with a coarse step
/// The index of the multiprocessor, and of the block. Read where needed, so that no register keeps
/// them.
Value multiprocessor(PtxBuilder &b);
Value block(PtxBuilder &b);
/// Stores 16 bytes if `condition` is true, without a branch.
void storeWords4If(PtxBuilder &b, Value condition, ValueRange words, Value pointer);
/// Sleeps up to four microseconds, a random time.
void sleepSometime(PtxBuilder &b);

// ---- Numbers.
Value exp2(PtxBuilder &b, Value x);       ///< approximate, subnormals to zero
Value log2(PtxBuilder &b, Value x);       ///< approximate: 2^-22 off near 1
Value reciprocal(PtxBuilder &b, Value x); ///< also approximate; zero for infinity
/// Rounds to nearest even, and flushes subnormal terms and sums to zeros of their sign, like copies
/// that add in memory.
Value addFlushed(PtxBuilder &b, Value x, Value y);

} // namespace mlir::dash::hopper

#endif // DASH_HOPPER_HOPPEROPS_H
