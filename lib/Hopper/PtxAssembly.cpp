//===- PtxAssembly.cpp - instructions that no op can say ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Hopper/PtxAssembly.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dash;

/// `$0` and so on stand for results, then operands. Constraints are spelled as in LLVM.
static SmallVector<Value> assembly(ImplicitLocOpBuilder &b, TypeRange results, const Twine &text,
                                   const Twine &constraints, ValueRange operands) {
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(), llvm::to_vector(results));
  // LLVM's back end moves loads across assembly that does not state that it touches memory.
  std::string clobbering = (constraints + ",~{memory}").str();
  auto op = LLVM::InlineAsmOp::create(
      b, type, operands, text.str(), clobbering, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.size() <= 1)
    return llvm::to_vector_of<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i : llvm::seq<int64_t>(results.size()))
    values.push_back(LLVM::ExtractValueOp::create(b, op->getResult(0), i));
  return values;
}

static std::string repeated(StringRef constraint, size_t count) {
  return llvm::join(SmallVector<StringRef>(count, constraint), ",");
}

/// Constraints that tie `count` operands to results: "0,1,…".
static std::string tied(size_t count) {
  std::string list;
  for (size_t i : llvm::seq(count))
    list += (i ? "," : "") + std::to_string(i);
  return list;
}

//===----------------------------------------------------------------------===//
// The tensor core
//===----------------------------------------------------------------------===//

SmallVector<Value> ptx::wgmmaMmaAsync(ImplicitLocOpBuilder &b, const WgmmaGroup &group,
                                      ValueRange accumulators) {
  int64_t numSums = group.columns / 2;
  assert((accumulators.empty() || int64_t(accumulators.size()) == numSums) &&
         "a thread holds columns / 2 of 64 rows");
  SmallVector<Value> operands(accumulators);
  std::string constraints = repeated("=f", numSums);
  if (!accumulators.empty())
    constraints += "," + tied(numSums);
  auto addOperand = [&](Value value) {
    operands.push_back(value);
    constraints += ",r";
    return "$" + std::to_string(numSums + operands.size() - 1);
  };

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .b32 low;\n.reg .b64 da, db;\n.reg .pred adds;\n";
  if (accumulators.empty())
    os << ".reg .pred starts;\nsetp.ne.b32 starts, 0, 0;\n";
  os << "setp.ne.b32 adds, 1, 0;\nwgmma.fence.sync.aligned;\n";
  std::string baseA = group.baseA ? addOperand(group.baseA) : "";
  std::string baseB = addOperand(group.baseB);
  auto emitDescriptor = [&](StringRef name, StringRef base, int64_t offset, uint32_t high) {
    os << "add.u32 low, " << base << ", " << offset << ";\nmov.b64 " << name << ", {low, " << high
       << "};\n";
  };
  for (const auto &[k, step] : llvm::enumerate(group.steps)) {
    SmallVector<std::string> registersA;
    for (Value word : step.registersA)
      registersA.push_back(addOperand(word));
    if (group.baseA)
      emitDescriptor("da", baseA, step.offsetA, group.highA);
    emitDescriptor("db", baseB, step.offsetB, group.highB);
    os << "wgmma.mma_async.sync.aligned.m64n" << group.columns << "k16.f32." << group.element << "."
       << group.element << " {";
    for (int64_t i : llvm::seq(numSums))
      os << (i ? ", $" : "$") << i;
    os << "}, ";
    if (group.baseA)
      os << "da";
    else
      os << "{" << llvm::join(registersA, ", ") << "}";
    os << ", db, " << (accumulators.empty() && k == 0 ? "starts" : "adds") << ", 1, 1, ";
    if (group.baseA)
      os << (group.transposeA ? "1, " : "0, ");
    os << (group.transposeB ? "1" : "0") << ";\n";
  }
  os << "wgmma.commit_group.sync.aligned;\n}";
  return assembly(b, SmallVector<Type>(numSums, b.getF32Type()), text, constraints, operands);
}

SmallVector<Value> ptx::wgmmaWaitGroup(ImplicitLocOpBuilder &b, int64_t pending, ValueRange values,
                                       ValueRange registersA) {
  SmallVector<std::string> constraints;
  for (Value value : values)
    constraints.push_back(isa<FloatType>(value.getType()) ? "=f" : "=r");
  if (!values.empty())
    constraints.push_back(tied(values.size()));
  constraints.append(registersA.size(), "r");
  SmallVector<Value> operands(values);
  llvm::append_range(operands, registersA);
  return assembly(b, values.getTypes(), "wgmma.wait_group.sync.aligned " + Twine(pending) + ";",
                  llvm::join(constraints, ","), operands);
}

