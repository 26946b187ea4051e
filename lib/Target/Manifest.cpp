//===- Manifest.cpp - all that a launcher has to know ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys stand in a fixed order, what belongs together on one line: a manifest is read by people too, and two
// of them compare line by line.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "KernelModules.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::dash;
using llvm::json::OStream;

//===----------------------------------------------------------------------===//
// Attributes as JSON
//===----------------------------------------------------------------------===//

/// Writes a value on one line, whatever it holds.
static void writeLine(OStream &json, llvm::function_ref<void(OStream &)> write) {
  std::string line;
  llvm::raw_string_ostream os(line);
  OStream compact(os);
  write(compact);
  compact.flush();
  json.rawValue(line);
}
static void writeLine(OStream &json, StringRef key, llvm::function_ref<void(OStream &)> write) {
  json.attributeBegin(key);
  writeLine(json, write);
  json.attributeEnd();
}
static void writeObjectLine(OStream &json, llvm::function_ref<void(OStream &)> write) {
  writeLine(json, [&](OStream &line) { line.object([&] { write(line); }); });
}
static void writeObjectLine(OStream &json, StringRef key,
                            llvm::function_ref<void(OStream &)> write) {
  writeLine(json, key, [&](OStream &line) { line.object([&] { write(line); }); });
}

static void writeTexts(OStream &json, StringRef key, ArrayRef<StringAttr> texts) {
  json.attributeArray(key, [&] {
    for (StringAttr text : texts)
      json.value(text.getValue());
  });
}

/// An attribute or a type as its text has it, without the dialect's name around a mask: "bf16", "causal".
template <typename T> static std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  StringRef inner = text;
  if (inner.consume_front("#dash.mask<"))
    inner.consume_back(">");
  return inner.str();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static void writeTiles(OStream &json, TilesAttr tiles) {
  json.object([&] {
    json.attribute("q", tiles.getQ());
    json.attribute("kv", tiles.getKv());
  });
}

static void writeFacts(OStream &json, FactsAttr facts) {
  json.attributeObject("program", [&] {
    json.attribute("element", textOf(facts.getElement()));
    json.attribute("head_dim", facts.getHeadDim());
    json.attribute("head_dim_v", facts.getHeadDimV());
    json.attribute("mask", textOf(facts.getMask()));
    writeLine(json, "tiles", [&](OStream &line) { writeTiles(line, facts.getTiles()); });
    json.attribute("kind", facts.getKind());
    json.attribute("level", stringifyDeterminismLevel(facts.getLevel()));
    json.attribute("deterministic", facts.getDeterministic());
    json.attribute("parts", facts.getParts());
    json.attribute("workers", facts.getWorkers());
    json.attribute("width", facts.getWidth());
    json.attribute("min_workers", facts.getMinWorkers());
  });
}

static void writeSizes(OStream &json, ProgramAttr program) {
  json.attributeObject("sizes", [&] {
    for (SizeAttr size : program.getSizes())
      writeObjectLine(json, size.getName(), [&](OStream &line) {
        if (size.isFixed())
          return line.attribute("value", size.getMin());
        line.attribute("min", size.getMin());
        line.attribute("max", size.getMax());
      });
  });
  json.attributeArray("constraints", [&] {
    for (ConstraintAttr constraint : program.getConstraints())
      writeObjectLine(json, [&](OStream &line) {
        line.attribute("expression", constraint.getExpression());
        line.attribute("equals", constraint.getEquals());
        line.attribute("message", constraint.getMessage());
      });
  });
  writeObjectLine(json, "derived", [&](OStream &line) {
    for (DerivedAttr derived : program.getDerived())
      line.attribute(derived.getName(), derived.getExpression());
  });
}

static void writeMemory(OStream &json, ProgramAttr program) {
  json.attributeArray("tensors", [&] {
    for (TensorAttr tensor : program.getTensors())
      writeObjectLine(json, [&](OStream &line) {
        line.attribute("name", tensor.getName());
        line.attribute("element", textOf(tensor.getElement()));
        line.attribute("access", stringifyTensorAccess(tensor.getAccess()));
        writeTexts(line, "shape", tensor.getShape());
        line.attribute("alignment", tensor.getAlignment());
        line.attribute("stride_multiple", tensor.getStrideMultiple());
      });
  });
  json.attributeArray("workspace", [&] {
    for (RegionAttr region : program.getWorkspace())
      writeObjectLine(json, [&](OStream &line) {
        line.attribute("name", region.getName());
        line.attribute("bytes", region.getBytes());
        line.attribute("alignment", region.getAlignment());
        line.attribute("initial", stringifyRegionBefore(region.getBefore()));
        line.attribute("after", stringifyRegionAfter(region.getAfter()));
      });
  });
}

