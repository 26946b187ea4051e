//===- Describe.cpp - numbers and problems in words -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/Describe.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>

using namespace mlir;
using namespace mlir::dash;

std::string dash::toDecimal(double value) {
  char text[32];
  auto result = std::to_chars(std::begin(text), std::end(text), value);
  return std::string(text, result.ptr);
}

std::string dash::describeSequences(const Problem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const auto &sequences = problem.sequences;
  for (size_t begin = 0, end; begin < sequences.size(); begin = end) {
    for (end = begin + 1; end < sequences.size() && sequences[end] == sequences[begin];)
      ++end;
    os << (begin == 0 ? "" : ", ");
    if (end - begin > 1)
      os << end - begin << " of ";
    os << sequences[begin].q << " x " << sequences[begin].kv;
  }
  return text;
}

std::string dash::maskName(const Mask &mask) {
  SmallVector<std::string, 2> entries;
  if (mask.left < 0 && mask.right == 0)
    entries.push_back("causal");
  else if (mask.left >= 0 || mask.right >= 0)
    entries.push_back(llvm::formatv("window [{0}, {1}]", mask.left, mask.right));
  for (MaskRule rule : mask.rules)
    entries.push_back(rule.getTitle());
  return entries.empty() ? "full" : llvm::join(entries, ", ");
}
