//===- Certificate.cpp - what determines the bits of gradients ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Target/Certificate.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir::dash;
using llvm::StringRef;

std::string mlir::dash::hashOf(StringRef bytes) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

std::string mlir::dash::certify(const llvm::json::Object &program, StringRef order,
                                StringRef search, StringRef ptx) {
  std::string text = "dash certificate 1\n";
  llvm::raw_string_ostream os(text);
  for (StringRef key : certifiedFacts) {
    os << key << ' ';
    llvm::json::OStream json(os);
    const llvm::json::Value &value = *program.get(key);
    if (const llvm::json::Object *tiles = value.getAsObject()) // JSON objects have no order
      json.object([&] {
        json.attribute("q", *tiles->get("q"));
        json.attribute("kv", *tiles->get("kv"));
      });
    else
      json.value(value);
    json.flush();
    os << '\n';
  }
  os << "order " << order;
  if (!search.empty())
    os << "\nsearch " << search;
  os << "\nptx " << ptx << '\n';
  return "sha256:" + hashOf(text);
}
