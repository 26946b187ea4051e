//===- HopperOps.cpp - barriers, copies and fences of sm_90a --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Hopper/HopperOps.h"
#include "dash/Hopper/PtxAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void hopper::initBarrier(PtxBuilder &b, Value barrier, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(b, b.shared(barrier), b.i32(arrivals), /*predicate=*/Value());
}
void hopper::fenceBarrierInit(PtxBuilder &b) {
  NVVM::FenceMbarrierInitOp::create(b);
  fenceSharedWrites(b);
}
void hopper::arrive(PtxBuilder &b, Value barrier) {
  NVVM::MBarrierArriveOp::create(b, TypeRange(), b.shared(barrier), /*count=*/Value());
}
void hopper::arriveIf(PtxBuilder &b, Value condition, Value barrier) {
  ptx::mbarrierArriveIf(b, condition, barrier);
}
void hopper::arriveExpecting(PtxBuilder &b, Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(b, TypeRange(), b.shared(barrier), b.i32(bytes),
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                         /*predicate=*/Value());
}
void hopper::wait(PtxBuilder &b, Value barrier, Value parity) {
  ptx::mbarrierTryWaitParity(b, barrier, parity);
}

void hopper::syncNamed(PtxBuilder &b, Value id, int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), id, b.i32(threads), /*reductionOp=*/{},
                          /*reductionPredicate=*/Value());
}
void hopper::arriveNamed(PtxBuilder &b, Value id, int64_t threads) {
  // nvvm.barrier.arrive would put the number into a register, and ptxas then reserves all 16
  // barriers.
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
                                ValueRange{id, b.i32(threads)});
}
void hopper::syncWarp(PtxBuilder &b) {
  constexpr int64_t allLanes = -1;
  NVVM::SyncWarpOp::create(b, b.i32(allLanes));
}

void hopper::setRegisters(PtxBuilder &b, int64_t registers, bool isMore) {
  NVVM::SetMaxRegisterOp::create(b, registers,
                                 isMore ? NVVM::SetMaxRegisterAction::increase
                                        : NVVM::SetMaxRegisterAction::decrease);
}

//===----------------------------------------------------------------------===//
// Shared memory by threads
//===----------------------------------------------------------------------===//

Value hopper::loadWord(PtxBuilder &b, Value address) {
  return b.load(b.getI32Type(), b.shared(address), 4);
}
SmallVector<Value> hopper::loadFloats4(PtxBuilder &b, Value address, int64_t offset) {
  return b.loadVector(b.getF32Type(), 4, b.shared(address, offset));
}
SmallVector<Value> hopper::loadWords4(PtxBuilder &b, Value address, int64_t offset) {
  return b.loadVector(b.getI32Type(), 4, b.shared(address, offset));
}
void hopper::storeWord(PtxBuilder &b, Value word, Value address) {
  b.store(word, b.shared(address), 4);
}
void hopper::storeFloats4(PtxBuilder &b, ValueRange floats, Value address, int64_t offset) {
  ptx::stSharedV4F32(b, floats, address, offset);
}
void hopper::storeMatrices(PtxBuilder &b, ValueRange words, Value address) {
  ptx::stmatrixX4SharedB16(b, words, address);
}
SmallVector<Value> hopper::loadMatrices(PtxBuilder &b, Value address) {
  auto words =
      LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getI32Type()));
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value all = NVVM::LdMatrixOp::create(b, words, b.shared(address), 4, NVVM::MMALayout::row, shape,
                                       NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> result;
  for (int64_t i : llvm::seq(4))
    result.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return result;
}

//===----------------------------------------------------------------------===//
// The copy engine
//===----------------------------------------------------------------------===//

void hopper::fenceSharedWrites(PtxBuilder &b) {
  auto space = NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, space);
}
void hopper::fenceGlobal(PtxBuilder &b) {
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_global, /*space=*/NVVM::SharedSpaceAttr());
}

/// Descriptors have generic addresses.
static Value generic(PtxBuilder &b, Value global) {
  return LLVM::AddrSpaceCastOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), global);
}

void hopper::fenceDescriptor(PtxBuilder &b, Value descriptor) {
  constexpr int64_t descriptorBytes = 128;
  NVVM::FenceProxyAcquireOp::create(b, NVVM::MemScopeKind::GPU, generic(b, descriptor),
                                    b.i32(descriptorBytes));
}
/// The destination of copies into shared memory. A CTA's own addresses are also addresses of its
/// cluster. Instructions that name the CTA would do the same, but need PTX 8.6.
static Value sharedOfCluster(PtxBuilder &b, Value address) {
  constexpr unsigned space = 7;
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}

