//===- VerifyKernelModule.cpp - what kernels say of themselves ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest is made of attributes alone. What a launcher would stumble over is refused here, at the op
// that says it.
//
//===----------------------------------------------------------------------===//

#include "KernelModules.h"
#include "Manifest.h"
#include "dash/Lowering/EntryAttrs.h"
#include "dash/Lowering/ProgramAttrs.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dash;

/// The value of `key`, or none with an error at `op` if it is missing or of another kind.
template <typename AttrT>
static AttrT require(Operation *op, StringRef where, DictionaryAttr dictionary, StringRef key,
                     StringRef kind) {
  Attribute value = dictionary.get(key);
  auto typed = dyn_cast_if_present<AttrT>(value);
  if (typed)
    return typed;
  InFlightDiagnostic error = op->emitError() << "expected '" << key << "' of '" << where
                                             << "' to be " << kind << ", got ";
  if (value)
    error << value;
  else
    error << "nothing";
  return {};
}

/// Adds the `name` of each dictionary of an array to `names`.
static LogicalResult collectNames(Operation *op, ArrayAttr array, StringRef key, StringRef prefix,
                                  llvm::StringSet<> &names) {
  for (Attribute element : array) {
    auto dictionary = dyn_cast<DictionaryAttr>(element);
    if (!dictionary)
      return op->emitError() << "expected '" << key << "' of '" << programAttr
                             << "' to hold dictionaries, got " << element;
    auto name = require<StringAttr>(op, key, dictionary, "name", "a string");
    if (!name)
      return failure();
    names.insert((prefix + name.getValue()).str());
  }
  return success();
}

/// Checks `dash.program` and collects what parameters may be called.
static LogicalResult verifyProgram(gpu::GPUModuleOp module, llvm::StringSet<> &names) {
  auto program = module->getAttrOfType<DictionaryAttr>(programAttr);
  if (!program)
    return module.emitError() << "expected a kernel module to have a dictionary '" << programAttr
                              << "'; dash-outline-program makes it";
  auto dictionary = [&](StringRef key) {
    return require<DictionaryAttr>(module, programAttr, program, key, "a dictionary");
  };
  auto array = [&](StringRef key) {
    return require<ArrayAttr>(module, programAttr, program, key, "an array");
  };
  DictionaryAttr sizes, order;
  ArrayAttr tensors, regions;
  if (!require<StringAttr>(module, programAttr, program, programNameKey, "a string") ||
      !dictionary(programFactsKey) || !(sizes = dictionary(programSizesKey)) ||
      !dictionary(programDerivedKey) || !array(programConstraintsKey) ||
      !(tensors = array(programTensorsKey)) || !(regions = array(programWorkspaceKey)) ||
      !(order = dictionary(programOrderKey)))
    return failure();

  llvm::StringSet<> tensorNames;
  if (failed(collectNames(module, tensors, programTensorsKey, "", tensorNames)) ||
      failed(collectNames(module, regions, programWorkspaceKey, "workspace.", names)))
    return failure();
  for (const auto &tensor : tensorNames) {
    names.insert(tensor.first());
    for (StringRef dim : {"batch", "head", "row"})
      names.insert((tensor.first() + ".stride." + dim).str());
  }
  for (NamedAttribute size : sizes)
    names.insert(size.getName());
  for (StringRef launch : {"workers", "width", "scale"})
    names.insert(launch);

  auto source = require<StringAttr>(module, programOrderKey, order, "source", "a string");
  if (!source)
    return failure();
  Attribute table = module->getAttr(orderBufferAttr);
  if (source == "file") {
    auto words = dyn_cast_if_present<DenseIntElementsAttr>(table);
    if (!words || !words.getElementType().isInteger(32))
      return module.emitError() << "expected '" << orderBufferAttr
                                << "' to hold i32 elements, since the order is a file";
  } else if (source == "entry") {
    auto entry = require<StringAttr>(module, programOrderKey, order, "entry", "a string");
    if (!entry)
      return failure();
    Operation *symbol = SymbolTable::lookupSymbolIn(module, entry);
    if (!symbol || !symbol->hasAttr(entryAttr))
      return module.emitError() << "expected an entry '" << entry.getValue()
                                << "', which makes the order";
    if (table)
      return module.emitError() << "expected no '" << orderBufferAttr
                                << "', since an entry makes the order";
  } else {
    return module.emitError() << "expected the order's source to be \"entry\" or \"file\", got "
                              << source;
  }
  return success();
}

/// Whether a number is one that a launcher can take: three of them, from 1.
static bool isExtent(DenseI32ArrayAttr extent) {
  return extent.size() == 3 && llvm::all_of(extent.asArrayRef(), [](int32_t n) { return n >= 1; });
}

static LogicalResult verifyEntry(Operation *entry, const llvm::StringSet<> &names) {
  auto function = dyn_cast<FunctionOpInterface>(entry);
  auto launch = dyn_cast<DictionaryAttr>(entry->getAttr(entryAttr));
  if (!function || !launch)
    return entry->emitError() << "expected '" << entryAttr << "' to be a dictionary at a function";
  ArrayAttr grid;
  DenseI32ArrayAttr block, cluster;
  auto extent = [&](StringRef key) {
    return require<DenseI32ArrayAttr>(entry, entryAttr, launch, key, "array<i32>");
  };
  if (!require<StringAttr>(entry, entryAttr, launch, entryRoleKey, "a string") ||
      !require<StringAttr>(entry, entryAttr, launch, entryWhenKey, "a string") ||
      !(grid = require<ArrayAttr>(entry, entryAttr, launch, entryGridKey, "an array")) ||
      !(block = extent(entryBlockKey)) || !(cluster = extent(entryClusterKey)) ||
      !require<IntegerAttr>(entry, entryAttr, launch, entrySharedKey, "an integer") ||
      !require<BoolAttr>(entry, entryAttr, launch, entryCooperativeKey, "a boolean"))
    return failure();
  if (grid.size() != 3 || !llvm::all_of(grid, llvm::IsaPred<StringAttr>))
    return entry->emitError() << "expected a grid of three expressions, got " << grid;
  for (auto [key, numbers] : {std::pair{entryBlockKey, block}, std::pair{entryClusterKey, cluster}})
    if (!isExtent(numbers))
      return entry->emitError() << "expected '" << key << "' to be three positive numbers, got "
                                << numbers;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, parameterAttr);
    if (!name || !names.contains(name))
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
  llvm::StringSet<> names;
  if (failed(verifyProgram(module, names)))
    return failure();
  SmallVector<Operation *> entries = entriesOf(module);
  if (entries.empty())
    return module.emitError() << "expected a kernel module to have an entry: a function with '"
                              << entryAttr << "'";
  for (Operation *entry : entries)
    if (failed(verifyEntry(entry, names)))
      return failure();
  return success();
}
