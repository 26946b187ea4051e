//===- Documents.h - lengths to plan for ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_DOCUMENTS_H
#define DASH_WORLD_DOCUMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace mlir::dash::world {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on each machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// A number of 0 … count - 1; count is below 2^32.
  int64_t below(uint64_t count) { return (next() >> 32) * count >> 32; }

private:
  uint64_t state;
};

/// Lengths of documents with `tokens` rows in total, from "lognormal:SEED", "pareto:SEED" or
/// "mixed:SEED", in integers; the last document takes the rest. Or the lengths in a file, separated
/// by whitespace; then `tokens` is ignored.
///
/// lognormal: median 8192, deviation 1.8 powers of two. pareto: from 2048 rows on, exponent 5/4.
/// mixed: of each 64 documents, 59 are lognormal with median 2048, four with median 32768, and one
/// has 65536 to 524288 rows, uniformly. Lengths are from 64 to 524288.
llvm::Expected<std::vector<int64_t>> makeDocuments(llvm::StringRef spelling, int64_t tokens);

} // namespace mlir::dash::world

#endif // DASH_WORLD_DOCUMENTS_H