void ptx::neverBranch(ImplicitLocOpBuilder &b, Value number) {
  assembly(b, {},
           "{\n"
           ".reg .pred never;\n"
           "setp.eq.b32 never, $0, -1;\n"
           "@!never bra go;\n"
           "trap;\n"
           "go:\n"
           "}",
           "r", {number});
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void ptx::mbarrierTryWaitParity(ImplicitLocOpBuilder &b, Value barrier, Value parity) {
  // Labels are local to the braces.
  assembly(b, {},
           "{\n"
           ".reg .pred done;\n"
           "again:\n"
           "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
           "@!done bra again;\n"
           "}",
           "r,r", {barrier, parity});
}

void ptx::mbarrierArriveIf(ImplicitLocOpBuilder &b, Value condition, Value barrier) {
  assembly(b, {}, "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r", {condition, barrier});
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static SmallVector<Value> with(ValueRange values, Value address) {
  SmallVector<Value> operands(values);
  operands.push_back(address);
  return operands;
}

static Value movU32(ImplicitLocOpBuilder &b, StringRef special) {
  return assembly(b, {b.getI32Type()}, "mov.u32 $0, " + special + ";", "=r", {}).front();
}
Value ptx::movU32TidX(ImplicitLocOpBuilder &b) { return movU32(b, "%tid.x"); }
Value ptx::movU32CtaidX(ImplicitLocOpBuilder &b) { return movU32(b, "%ctaid.x"); }
Value ptx::movU32Smid(ImplicitLocOpBuilder &b) { return movU32(b, "%smid"); }
Value ptx::movU32Clock(ImplicitLocOpBuilder &b) { return movU32(b, "%clock"); }
Value ptx::movU64Globaltimer(ImplicitLocOpBuilder &b) {
  return assembly(b, {b.getI64Type()}, "mov.u64 $0, %globaltimer;", "=l", {}).front();
}

void ptx::stmatrixX4SharedB16(ImplicitLocOpBuilder &b, ValueRange words, Value address) {
  assembly(b, {}, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$4], {$0, $1, $2, $3};", "r,r,r,r,r",
           with(words, address));
}

void ptx::stSharedV4F32(ImplicitLocOpBuilder &b, ValueRange floats, Value address, int64_t offset) {
  assembly(b, {}, "st.shared.v4.f32 [$4 + " + Twine(offset) + "], {$0, $1, $2, $3};", "f,f,f,f,r",
           with(floats, address));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void ptx::ldAcquireGpuUntil(ImplicitLocOpBuilder &b, Value word, Value value) {
  assembly(b, {},
           "{\n"
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

void ptx::redReleaseGpuAddS32(ImplicitLocOpBuilder &b, Value word) {
  assembly(b, {}, "red.release.gpu.global.add.s32 [$0], 1;", "l", word);
}

Value ptx::atomRelaxedGpuIncU32(ImplicitLocOpBuilder &b, Value word, Value last) {
  return assembly(b, {b.getI32Type()}, "atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r",
                  {word, last})
      .front();
}

void ptx::cpReduceAsyncBulkAddF32(ImplicitLocOpBuilder &b, Value fromShared, Value toGlobal,
                                  int64_t bytes, Value policy) {
  std::string name = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  std::string operands = "[$1], [$0], " + std::to_string(bytes);
  if (policy)
    assembly(b, {}, name + ".L2::cache_hint.add.f32 " + operands + ", $2;", "l,l,l",
             {fromShared, toGlobal, policy});
  else
    assembly(b, {}, name + ".add.f32 " + operands + ";", "l,l", {fromShared, toGlobal});
}

Value ptx::createpolicyL2EvictLast(ImplicitLocOpBuilder &b) {
  return assembly(b, {b.getI64Type()}, "createpolicy.fractional.L2::evict_last.b64 $0;", "=l", {})
      .front();
}

void ptx::stGlobalV4B32If(ImplicitLocOpBuilder &b, Value condition, ValueRange words,
                          Value pointer) {
  assembly(b, {}, "@$0 st.global.v4.b32 [$1], {$2, $3, $4, $5};", "b,l,r,r,r,r",
           {condition, pointer, words[0], words[1], words[2], words[3]});
}

void ptx::tensormapCpFenceproxy(ImplicitLocOpBuilder &b, Value fromShared, Value toGlobal) {
  assembly(b, {},
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
           "[$0], [$1], 128;",
           "l,r", {toGlobal, fromShared});
}

static SmallVector<Value> loadOnce(ImplicitLocOpBuilder &b, StringRef name, Value pointer) {
  return assembly(b, SmallVector<Type>(4, b.getI32Type()),
                  name + ".L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l",
                  pointer);
}
SmallVector<Value> ptx::ldGlobalNcNoAllocateV4B32(ImplicitLocOpBuilder &b, Value pointer) {
  return loadOnce(b, "ld.global.nc", pointer);
}
SmallVector<Value> ptx::ldGlobalNoAllocateV4B32(ImplicitLocOpBuilder &b, Value pointer) {
  return loadOnce(b, "ld.global", pointer);
}
