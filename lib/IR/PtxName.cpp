//===- PtxName.cpp - names of functions in PTX ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/PtxName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::dash;
using llvm::StringRef;

std::string mlir::dash::ptxNameOf(StringRef name) {
  std::string result;
  for (char c : name)
    if (c == '_' || (llvm::isAlnum(c) && !(result.empty() && llvm::isDigit(c))))
      result += c;
    else
      result += '$' + llvm::toHex(StringRef(&c, 1), /*LowerCase=*/true);
  return result;
}

bool mlir::dash::isPtxIdentifier(StringRef name) {
  auto follows = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  return !name.empty() && !llvm::isDigit(name.front()) && llvm::all_of(name, follows);
}
