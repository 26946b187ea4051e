//===- VerifyKernelModule.cpp - whether a kernel's attributes agree -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest consists of attributes only. This check compares attributes with each other and
// reports at the op what a launcher would stumble over. Each attribute's verifier checks the
// attribute itself.
//
//===----------------------------------------------------------------------===//

#include "KernelModules.h"
#include "WriteManifest.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/PtxName.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dash;

/// The order buffer's source agrees with the program.
static LogicalResult verifyOrder(gpu::GPUModuleOp module, OrderSourceAttr order) {
  bool isTable = module->hasAttr(orderBufferAttr);
  if (order.getSource() == OrderSource::File) {
    if (!isTable)
      return module.emitError() << "expected '" << orderBufferAttr
                                << "', since the order is a file";
    return success();
  }
  Operation *symbol = SymbolTable::lookupSymbolIn(module, order.getText());
  if (!symbol || !symbol->hasAttr(entryAttr))
    return module.emitError() << "expected an entry '" << order.getText()
                              << "', which makes the order";
  if (isTable)
    return module.emitError() << "expected no '" << orderBufferAttr
                              << "', since an entry makes the order";
  return success();
}

/// Refuses symbols that ptxas refuses or that LLVM cannot print. Intrinsics, `llvm.…`, are no
/// symbols of PTX.
static LogicalResult verifySymbols(gpu::GPUModuleOp module) {
  for (auto symbol : module.getOps<SymbolOpInterface>())
    if (StringRef name = symbol.getName(); !isPtxIdentifier(name) && !name.starts_with("llvm."))
      return symbol.emitError() << "expected a name that PTX can have, of letters, digits, '_' and "
                                   "'$' and with no digit in front, got '"
                                << llvm::json::fixUTF8(name) << "'";
  return success();
}

static LogicalResult verifyParameters(Operation *entry, ProgramAttr program) {
  auto function = cast<FunctionOpInterface>(entry);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, parameterAttr);
    if (!name || !program.isParameterName(name))
      return entry->emitError() << "expected '" << parameterAttr << "' of argument " << i
                                << " to name a tensor, a stride, a size or a region, got "
                                << (name ? name.getValue() : "nothing");
    if (parameterType(function.getArgumentTypes()[i]).empty())
      return entry->emitError() << "expected parameter '" << name.getValue()
                                << "' to be a pointer, i32, i64 or f32, got "
                                << function.getArgumentTypes()[i];
  }
  return success();
}

StringRef dash::parameterType(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return "ptr";
  if (type.isInteger(32))
    return "i32";
  if (type.isInteger(64))
    return "i64";
  return type.isF32() ? "f32" : "";
}

LogicalResult dash::verifyKernelModule(gpu::GPUModuleOp module) {
  auto program = module->getAttrOfType<ProgramAttr>(programAttr);
  if (!program)
    return module.emitError() << "expected a kernel module to have '" << programAttr
                              << "'; dash-outline-program makes it";
  if (failed(verifyOrder(module, program.getOrder())))
    return failure();
  SmallVector<Operation *> entries = entriesOf(module);
  if (entries.empty())
    return module.emitError() << "expected a kernel module to have an entry: a function with '"
                              << entryAttr << "'";
  for (Operation *entry : entries)
    if (failed(verifyParameters(entry, program)))
      return failure();
  return verifySymbols(module);
}
