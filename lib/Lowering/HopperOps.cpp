//===- HopperOps.cpp - barriers, copies and fences of sm_90a --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HopperOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void hopper::initBarrier(PtxBuilder &b, Value barrier, int64_t arrivals) {
  b.ptx("mbarrier.init.shared::cta.b64 [$0], " + Twine(arrivals) + ";", "r", barrier);
}
void hopper::fenceBarrierInit(PtxBuilder &b) {
  b.ptx("fence.mbarrier_init.release.cluster;");
  fenceSharedWrites(b);
}
void hopper::arrive(PtxBuilder &b, Value barrier) {
  b.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", barrier);
}
void hopper::arriveIf(PtxBuilder &b, Value condition, Value barrier) {
  b.ptx("@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r", {condition, barrier});
}
void hopper::arriveExpecting(PtxBuilder &b, Value barrier, int64_t bytes) {
  b.ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + Twine(bytes) + ";", "r", barrier);
}
void hopper::wait(PtxBuilder &b, Value barrier, Value parity) {
  // Labels are local to the braces.
  b.ptx("{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
        "@!done bra again;\n"
        "}",
        "r,r", {barrier, parity});
}

void hopper::syncNamed(PtxBuilder &b, int64_t id, int64_t threads) {
  b.ptx("bar.sync " + Twine(id) + ", " + Twine(threads) + ";");
}
void hopper::arriveNamed(PtxBuilder &b, int64_t id, int64_t threads) {
  b.ptx("bar.arrive " + Twine(id) + ", " + Twine(threads) + ";");
}
void hopper::syncWarp(PtxBuilder &b) { b.ptx("bar.warp.sync 0xffffffff;"); }

void hopper::setRegisters(PtxBuilder &b, int64_t registers, bool isMore) {
  b.ptx(Twine("setmaxnreg.") + (isMore ? "inc" : "dec") + ".sync.aligned.u32 " + Twine(registers) +
        ";");
}

//===----------------------------------------------------------------------===//
// Shared memory by threads
//===----------------------------------------------------------------------===//

static SmallVector<Type> four(Type type) { return SmallVector<Type>(4, type); }

Value hopper::loadWord(PtxBuilder &b, Value address) {
  return b.ptx(b.getI32Type(), "ld.shared.b32 $0, [$1];", "=r,r", address);
}
SmallVector<Value> hopper::loadFloats4(PtxBuilder &b, Value address, int64_t offset) {
  return b.ptx(four(b.getF32Type()),
               "ld.shared.v4.f32 {$0, $1, $2, $3}, [$4 + " + Twine(offset) + "];", "=f,=f,=f,=f,r",
               address);
}
SmallVector<Value> hopper::loadWords4(PtxBuilder &b, Value address, int64_t offset) {
  return b.ptx(four(b.getI32Type()),
               "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4 + " + Twine(offset) + "];", "=r,=r,=r,=r,r",
               address);
}
void hopper::storeWord(PtxBuilder &b, Value word, Value address) {
  b.ptx("st.shared.b32 [$1], $0;", "r,r", {word, address});
}
void hopper::storeFloats4(PtxBuilder &b, ValueRange floats, Value address, int64_t offset) {
  SmallVector<Value> operands(floats);
  operands.push_back(address);
  b.ptx("st.shared.v4.f32 [$4 + " + Twine(offset) + "], {$0, $1, $2, $3};", "f,f,f,f,r", operands);
}
void hopper::storeMatrices(PtxBuilder &b, ValueRange words, Value address) {
  SmallVector<Value> operands(words);
  operands.push_back(address);
  b.ptx("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$4], {$0, $1, $2, $3};", "r,r,r,r,r", operands);
}

//===----------------------------------------------------------------------===//
// The copy engine
//===----------------------------------------------------------------------===//

void hopper::fenceSharedWrites(PtxBuilder &b) { b.ptx("fence.proxy.async.shared::cta;"); }
void hopper::fenceGlobal(PtxBuilder &b) { b.ptx("fence.proxy.async.global;"); }
void hopper::fenceDescriptor(PtxBuilder &b, Value descriptor) {
  b.ptx("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l", descriptor);
}

