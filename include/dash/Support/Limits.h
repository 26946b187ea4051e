//===- Limits.h - limits of sizes -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits that no useful order reaches. They keep hand-written input from asking for unbounded
// memory or time. Also the element types that tensors may have.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SUPPORT_LIMITS_H
#define DASH_SUPPORT_LIMITS_H

#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <cstdint>
#include <limits>

namespace mlir::dash {

constexpr int64_t maxRows = std::numeric_limits<int32_t>::max(); ///< of a sequence
/// blocks that a GPU holds at once are some hundreds
constexpr int64_t maxWorkers = int64_t(1) << 14;
constexpr int64_t maxDqLimit = int64_t(1) << 20;   ///< MiB
constexpr int64_t maxTableRows = int64_t(1) << 26; ///< items, and visits, of a table

/// The most bytes of a kernel's files; none is read past its limit.
constexpr uint64_t maxManifestBytes = uint64_t(1) << 24;
constexpr uint64_t maxPtxBytes = uint64_t(1) << 26;
constexpr uint64_t maxCubinBytes = uint64_t(1) << 26;

/// The elements of q, k, v and tensors of their shapes, in MLIR's spelling.
constexpr llvm::StringLiteral matrixElements[] = {"bf16", "f16"};

/// Whether a window may extend this far: -1 is no bound.
constexpr bool isWindowSide(int64_t side) { return side >= -1 && side <= maxRows; }

/// Whether scores can be capped at this value.
inline bool isCap(double cap) { return std::isfinite(cap) && cap > 0; }

} // namespace mlir::dash

#endif // DASH_SUPPORT_LIMITS_H