static void writeOrder(OStream &json, OrderSourceAttr order, const ManifestParts &parts) {
  writeObjectLine(json, "order", [&](OStream &line) {
    line.attribute("source", stringifyOrderSource(order.getSource()));
    if (order.getSource() == OrderSource::Entry)
      return line.attribute("entry", order.getText());
    line.attribute("file", parts.file + ".order");
    line.attribute("command", order.getText());
    line.attribute("bytes", int64_t(parts.order->size()));
    line.attribute("sha256", hashOf(*parts.order));
    if (!order.getSearch())
      return;
    line.attribute("search", textOf(order.getSearch()));
    line.attribute("cost", textOf(order.getCost()));
  });
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

std::string dash::hashOf(StringRef bytes) {
  auto digest =
      llvm::SHA256::hash(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

std::optional<std::string> dash::orderBytes(gpu::GPUModuleOp module) {
  auto words = module->getAttrOfType<DenseIntElementsAttr>(orderBufferAttr);
  if (!words)
    return std::nullopt;
  std::string bytes;
  bytes.reserve(4 * words.getNumElements());
  for (int32_t word : words.getValues<int32_t>()) {
    char little[4];
    llvm::support::endian::write32le(little, word);
    bytes.append(little, 4);
  }
  return bytes;
}

/// What stands behind `directive` on its line of the PTX.
static StringRef directiveOf(StringRef ptx, StringRef directive) {
  StringRef rest = ptx.substr(ptx.find(directive)).drop_front(directive.size());
  return rest.take_until([](char c) { return c == '\n' || c == ','; }).trim();
}

StringRef dash::targetOf(StringRef ptx) { return directiveOf(ptx, ".target"); }

std::string dash::certificateText(gpu::GPUModuleOp module, const ManifestParts &parts) {
  std::string text = "dash certificate 1\n";
  llvm::raw_string_ostream os(text);
  FactsAttr facts = module->getAttrOfType<ProgramAttr>(programAttr).getFacts();
  auto line = [&](StringRef key, llvm::function_ref<void(OStream &)> write) {
    os << key << ' ';
    OStream json(os);
    write(json);
    json.flush();
    os << '\n';
  };
  auto value = [&](StringRef key, const llvm::json::Value &value) {
    line(key, [&](OStream &json) { json.value(value); });
  };
  value("element", textOf(facts.getElement()));
  value("head_dim", facts.getHeadDim());
  value("head_dim_v", facts.getHeadDimV());
  value("mask", textOf(facts.getMask()));
  line("tiles", [&](OStream &json) { writeTiles(json, facts.getTiles()); });
  value("kind", facts.getKind());
  value("level", stringifyDeterminismLevel(facts.getLevel()));
  value("deterministic", facts.getDeterministic());
  value("parts", facts.getParts());
  value("width", facts.getWidth());
  os << "order ";
  if (parts.order)
    os << "sha256:" << hashOf(*parts.order);
  else if (Attribute formulas = module->getAttr(formulasAttr))
    os << formulas;
  else
    os << "null";
  OrderSourceAttr source = module->getAttrOfType<ProgramAttr>(programAttr).getOrder();
  if (source.getSearch())
    os << "\nsearch " << source.getSearch() << ' ' << source.getCost();
  os << "\nptx sha256:" << hashOf(parts.ptx) << '\n';
  return text;
}

static void writeExtent(OStream &json, StringRef key, ArrayRef<int32_t> extent) {
  writeLine(json, key, [&](OStream &line) {
    line.array([&] {
      for (int32_t number : extent)
        line.value(number);
    });
  });
}

/// As launchers spell it.
static StringRef textOf(EntryWhen when) {
  return when == EntryWhen::Always ? "always" : "sizes-change";
}

static void writeEntry(OStream &json, Operation *entry, const ManifestParts &parts) {
  auto launch = entry->getAttrOfType<EntryAttr>(entryAttr);
  auto function = cast<FunctionOpInterface>(entry);
  json.object([&] {
    json.attribute("name", function.getName());
    json.attribute("role", stringifyEntryRole(launch.getRole()));
    json.attribute("when", textOf(launch.getWhen()));
    writeLine(json, "grid", [&](OStream &line) {
      line.array([&] {
        for (StringAttr expression : launch.getGrid())
          line.value(expression.getValue());
      });
    });
    writeExtent(json, "block", launch.getBlock());
    writeExtent(json, "cluster", launch.getCluster());
    json.attribute("shared_bytes", launch.getSharedBytes());
    json.attribute("cooperative", launch.getCooperative());
    if (parts.assembled)
      json.attribute("registers", parts.assembled->lookup(function.getName()).registers);
    else
      json.attribute("registers", nullptr);
    json.attributeArray("parameters", [&] {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        writeObjectLine(json, [&](OStream &line) {
          line.attribute("name",
                         function.getArgAttrOfType<StringAttr>(i, parameterAttr).getValue());
          line.attribute("type", parameterType(function.getArgumentTypes()[i]));
        });
    });
  });
}

std::string dash::writeManifest(gpu::GPUModuleOp module, const ManifestParts &parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  auto program = module->getAttrOfType<ProgramAttr>(programAttr);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("name", program.getName());
    json.attributeObject("ptx", [&] {
      json.attribute("file", parts.file + ".ptx");
      json.attribute("sha256", hashOf(parts.ptx));
      json.attribute("isa", directiveOf(parts.ptx, ".version"));
      json.attribute("target", targetOf(parts.ptx));
    });
    json.attribute("certificate", "sha256:" + hashOf(certificateText(module, parts)));
    writeFacts(json, program.getFacts());
    writeSizes(json, program);
    writeMemory(json, program);
    writeOrder(json, program.getOrder(), parts);
    json.attributeArray("entries", [&] {
      for (Operation *entry : entriesOf(module))
        writeEntry(json, entry, parts);
    });
  });
  json.flush();
  return text + '\n';
}