static std::string coordinateList(size_t rank, unsigned first) {
  std::string list = "{";
  for (size_t i = 0; i < rank; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}
static std::string repeated(StringRef constraint, size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += ("," + constraint).str();
  return list;
}

void hopper::copyTile(PtxBuilder &b, Value descriptor, ValueRange coordinates, Value toShared,
                      Value barrier) {
  size_t rank = coordinates.size();
  SmallVector<Value> operands = {toShared, descriptor, barrier};
  llvm::append_range(operands, coordinates);
  b.ptx("cp.async.bulk.tensor." + Twine(rank) +
            "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, " +
            coordinateList(rank, 3) + "], [$2];",
        "r,l,r" + repeated("r", rank), operands);
}
void hopper::copyBytes(PtxBuilder &b, Value fromGlobal, int64_t bytes, Value toShared,
                       Value barrier) {
  b.ptx("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], " +
            Twine(bytes) + ", [$2];",
        "r,l,r", {toShared, fromGlobal, barrier});
}
void hopper::storeTile(PtxBuilder &b, Value fromShared, Value descriptor, ValueRange coordinates) {
  size_t rank = coordinates.size();
  SmallVector<Value> operands = {fromShared, descriptor};
  llvm::append_range(operands, coordinates);
  b.ptx("cp.async.bulk.tensor." + Twine(rank) + "d.global.shared::cta.tile.bulk_group [$1, " +
            coordinateList(rank, 2) + "], [$0];",
        "r,l" + repeated("r", rank), operands);
}
void hopper::storeBytes(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes) {
  b.ptx("cp.async.bulk.global.shared::cta.bulk_group [$1], [$0], " + Twine(bytes) + ";", "r,l",
        {fromShared, toGlobal});
}
void hopper::addFloats(PtxBuilder &b, Value fromShared, Value toGlobal, int64_t bytes) {
  b.ptx("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$1], [$0], " + Twine(bytes) +
            ";",
        "r,l", {fromShared, toGlobal});
}
void hopper::commitCopies(PtxBuilder &b) { b.ptx("cp.async.bulk.commit_group;"); }
void hopper::waitCopiesRead(PtxBuilder &b) { b.ptx("cp.async.bulk.wait_group.read 0;"); }
void hopper::waitCopies(PtxBuilder &b) { b.ptx("cp.async.bulk.wait_group 0;"); }

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void hopper::waitAcquire(PtxBuilder &b, Value word, Value value) {
  b.ptx("{\n"
        ".reg .pred waits;\n"
        ".reg .b32 seen;\n"
        "again:\n"
        "ld.acquire.gpu.global.b32 seen, [$0];\n"
        "setp.ne.s32 waits, seen, $1;\n"
        "@!waits bra done;\n"
        "nanosleep.u32 20;\n"
        "bra again;\n"
        "done:\n"
        "}",
        "l,r", {word, value});
}
void hopper::addRelease(PtxBuilder &b, Value word) {
  b.ptx("red.release.gpu.global.add.s32 [$0], 1;", "l", word);
}
void hopper::storeRelaxed(PtxBuilder &b, Value word, Value value) {
  b.ptx("st.relaxed.gpu.global.b32 [$0], $1;", "l,r", {word, value});
}
Value hopper::loadWordGlobal(PtxBuilder &b, Value pointer, int64_t offset) {
  return b.ptx(b.getI32Type(), "ld.global.b32 $0, [$1 + " + Twine(offset) + "];", "=r,l", pointer);
}
SmallVector<Value> hopper::loadWords4Global(PtxBuilder &b, Value pointer, int64_t offset) {
  return b.ptx(four(b.getI32Type()),
               "ld.global.v4.b32 {$0, $1, $2, $3}, [$4 + " + Twine(offset) + "];", "=r,=r,=r,=r,l",
               pointer);
}

void hopper::sleepSometime(PtxBuilder &b) {
  // Multiplicative hashing: the clock's low bits differ from warp to warp and from time to time.
  b.ptx("{\n"
        ".reg .b32 time;\n"
        "mov.u32 time, %clock;\n"
        "mul.lo.u32 time, time, 2654435761;\n"
        "shr.u32 time, time, 20;\n"
        "nanosleep.u32 time;\n"
        "}");
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value hopper::exp2(PtxBuilder &b, Value x) {
  return b.pure(b.getF32Type(), "ex2.approx.ftz.f32 $0, $1;", "=f,f", x);
}
Value hopper::packBf16(PtxBuilder &b, Value low, Value high) {
  return b.pure(b.getI32Type(), "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", {high, low});
}