void hopper::copyTile(PtxBuilder &b, Value descriptor, ValueRange coordinates, Value toShared,
                      Value barrier) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, sharedOfCluster(b, toShared), generic(b, descriptor), coordinates, b.shared(barrier),
      /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/{}, /*predicate=*/Value());
}
void hopper::copyBytes(PtxBuilder &b, Value fromGlobal, int64_t bytes, Value toShared,
                       Value barrier) {
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      b, sharedOfCluster(b, toShared), fromGlobal, b.shared(barrier), b.i32(bytes),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
}
void hopper::storeTile(PtxBuilder &b, Value fromShared, Value descriptor, ValueRange coordinates) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, generic(b, descriptor), b.shared(fromShared), coordinates, /*l2CacheHint=*/Value(),
      NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
}
void hopper::storeBytes(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes,
                        bool evictLast) {
  Value policy = evictLast ? ptx::createpolicyL2EvictLast(b) : Value();
  NVVM::CpAsyncBulkSharedCTAToGlobalOp::create(b, toGlobal, b.shared(fromShared), b.i32(bytes),
                                               policy, /*byteMask=*/Value());
}
void hopper::addFloats(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes,
                       bool evictLast) {
  Value policy = evictLast ? ptx::createpolicyL2EvictLast(b) : Value();
  ptx::cpReduceAsyncBulkAddF32(b, b.shared(fromShared), toGlobal, bytes, policy);
}
void hopper::commitCopies(PtxBuilder &b) { NVVM::CpAsyncBulkCommitGroupOp::create(b); }
void hopper::waitCopies(PtxBuilder &b) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, /*group=*/0, /*read=*/UnitAttr());
}

void hopper::letNextLaunchBegin(PtxBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}
void hopper::waitForLaunchBefore(PtxBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void hopper::waitAcquire(PtxBuilder &b, Value word, Value value) {
  ptx::ldAcquireGpuUntil(b, word, value);
}
void hopper::addRelease(PtxBuilder &b, Value word) { ptx::redReleaseGpuAddS32(b, word); }
static void storeAtomic(PtxBuilder &b, Value word, Value value, LLVM::AtomicOrdering ordering) {
  auto store = LLVM::StoreOp::create(b, value, word, /*alignment=*/4);
  store.setOrdering(ordering);
  store.setSyncscope("device");
}
void hopper::storeRelease(PtxBuilder &b, Value word, Value value) {
  storeAtomic(b, word, value, LLVM::AtomicOrdering::release);
}
void hopper::storeRelaxed(PtxBuilder &b, Value word, Value value) {
  storeAtomic(b, word, value, LLVM::AtomicOrdering::monotonic);
}
Value hopper::drawTicket(PtxBuilder &b, Value word, Value last) {
  return ptx::atomRelaxedGpuIncU32(b, word, last);
}
Value hopper::loadWordGlobal(PtxBuilder &b, Value pointer, int64_t offset) {
  return b.load(b.getI32Type(), b.offset(pointer, offset), 4);
}
SmallVector<Value> hopper::loadWords4Global(PtxBuilder &b, Value pointer, int64_t offset) {
  return b.loadVector(b.getI32Type(), 4, b.offset(pointer, offset));
}

Value hopper::clock(PtxBuilder &b) { return ptx::movU32Clock(b); }
Value hopper::globalTime(PtxBuilder &b) { return ptx::movU64Globaltimer(b); }
Value hopper::multiprocessor(PtxBuilder &b) { return ptx::movU32Smid(b); }
Value hopper::block(PtxBuilder &b) { return ptx::movU32CtaidX(b); }
void hopper::storeWords4If(PtxBuilder &b, Value condition, ValueRange words, Value pointer) {
  ptx::stGlobalV4B32If(b, condition, words, pointer);
}

void hopper::sleepSometime(PtxBuilder &b) {
  // Multiplicative hashing: the low bits of the clock differ from warp to warp and over time.
  Value time = NVVM::ClockOp::create(b, b.getI32Type());
  NVVM::NanosleepOp::create(b, b.shiftRight(b.mul(time, 2654435761), 20));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value hopper::exp2(PtxBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                       b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

Value hopper::log2(PtxBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                       b.getStringAttr("llvm.nvvm.lg2.approx.ftz.f"), x)
      .getResult(0);
}

Value hopper::reciprocal(PtxBuilder &b, Value x) {
  return NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), x);
}

Value hopper::addFlushed(PtxBuilder &b, Value x, Value y) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr("llvm.nvvm.add.rn.ftz.f"),
                                       ValueRange{x, y})
      .getResult(0);
}
