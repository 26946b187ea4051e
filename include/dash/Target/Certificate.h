//===- Certificate.h - what determines the bits of gradients ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TARGET_CERTIFICATE_H
#define DASH_TARGET_CERTIFICATE_H

#include "llvm/Support/JSON.h"
#include <string>

namespace mlir::dash {

/// The facts of a manifest's program that determine bits.
inline constexpr llvm::StringLiteral certifiedFacts[] = {
    "element", "head_dim", "head_dim_v",    "mask",  "tiles",
    "kind",    "level",    "deterministic", "parts", "width"};

/// The certificate of a manifest: the hash of one line for each thing that determines bits.
///  - program: from the manifest, with all of `certifiedFacts`;
///  - order: the hash of a table, or formulas, or "null";
///  - search: the manifest's `search` and `cost`, with a space between them, or nothing;
///  - ptx: its hash.
std::string certify(const llvm::json::Object &program, llvm::StringRef order,
                    llvm::StringRef search, llvm::StringRef ptx);

/// SHA-256 in hexadecimal digits.
std::string hashOf(llvm::StringRef bytes);

} // namespace mlir::dash

#endif // DASH_TARGET_CERTIFICATE_H
