//===- PtxAssembly.h - instructions that no op can say ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All assembly of the project's kernels, one function a spelling, named after the instruction (PTX
// ISA). Whatever the dialects llvm and nvvm can say is said by their ops (HopperOps, PtxBuilder).
// Each function has its reason in the line `Why:`, which the page docs/assembly.md repeats:
// test/House/assembly.test compares the two.
//
// Each has side effects and clobbers memory: no load, store or other such instruction moves over
// it. Addresses in shared memory are 32-bit numbers.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_HOPPER_PTXASSEMBLY_H
#define DASH_HOPPER_PTXASSEMBLY_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash::ptx {

/// One step of 16 along the summed index of a product.
struct WgmmaStep {
  int64_t offsetA = 0, offsetB = 0; ///< what the descriptors' low words are more than their bases
  SmallVector<Value> registersA;    ///< four words, or none where A is in shared memory
};

/// A product of a warpgroup: 64 rows by `columns`, f32 sums of `element`s.
struct WgmmaGroup {
  FloatType element;
  int64_t columns = 0;
  Value baseA; ///< low word of the descriptor of A's first element; none where A is in registers
  Value baseB;
  uint32_t highA = 0, highB = 0;               ///< high words of all of the factor's descriptors
  bool transposeA = false, transposeB = false; ///< the tile in shared memory is "MN-major"
  SmallVector<WgmmaStep> steps;
};

/// wgmma.fence, the steps as wgmma.mma_async, wgmma.commit_group. Gives the sums, `columns` / 2 a
/// thread, added to `accumulators` where there are some. They may be used behind the
/// `wgmmaWaitGroup` that returns them.
/// Why: nvvm.wgmma.mma_async takes no A in registers; offsets of descriptors are added inside, else
/// LLVM hoists them and they spill.
SmallVector<Value> wgmmaMmaAsync(ImplicitLocOpBuilder &b, const WgmmaGroup &group,
                                 ValueRange accumulators);

/// wgmma.wait_group: until at most `pending` groups are not complete. Gives `values` as they may be
/// used from here on.
/// Why: nvvm.wgmma.wait.group.sync.aligned has no operands, so that reads of the sums could be
/// moved before it.
SmallVector<Value> wgmmaWaitGroup(ImplicitLocOpBuilder &b, int64_t pending, ValueRange values,
                                  ValueRange registersA);

/// A branch that no launch takes, since `number` is never -1: what follows is a basic block of its
/// own.
/// Why: ptxas moves wgmma.wait_group within a block, whatever its PTX says, in front of all that
/// needs no result of the products. LLVM would fold a condition in ops.
void neverBranch(ImplicitLocOpBuilder &b, Value number);

/// mbarrier.try_wait.parity until it says that the phase of that parity is complete.
/// Why: nvvm.mbarrier.try_wait.parity asks for a time limit; its loop in ops would end a basic
/// block at each of 57 waits.
void mbarrierTryWaitParity(ImplicitLocOpBuilder &b, Value barrier, Value parity);

/// mbarrier.arrive of the lanes where `condition` is true.
/// Why: nvvm.mbarrier.arrive has no predicate, and an `scf.if` around it is a branch (46 of them in
/// a main kernel).
void mbarrierArriveIf(ImplicitLocOpBuilder &b, Value condition, Value barrier);

/// ld.acquire.gpu, with a short nanosleep between, until the word is `value`.
/// Why: the poll stays one instruction, beside which nothing can be hoisted out of or into the
/// loop.
void ldAcquireGpuUntil(ImplicitLocOpBuilder &b, Value word, Value value);

/// red.release.gpu.add of 1.
/// Why: llvm.atomicrmw loses its order and scope on the way to PTX.
void redReleaseGpuAddS32(ImplicitLocOpBuilder &b, Value word);

/// atom.relaxed.gpu.inc: gives the word; it becomes the next number, or zero behind `last`.
/// Why: llvm.atomicrmw loses its order and scope on the way to PTX.
Value atomRelaxedGpuIncU32(ImplicitLocOpBuilder &b, Value word, Value last);

/// cp.reduce.async.bulk of f32 sums in shared memory into global memory, both as pointers. With a
/// policy of L2 for what is written if there is one.
/// Why: nvvm has this reduction for tensors with a descriptor only.
void cpReduceAsyncBulkAddF32(ImplicitLocOpBuilder &b, Value fromShared, Value toGlobal,
                             int64_t bytes, Value policy);

/// createpolicy of a line that L2 evicts last.
/// Why: neither nvvm nor LLVM has it.
Value createpolicyL2EvictLast(ImplicitLocOpBuilder &b);

/// tensormap.cp_fenceproxy of a descriptor, from shared to global memory, by a whole warp.
/// Why: neither nvvm nor LLVM has it.
void tensormapCpFenceproxy(ImplicitLocOpBuilder &b, Value fromShared, Value toGlobal);

/// mov of %tid.x, here and not before.
/// Why: llvm.nvvm.read.ptx.sreg.tid.x is read once, and what is computed of it is hoisted out of
/// loops, where it spills.
Value movU32TidX(ImplicitLocOpBuilder &b);

/// mov of %ctaid.x, of %smid, of %clock and of %globaltimer, here and not before.
/// Why: the first two as %tid.x; LLVM moves reads of clocks over assembly.
Value movU32CtaidX(ImplicitLocOpBuilder &b);
Value movU32Smid(ImplicitLocOpBuilder &b);
Value movU32Clock(ImplicitLocOpBuilder &b);
Value movU64Globaltimer(ImplicitLocOpBuilder &b);

/// stmatrix.x4 of 8x8 matrices of 16-bit elements, one row of one matrix at each lane's address.
/// Why: nvvm.stmatrix takes a 64-bit pointer; LLVM hoists those of a step's stores out of the
/// loops, where they spill.
void stmatrixX4SharedB16(ImplicitLocOpBuilder &b, ValueRange words, Value address);

/// st.shared.v4 of floats.
/// Why: llvm.store takes a 64-bit pointer, as nvvm.stmatrix does.
void stSharedV4F32(ImplicitLocOpBuilder &b, ValueRange floats, Value address, int64_t offset);

/// st.global of four words, where a condition is true.
/// Why: llvm.store has no predicate; a branch parts the lanes of a warp, and products would not be
/// in flight over it.
void stGlobalV4B32If(ImplicitLocOpBuilder &b, Value condition, ValueRange words, Value pointer);

/// ld.global.nc.L1::no_allocate of four words.
/// Why: llvm.load cannot say that a line is read once and need not stay in the cache.
SmallVector<Value> ldGlobalNcNoAllocateV4B32(ImplicitLocOpBuilder &b, Value pointer);

/// ld.global.L1::no_allocate of four words, which others have written since the kernel began.
/// Why: llvm.load cannot say that a line is read once and need not stay in the cache.
SmallVector<Value> ldGlobalNoAllocateV4B32(ImplicitLocOpBuilder &b, Value pointer);

} // namespace mlir::dash::ptx

#endif // DASH_HOPPER_PTXASSEMBLY_H
