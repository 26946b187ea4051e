//===- EntryBuilder.cpp - a function that a launcher starts ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/EntryBuilder.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/Pipeline/BufferPlan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

static Type typeOf(OpBuilder &b, EntryBuilder::Kind kind) {
  switch (kind) {
  case EntryBuilder::Kind::Pointer:
    return LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/1);
  case EntryBuilder::Kind::I32:
    return b.getI32Type();
  case EntryBuilder::Kind::I64:
    return b.getI64Type();
  case EntryBuilder::Kind::F32:
    return b.getF32Type();
  }
  llvm_unreachable("all kinds are above");
}

static EntryAttr launchAttr(Builder &b, const EntryLaunch &launch) {
  StringAttr grid[] = {b.getStringAttr(launch.grid[0]), b.getStringAttr(launch.grid[1]),
                       b.getStringAttr(launch.grid[2])};
  return EntryAttr::get(b.getContext(), launch.role, launch.when, grid, {launch.threads, 1, 1},
                        {1, 1, 1}, launch.sharedBytes, launch.cooperative, launch.overlaps);
}

/// The position of an entry in a launch.
static int rankOf(EntryRole role) {
  switch (role) {
  case EntryRole::Sequences:
    return 0;
  case EntryRole::Order:
    return 1;
  case EntryRole::Deal:
    return 2;
  case EntryRole::Prepare:
    return 3;
  case EntryRole::Main:
    return 4;
  case EntryRole::Convert:
  case EntryRole::Combine:
    return 5;
  case EntryRole::Clear:
    return 6;
  }
  llvm_unreachable("all roles are above");
}

/// Puts the builder before the first entry that is launched later: a manifest lists entries in
/// textual order.
static void setInsertionPointAmongEntries(OpBuilder &b, Operation *module, EntryRole role) {
  Block &body = module->getRegion(0).front();
  auto isLater = [&](Operation &op) {
    auto entry = op.getAttrOfType<EntryAttr>(entryAttr);
    return entry && rankOf(entry.getRole()) > rankOf(role);
  };
  b.setInsertionPoint(&body, llvm::find_if(body, isLater));
}

EntryBuilder::EntryBuilder(Location loc, Operation *module, StringRef name,
                           const EntryLaunch &launch, ArrayRef<Parameter> parameters)
    : PtxBuilder(loc, module->getContext()), module(module) {
  SmallVector<Type> types;
  for (const Parameter &parameter : parameters)
    types.push_back(typeOf(*this, parameter.kind));
  setInsertionPointAmongEntries(*this, module, launch.role);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), types);
  auto func = LLVM::LLVMFuncOp::create(*this, name, type);
  function = func;
  func->setAttr("gpu.kernel", getUnitAttr());
  func->setAttr("nvvm.kernel", getUnitAttr());
  func->setAttr("nvvm.maxntid", getDenseI32ArrayAttr({launch.threads, 1, 1}));
  func->setAttr("nvvm.minctasm", getI32IntegerAttr(1));
  func->setAttr(entryAttr, launchAttr(*this, launch));
  Block *block = func.addEntryBlock(*this);
  for (auto [parameter, argument] : llvm::zip_equal(parameters, block->getArguments())) {
    func.setArgAttr(argument.getArgNumber(), parameterAttr, getStringAttr(parameter.name));
    values[parameter.name] = argument;
  }
  setInsertionPointToEnd(block);
}

Value EntryBuilder::parameter(StringRef name) const {
  auto value = values.find(name);
  assert(value != values.end() && "an entry uses the parameters that it names");
  return value->second;
}

Value EntryBuilder::sharedBase() { return sharedMemoryBase(*this, module); }

Value dash::sharedMemoryBase(PtxBuilder &b, Operation *module) {
  // All entries of the module share one symbol: each has separate memory behind it.
  constexpr StringLiteral symbol = "dynamic_shared_memory";
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  constexpr unsigned shared = 3;
  if (!SymbolTable::lookupSymbolIn(module, symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&module->getRegion(0).front());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/false, LLVM::Linkage::External, symbol,
                           /*value=*/Attribute(), /*alignment=*/tileAlignment, shared);
  }
  Value address =
      LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), shared), symbol);
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), address);
}

void EntryBuilder::endBehindEntryBefore() {
  Value last = add(special("nctaid.x"), -1);
  ifThen(equal(sub(special("ctaid.x"), last), 0), [&] { hopper::waitForLaunchBefore(*this); });
}

void EntryBuilder::finish() { LLVM::ReturnOp::create(*this, ValueRange{}); }
