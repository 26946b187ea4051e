//===- CheckEntries.cpp - PTX has the entries of its manifest -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver reads as many parameters as the function has, from an array whose length it does not
// know. So this file reads the declaration from the text. For code without text, the driver answers
// after loading (Kernel.cpp).
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
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace llvm;
using namespace mlir::dash::launch;

namespace {

/// The words and signs of PTX, without comments and without the contents of strings.
class PtxLexer {
public:
  explicit PtxLexer(StringRef text) : rest(text) {}

  /// A word such as ".entry" or "%r1", or one sign; a string is the sign ". Empty at the end.
  StringRef next() {
    if (!skip())
      return StringRef();
    StringRef word = rest.take_while(
        [](char c) { return isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.'; });
    if (word.empty())
      word = rest.take_front();
    rest = rest.drop_front(word.size());
    if (word == "\"")
      rest = rest.drop_front(std::min(rest.find('"') + 1, rest.size())); // it knows no escapes
    return word;
  }

private:
  /// Skips spaces and comments. False at the end.
  bool skip() {
    while (!rest.empty()) {
      size_t size = rest.size();
      rest = rest.ltrim();
      for (auto [begin, end] : {std::pair<StringRef, StringRef>("//", "\n"), {"/*", "*/"}})
        if (rest.starts_with(begin)) {
          size_t at = rest.find(end, begin.size());
          rest = at == StringRef::npos ? StringRef() : rest.drop_front(at + end.size());
        }
      if (rest.size() == size)
        return true;
    }
    return false;
  }

  StringRef rest;
};

/// The words of each parameter of an entry, such as .param, .u64 and its name.
struct PtxEntry {
  StringRef name;
  std::vector<SmallVector<StringRef>> parameters;
};

} // namespace

/// Every entry that the text declares or defines.
static std::vector<PtxEntry> entriesOf(StringRef ptx) {
  std::vector<PtxEntry> entries;
  PtxLexer lexer(ptx);
  for (StringRef word = lexer.next(); !word.empty(); word = lexer.next()) {
    if (word != ".entry")
      continue;
    PtxEntry &entry = entries.emplace_back();
    entry.name = lexer.next();
    if (word = lexer.next(); word != "(") // it has none
      continue;
    for (word = lexer.next(); !word.empty() && word != ")"; word = lexer.next())
      if (word == ",")
        entry.parameters.emplace_back();
      else if (entry.parameters.empty())
        entry.parameters.push_back({word});
      else
        entry.parameters.back().push_back(word);
  }
  return entries;
}

/// Bytes of a parameter such as ".param .u64 NAME"; 0 for kinds that no launcher passes, such as
/// arrays.
static unsigned bytesInPtx(ArrayRef<StringRef> parameter) {
  if (parameter.size() < 3 || parameter.front() != ".param" || is_contained(parameter, "["))
    return 0;
  return StringSwitch<unsigned>(parameter[1])
      .Cases({".u64", ".s64", ".b64", ".f64"}, 8)
      .Cases({".u32", ".s32", ".b32", ".f32"}, 4)
      .Default(0);
}

static Outcome checkEntry(const PtxEntry &found, const Entry &entry) {
  if (found.parameters.size() != entry.parameters.size())
    return fail(DASH_INVALID_MANIFEST, "entry '" + entry.name + "' of the PTX has " +
                                           Twine(found.parameters.size()) + " parameters, found " +
                                           Twine(entry.parameters.size()) + " in the manifest");
  for (auto [one, parameter] : zip_equal(found.parameters, entry.parameters))
    if (bytesInPtx(one) != bytesOf(parameter.type))
      return fail(DASH_INVALID_MANIFEST, "entry '" + entry.name + "' of the PTX has '" +
                                             join(one, " ") + "' for the parameter '" +
                                             parameter.name +
                                             "', found another type in the manifest");
  return std::nullopt;
}

uint32_t mlir::dash::launch::bytesOf(ParameterType type) {
  return type == ParameterType::Pointer || type == ParameterType::I64 ? 8 : 4;
}

Outcome mlir::dash::launch::checkEntries(StringRef ptx, const Manifest &manifest) {
  // An assembler may stop at a 0, interpret escapes in strings, or run a preprocessor. Then it
  // reads another text than this check.
  constexpr StringLiteral unsure = StringLiteral::withInnerNUL("\0\\#");
  if (size_t at = ptx.find_first_of(unsure); at != StringRef::npos)
    return fail(DASH_INVALID_MANIFEST, "the PTX has the byte " + Twine(int(ptx[at])) + " at " +
                                           Twine(at) +
                                           ", expected text without zeros, backslashes and #");
  std::vector<PtxEntry> found = entriesOf(ptx);
  for (const Entry &entry : manifest.entries) {
    bool isThere = false;
    for (const PtxEntry &one : found) // declarations too: the assembler may take any of them
      if (one.name == entry.name) {
        isThere = true;
        if (Outcome wrong = checkEntry(one, entry))
          return wrong;
      }
    if (!isThere)
      return fail(DASH_INVALID_MANIFEST, "the PTX has no entry '" + entry.name + "'");
  }
  return std::nullopt;
}
