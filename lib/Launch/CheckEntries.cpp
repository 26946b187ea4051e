//===- CheckEntries.cpp - PTX has the entries of its manifest -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver takes as many parameters as the function has, from an array whose length it does not know. So the text is read:
//
//   .visible .entry NAME(
//     .param .u64 .ptr .global .align 1 NAME_param_0,
//     .param .u32 NAME_param_1
//   )
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Manifest.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir::dash::launch;

/// What stands between the parentheses of an entry, if it is there.
static std::optional<StringRef> parametersOf(StringRef ptx, StringRef name) {
  for (size_t at = ptx.find(".entry"); at != StringRef::npos; at = ptx.find(".entry", at + 1)) {
    StringRef rest = ptx.drop_front(at + StringRef(".entry").size()).ltrim();
    if (!rest.consume_front(name))
      continue;
    rest = rest.ltrim();
    if (rest.consume_front("("))
      return rest.take_until([](char c) { return c == ')'; });
    if (rest.starts_with(".") || rest.starts_with("{")) // it has none
      return StringRef();
  }
  return std::nullopt;
}

/// Bytes of a parameter such as ".param .u64 NAME"; 0 for what no launcher passes, such as arrays.
static unsigned bytesInPtx(StringRef parameter) {
  parameter = parameter.trim();
  if (!parameter.consume_front(".param") || parameter.contains('['))
    return 0;
  StringRef type = parameter.ltrim().take_until([](char c) { return isSpace(c); });
  return type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : 0;
}

static unsigned bytesInManifest(ParameterType type) {
  return type == ParameterType::Pointer || type == ParameterType::I64 ? 8 : 4;
}

Outcome mlir::dash::launch::checkEntries(StringRef ptx, const Manifest &manifest) {
  for (const Entry &entry : manifest.entries) {
    std::optional<StringRef> text = parametersOf(ptx, entry.name);
    if (!text)
      return fail(DASH_INVALID_MANIFEST, "the PTX has no entry '" + entry.name + "'");
    SmallVector<StringRef> found;
    if (!text->trim().empty())
      text->split(found, ',');
    if (found.size() != entry.parameters.size())
      return fail(DASH_INVALID_MANIFEST, "entry '" + entry.name + "' of the PTX has " +
                                             Twine(found.size()) + " parameters, found " +
                                             Twine(entry.parameters.size()) + " in the manifest");
    for (auto [one, parameter] : zip_equal(found, entry.parameters))
      if (bytesInPtx(one) != bytesInManifest(parameter.type))
        return fail(DASH_INVALID_MANIFEST, "entry '" + entry.name + "' of the PTX has '" +
                                               one.trim() + "' for the parameter '" +
                                               parameter.name +
                                               "', found another type in the manifest");
  }
  return std::nullopt;
}
