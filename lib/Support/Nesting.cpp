//===- Nesting.cpp - nested brackets --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/Nesting.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

bool mlir::dash::nestsDeeper(StringRef text, unsigned most) {
  constexpr StringLiteral openers = "([{<", closers = ")]}>";
  SmallVector<char> open; // expected closing brackets
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if (c == '/' && text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (size_t kind = openers.find(c); kind != StringRef::npos) {
      if (text.substr(i).starts_with("<=")) // a comparison
        continue;
      open.push_back(closers[kind]);
      if (open.size() > most)
        return true;
    } else if (!open.empty() && c == open.back()) {
      // Arrows and comparisons close nothing. The parser refuses a bracket that closes nothing
      // open.
      bool isBracket =
          c != '>' || !((i && text[i - 1] == '-') || text.substr(i + 1).starts_with("="));
      if (isBracket)
        open.pop_back();
    }
  }
  return false;
}
