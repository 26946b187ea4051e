//===- Manifest.cpp - all that a launcher has to know ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys stand in a fixed order, what belongs together on one line: a manifest is read by people too, and two
// of them compare line by line.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "KernelModules.h"
#include "dash/Lowering/EntryAttrs.h"
#include "dash/Lowering/ProgramAttrs.h"
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

/// Keys of dictionaries in the order in which they read best; others follow by name. (A dictionary attribute
/// has them sorted by name.)
static constexpr StringLiteral keyOrder[] = {
    "name",      "source",          "entry",    "file",        "command",
    "element",   "access",          "shape",    "head_dim",    "head_dim_v",
    "mask",      "tiles",           "kind",     "level",       "deterministic",
    "parts",     "workers",         "width",    "min_workers", "batch",
    "heads",     "kv_heads",        "q_rows",   "kv_rows",     "q",
    "kv",        "q_tiles",         "kv_tiles", "value",       "min",
    "max",       "expression",      "equals",   "message",     "bytes",
    "alignment", "stride_multiple", "initial",  "after"};

static bool isContainer(Attribute attr) { return isa<DictionaryAttr, ArrayAttr>(attr); }

/// Whether a value goes on a line of its own: it holds no other container.
static bool isLine(Attribute attr) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr))
    return llvm::none_of(
        dictionary, [](NamedAttribute entry) { return isa<DictionaryAttr>(entry.getValue()); });
  if (auto array = dyn_cast<ArrayAttr>(attr))
    return llvm::none_of(array, isContainer);
  return true;
}

static void writeValue(OStream &json, Attribute attr);

static void writeNested(OStream &json, Attribute attr) {
  if (auto array = dyn_cast<ArrayAttr>(attr))
    return json.array([&] {
      for (Attribute element : array)
        writeValue(json, element);
    });
  SmallVector<NamedAttribute> entries(cast<DictionaryAttr>(attr).getValue());
  llvm::sort(entries, [](NamedAttribute lhs, NamedAttribute rhs) {
    auto key = [](NamedAttribute entry) {
      StringRef name = entry.getName().getValue();
      return std::pair(llvm::find(keyOrder, name), name);
    };
    return key(lhs) < key(rhs);
  });
  json.object([&] {
    for (NamedAttribute entry : entries) {
      json.attributeBegin(entry.getName());
      writeValue(json, entry.getValue());
      json.attributeEnd();
    }
  });
}

static void writeLine(OStream &json, llvm::function_ref<void(OStream &)> write) {
  std::string line;
  llvm::raw_string_ostream os(line);
  OStream compact(os);
  write(compact);
  compact.flush();
  json.rawValue(line);
}

static void writeValue(OStream &json, Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return json.value(text.getValue());
  if (auto truth = dyn_cast<BoolAttr>(attr))
    return json.value(truth.getValue());
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return json.value(number.getValue().getSExtValue());
  if (auto extent = dyn_cast<DenseI32ArrayAttr>(attr))
    return writeLine(json, [&](OStream &line) {
      line.array([&] {
        for (int32_t number : extent.asArrayRef())
          line.value(number);
      });
    });
  if (isLine(attr))
    return writeLine(json, [&](OStream &line) { writeNested(line, attr); });
  writeNested(json, attr);
}

static void writeKey(OStream &json, StringRef key, Attribute attr) {
  json.attributeBegin(key);
  writeValue(json, attr);
  json.attributeEnd();
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

static Attribute programPart(gpu::GPUModuleOp module, StringRef key) {
  return module->getAttrOfType<DictionaryAttr>(programAttr).get(key);
}

StringRef dash::programName(gpu::GPUModuleOp module) {
  return cast<StringAttr>(programPart(module, programNameKey)).getValue();
}

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
  auto facts = cast<DictionaryAttr>(programPart(module, programFactsKey));
  for (StringRef key :
       {factElementKey, factHeadDimKey, factHeadDimVKey, factMaskKey, factTilesKey, factKindKey,
        factLevelKey, factDeterministicKey, factPartsKey, factWidthKey}) {
    os << key << ' ';
    OStream json(os);
    if (Attribute fact = facts.get(key))
      writeValue(json, fact);
    else
      json.value(nullptr);
    json.flush();
    os << '\n';
  }
  os << "order ";
  if (parts.order)
    os << "sha256:" << hashOf(*parts.order);
  else if (Attribute formulas = module->getAttr(formulasAttr))
    os << formulas;
  else
    os << "null";
  os << "\nptx sha256:" << hashOf(parts.ptx) << '\n';
  return text;
}

static void writeOrder(OStream &json, gpu::GPUModuleOp module, const ManifestParts &parts) {
  auto order = cast<DictionaryAttr>(programPart(module, programOrderKey));
  if (!parts.order)
    return writeKey(json, programOrderKey, order);
  Builder b(module.getContext());
  NamedAttrList entries(order);
  entries.set("file", b.getStringAttr(parts.file + ".order"));
  entries.set("bytes", b.getI64IntegerAttr(parts.order->size()));
  entries.set("sha256", b.getStringAttr(hashOf(*parts.order)));
  writeKey(json, programOrderKey, entries.getDictionary(module.getContext()));
}

static void writeEntry(OStream &json, Operation *entry, const ManifestParts &parts) {
  auto launch = entry->getAttrOfType<DictionaryAttr>(entryAttr);
  auto function = cast<FunctionOpInterface>(entry);
  json.object([&] {
    json.attribute("name", function.getName());
    for (StringRef key : {entryRoleKey, entryWhenKey, entryGridKey, entryBlockKey, entryClusterKey,
                          entrySharedKey, entryCooperativeKey})
      writeKey(json, key, launch.get(key));
    if (parts.assembled)
      json.attribute("registers", parts.assembled->lookup(function.getName()).registers);
    else
      json.attribute("registers", nullptr);
    json.attributeArray("parameters", [&] {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        writeLine(json, [&](OStream &line) {
          line.object([&] {
            line.attribute("name",
                           function.getArgAttrOfType<StringAttr>(i, parameterAttr).getValue());
            line.attribute("type", parameterType(function.getArgumentTypes()[i]));
          });
        });
    });
  });
}

std::string dash::writeManifest(gpu::GPUModuleOp module, const ManifestParts &parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("name", programName(module));
    json.attributeObject("ptx", [&] {
      json.attribute("file", parts.file + ".ptx");
      json.attribute("sha256", hashOf(parts.ptx));
      json.attribute("isa", directiveOf(parts.ptx, ".version"));
      json.attribute("target", targetOf(parts.ptx));
    });
    json.attribute("certificate", "sha256:" + hashOf(certificateText(module, parts)));
    for (StringRef key : {programFactsKey, programSizesKey, programConstraintsKey,
                          programDerivedKey, programTensorsKey, programWorkspaceKey})
      writeKey(json, key, programPart(module, key));
    writeOrder(json, module, parts);
    json.attributeArray("entries", [&] {
      for (Operation *entry : entriesOf(module))
        writeEntry(json, entry, parts);
    });
  });
  json.flush();
  return text + '\n';
}
