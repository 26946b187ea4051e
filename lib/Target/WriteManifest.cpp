//===- WriteManifest.cpp - everything that a launcher must know -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys have a fixed order, and related values share a line: people read manifests too, and compare
// two of them line by line.
//
//===----------------------------------------------------------------------===//

#include "WriteManifest.h"
#include "KernelModules.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/Target/Certificate.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dash;
using llvm::json::OStream;

//===----------------------------------------------------------------------===//
// Attributes as JSON
//===----------------------------------------------------------------------===//

/// Writes any value on one line.
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

/// An attribute or a type as its text, without the dialect's name around a mask: "bf16", "causal".
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

static llvm::json::Object factsOf(FactsAttr facts) {
  TilesAttr tiles = facts.getTiles();
  llvm::json::Object object{
      {"element", textOf(facts.getElement())},
      {"head_dim", facts.getHeadDim()},
      {"head_dim_v", facts.getHeadDimV()},
      {"mask", textOf(facts.getMask())},
      {"tiles", llvm::json::Object{{"q", tiles.getQ()}, {"kv", tiles.getKv()}}},
      {"kind", facts.getKind()},
      {"level", stringifyDeterminismLevel(facts.getLevel())},
      {"deterministic", facts.getDeterministic()},
      {"parts", facts.getParts()},
      {"workers", facts.getWorkers()},
      {"width", facts.getWidth()},
      {"min_workers", facts.getMinWorkers()}};
  if (FloatAttr softcap = facts.getSoftcap())
    object["softcap"] = softcap.getValueAsDouble();
  if (facts.getApart() != Apart::None)
    object["apart"] = stringifyApart(facts.getApart());
  if (facts.ownsQ())
    object["own"] = stringifyTensorSide(facts.getOwn());
  if (facts.getCut() > 0)
    object["cut"] = facts.getCut();
  if (facts.getTiles().getFold() > 1)
    object["fold"] = facts.getTiles().getFold();
  return object;
}

static void writeFacts(OStream &json, FactsAttr facts) {
  llvm::json::Object program = factsOf(facts);
  json.attributeObject("program", [&] {
    for (StringRef key : {"element", "head_dim", "head_dim_v", "mask"})
      json.attribute(key, std::move(program[key]));
    writeObjectLine(json, "tiles", [&](OStream &line) {
      line.attribute("q", facts.getTiles().getQ());
      line.attribute("kv", facts.getTiles().getKv());
    });
    for (StringRef key :
         {"kind", "level", "deterministic", "parts", "workers", "width", "min_workers"})
      json.attribute(key, std::move(program[key]));
    for (StringRef key : {"softcap", "apart", "own", "cut", "fold"})
      if (auto optional = program.find(key); optional != program.end())
        json.attribute(key, std::move(optional->second));
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
        line.attribute("element", textOf(tensor.getRole().getElement()));
        line.attribute("access", stringifyTensorAccess(tensor.getRole().getAccess()));
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

/// The events' numbers, so that a trace can be read without the compiler that made it.
static void writeTrace(OStream &json, TraceAttr trace) {
  json.attributeObject("trace", [&] {
    json.attribute("level", stringifyTraceLevel(trace.getLevel()));
    json.attribute("every", trace.getEvery());
    json.attribute("records", trace.getRecords());
    writeTexts(json, "lanes", trace.getLanes());
    json.attributeArray("events", [&] {
      for (unsigned event : llvm::seq(getMaxEnumValForTraceEvent() + 1))
        json.value(stringifyTraceEvent(*symbolizeTraceEvent(event)));
    });
    writeTexts(json, "names", trace.getNames());
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

/// The text after `directive` on its line of the PTX.
static StringRef directiveOf(StringRef ptx, StringRef directive) {
  StringRef rest = ptx.substr(ptx.find(directive)).drop_front(directive.size());
  return rest.take_until([](char c) { return c == '\n' || c == ','; }).trim();
}

StringRef dash::targetOf(StringRef ptx) { return directiveOf(ptx, ".target"); }

static std::string certifyModule(gpu::GPUModuleOp module, const ManifestParts &parts) {
  auto program = module->getAttrOfType<ProgramAttr>(programAttr);
  std::string order = "null", search;
  if (parts.order)
    order = "sha256:" + hashOf(*parts.order);
  else if (Attribute formulas = module->getAttr(formulasAttr))
    order = textOf(formulas);
  if (OrderSourceAttr source = program.getOrder(); source.getSearch())
    search = textOf(source.getSearch()) + ' ' + textOf(source.getCost());
  return dash::certify(factsOf(program.getFacts()), order, search, "sha256:" + hashOf(parts.ptx));
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
  switch (when) {
  case EntryWhen::Always:
    return "always";
  case EntryWhen::SizesChange:
    return "sizes-change";
  case EntryWhen::Asked:
    return "asked";
  }
  llvm_unreachable("all words are above");
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
    if (launch.getOverlaps())
      json.attribute("overlaps", true);
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
    json.attribute("certificate", certifyModule(module, parts));
    writeFacts(json, program.getFacts());
    writeSizes(json, program);
    writeMemory(json, program);
    if (TraceAttr trace = program.getTrace())
      writeTrace(json, trace);
    writeOrder(json, program.getOrder(), parts);
    json.attributeArray("entries", [&] {
      for (Operation *entry : entriesOf(module))
        writeEntry(json, entry, parts);
    });
  });
  json.flush();
  return text + '\n';
}
