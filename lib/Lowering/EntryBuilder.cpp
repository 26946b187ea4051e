//===- EntryBuilder.cpp - a function that a launcher starts ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EntryBuilder.h"
#include "dash/Lowering/EntryAttrs.h"
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

static DictionaryAttr launchAttr(Builder &b, const EntryLaunch &launch) {
  return b.getDictionaryAttr({
      b.getNamedAttr(entryRoleKey, b.getStringAttr(launch.role)),
      b.getNamedAttr(entryWhenKey, b.getStringAttr(launch.when)),
      b.getNamedAttr(entryGridKey,
                     b.getStrArrayAttr({launch.grid[0], launch.grid[1], launch.grid[2]})),
      b.getNamedAttr(entryBlockKey, b.getDenseI32ArrayAttr({launch.threads, 1, 1})),
      b.getNamedAttr(entryClusterKey, b.getDenseI32ArrayAttr({1, 1, 1})),
      b.getNamedAttr(entrySharedKey, b.getI64IntegerAttr(launch.sharedBytes)),
      b.getNamedAttr(entryCooperativeKey, b.getBoolAttr(launch.cooperative)),
  });
}

EntryBuilder::EntryBuilder(Location loc, Operation *module, StringRef name,
                           const EntryLaunch &launch, ArrayRef<Parameter> parameters)
    : PtxBuilder(loc, module->getContext()), module(module) {
  SmallVector<Type> types;
  for (const Parameter &parameter : parameters)
    types.push_back(typeOf(*this, parameter.kind));
  setInsertionPointToEnd(&module->getRegion(0).front());
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

Value EntryBuilder::sharedBase() {
  // One symbol for all entries of the module: each has its own memory behind it.
  constexpr StringLiteral symbol = "dynamic_shared_memory";
  auto type = LLVM::LLVMArrayType::get(getI8Type(), 0);
  constexpr unsigned shared = 3;
  if (!SymbolTable::lookupSymbolIn(module, symbol)) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(&module->getRegion(0).front());
    LLVM::GlobalOp::create(*this, type, /*isConstant=*/false, LLVM::Linkage::External, symbol,
                           /*value=*/Attribute(), /*alignment=*/1024, shared);
  }
  Value address =
      LLVM::AddressOfOp::create(*this, LLVM::LLVMPointerType::get(getContext(), shared), symbol);
  return LLVM::PtrToIntOp::create(*this, getI32Type(), address);
}

void EntryBuilder::finish() { LLVM::ReturnOp::create(*this, ValueRange{}); }
