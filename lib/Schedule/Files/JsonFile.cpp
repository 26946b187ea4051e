//===- JsonFile.cpp - untrusted JSON files --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/JsonFile.h"
#include "dash/Support/Nesting.h"
#include "dash/Support/ReadFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dash;

bool dash::hasOnlyKeys(const llvm::json::Value &value, llvm::json::Path path,
                       ArrayRef<llvm::StringLiteral> known) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return true; // ObjectMapper reports it
  for (const auto &[key, ignored] : *object)
    if (!llvm::is_contained(known, StringRef(key))) {
      path.field(key).report("unknown key");
      return false;
    }
  return true;
}

namespace {
struct DuplicateKey {
  std::string key;
  int64_t line;
};
} // namespace

/// Precondition: the text is JSON.
static std::optional<DuplicateKey> findDuplicateKey(StringRef text) {
  // One frame for each open bracket: the keys of an object, nothing for an array.
  std::vector<std::optional<llvm::StringSet<>>> open;
  bool isKey = false;
  int64_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '\n':
      ++line;
      break;
    case '{':
      open.emplace_back(std::in_place);
      isKey = true;
      break;
    case '[':
      open.emplace_back();
      isKey = false;
      break;
    case '}':
    case ']':
      open.pop_back();
      break;
    case ':':
      isKey = false;
      break;
    case ',':
      isKey = open.back().has_value();
      break;
    case '"': {
      size_t begin = i++;
      while (text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
      if (!isKey)
        break;
      // Escapes can spell one key in two ways.
      std::string key = llvm::cantFail(llvm::json::parse(text.slice(begin, i + 1)))
                            .getAsString()
                            .value_or("")
                            .str();
      if (!open.back()->insert(key).second)
        return DuplicateKey{key, line};
      break;
    }
    default:
      break;
    }
  }
  return std::nullopt;
}

LogicalResult dash::parseJson(StringRef what, StringRef path, StringRef text, JsonReader read,
                              EmitError emitError) {
  auto refuse = [&] { return emitError() << what << " file '" << path << "': "; };
  if (nestsDeeper(text, mostNestingOfJson))
    return refuse() << "brackets nest deeper than in any such file";
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return refuse() << llvm::toString(value.takeError());
  if (std::optional<DuplicateKey> twice = findDuplicateKey(text))
    return refuse() << "line " << twice->line << " has key '" << twice->key
                    << "' a second time in its object, expected it once";
  llvm::json::Path::Root root(what);
  if (!read(*value, root))
    return refuse() << llvm::toString(root.getError());
  return success();
}

FailureOr<std::string> dash::readText(StringRef what, StringRef path, EmitError emitError) {
  constexpr uint64_t mostBytes = uint64_t(1) << 30; // enough for an order of millions of tasks
  llvm::Expected<std::string> text = readFile(path, mostBytes);
  if (!text)
    return emitError() << "cannot read " << what << " file '" << path
                       << "': " << llvm::toString(text.takeError());
  return std::move(*text);
}
