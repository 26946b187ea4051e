//===- Bytecode.cpp - attributes that have a binary form ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR writes a dialect's attributes into bytecode as text unless the dialect does better. Tables
// are the only long ones: as text they would be twice as large, and those that were elided would
// come back under another name.
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/IR/DashDialect.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace mlir::dash;

namespace {
/// First number of an attribute in binary form. Numbers are never reused.
enum Code : uint64_t { Table = 0 };

struct DashBytecode : public BytecodeDialectInterface {
  explicit DashBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeAttribute(Attribute attribute, DialectBytecodeWriter &writer) const override {
    auto table = dyn_cast<TableAttr>(attribute);
    if (!table)
      return failure(); // as text
    writer.writeVarInt(Code::Table);
    writer.writeAttribute(table.getItems());
    writer.writeAttribute(table.getVisits());
    return success();
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    uint64_t code;
    ElementsAttr items, visits;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code != Code::Table) {
      reader.emitError() << "expected the code of a dash attribute, 0, got " << code;
      return {};
    }
    if (failed(reader.readAttribute(items)) || failed(reader.readAttribute(visits)))
      return {};
    auto emitHere = [&] { return reader.emitError(); };
    function_ref<InFlightDiagnostic()> emitError = emitHere;
    return TableAttr::getChecked(emitError, getContext(), items, visits);
  }
};
} // namespace

void DashDialect::registerBytecode() { addInterfaces<DashBytecode>(); }
