//===- KnownAttrs.cpp - dash's attributes on any op -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attribute without a check fails silently. So a misspelt attribute, or one with a wrong type or
// in a wrong place, is an error.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashDialect.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/RunsAttr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

namespace {
/// An attribute's type and place, as predicates and in the words of their errors.
struct KnownAttr {
  StringRef name, type, place;
  bool (*isType)(Attribute);
  bool (*isPlace)(Operation *);
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and places
//===----------------------------------------------------------------------===//

template <typename T> static bool is(Attribute attr) { return isa<T>(attr); }
static bool isProblem(Attribute attr) {
  auto several = dyn_cast<ArrayAttr>(attr);
  return is<ProblemAttr>(attr) || (several && llvm::all_of(several, llvm::IsaPred<ProblemAttr>));
}
static bool isRoles(Attribute attr) {
  auto several = dyn_cast<ArrayAttr>(attr);
  return several && llvm::all_of(several, llvm::IsaPred<TensorRoleAttr>);
}
static bool isRole(Attribute attr) {
  return is<TensorRoleAttr>(attr) || (isRoles(attr) && cast<ArrayAttr>(attr).size() > 1);
}
static bool isWords(Attribute attr) {
  auto words = dyn_cast<DenseIntElementsAttr>(attr);
  return words && words.getElementType().isSignlessInteger(32);
}

static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }
static bool isGpuModule(Operation *op) { return nameOf(op) == "gpu.module"; }
static bool isGpuBinary(Operation *op) { return nameOf(op) == "gpu.binary"; }
static bool isOfKernels(Operation *op) { return isGpuModule(op) || isGpuBinary(op); }
static bool isFunction(Operation *op) { return isa<FunctionOpInterface>(op); }
static bool isKernel(Operation *op) {
  return isFunction(op) && op->getParentOp() && isGpuModule(op->getParentOp());
}

static constexpr KnownAttr knownOfOps[] = {
    {programAttr, "#dash.program<...>", "a 'gpu.module'", is<ProgramAttr>, isGpuModule},
    {formulasAttr, "#dash.formulas<...>", "a 'gpu.module'", is<FormulasAttr>, isGpuModule},
    {runsAttr, "unit", "a 'gpu.module'", is<UnitAttr>, isGpuModule},
    {dealAttr, "#dash.deal<...>", "a 'gpu.module'", is<DealAttr>, isGpuModule},
    {orderBufferAttr, "dense i32 elements", "a 'gpu.module' or 'gpu.binary'", isWords, isOfKernels},
    {manifestAttr, "a string", "a 'gpu.binary'", is<StringAttr>, isGpuBinary},
    {entryAttr, "#dash.entry<...>", "a function of a 'gpu.module'", is<EntryAttr>, isKernel},
    {tensorsAttr, "an array of #dash.tensor_role<...>", "a function", isRoles, isFunction},
    {softcapAttr, "a number", "a function", is<FloatAttr>, isFunction},
    {problemAttr, "#dash.problem<...> or an array of them", "a function", isProblem, isFunction},
};

static constexpr KnownAttr knownOfArguments[] = {
    {tensorAttr, "#dash.tensor_role<...> or an array of them", "an argument of a function", isRole,
     isFunction},
    {argumentShapeAttr, "array<i64>", "an argument of a function", is<DenseI64ArrayAttr>,
     isFunction},
    {parameterAttr, "a string", "an argument of a function of a 'gpu.module'", is<StringAttr>,
     isKernel},
};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks an attribute at `where` (an op or one of its arguments) against a list.
static LogicalResult verifyKnown(Operation *op, NamedAttribute attr, StringRef where,
                                 ArrayRef<KnownAttr> list) {
  auto *known =
      llvm::find_if(list, [&](const KnownAttr &one) { return one.name == attr.getName(); });
  if (known == list.end())
    return op->emitError() << "unknown attribute '" << attr.getName().getValue() << "' of " << where
                           << ", expected one of "
                           << llvm::join(llvm::map_range(list, [](auto &one) { return one.name; }),
                                         ", ");
  if (!known->isPlace(op))
    return op->emitError() << "expected '" << known->name << "' on " << known->place << ", got '"
                           << nameOf(op) << "'";
  if (!known->isType(attr.getValue()))
    return op->emitError() << "expected '" << known->name << "' to be " << known->type << ", got "
                           << attr.getValue();
  return success();
}

LogicalResult DashDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  return verifyKnown(op, attr, "an op", knownOfOps);
}

LogicalResult DashDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                    NamedAttribute attr) {
  return verifyKnown(op, attr, "an argument", knownOfArguments);
}

LogicalResult DashDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attr) {
  return op->emitError() << "unknown attribute '" << attr.getName().getValue() << "' of result "
                         << index << ", expected none";
}
