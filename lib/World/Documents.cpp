//===- Documents.cpp - lengths to plan for ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/Documents.h"
#include "Refuse.h"
#include "dash/Support/ReadFile.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir::dash::world;

static constexpr int64_t shortest = 64, longest = 524288;

/// 2^exponent; the exponent has 16 fractional bits. Capped at `longest`.
static int64_t powerOfTwo(int64_t exponent) {
  if (exponent < 0)
    return 0;
  if (exponent >> 16 >= 19)
    return longest;
  // The factors 2^(1/2), 2^(1/4), …, with 30 fractional bits.
  static constexpr uint64_t roots[] = {1518500250, 1276901417, 1170923762, 1121280436,
                                       1097253708, 1085434106, 1079572136, 1076653033};
  uint64_t value = uint64_t(1) << 30;
  for (int bit = 0; bit < 8; ++bit)
    if (exponent >> (15 - bit) & 1)
      value = value * roots[bit] >> 30;
  return int64_t(value << (exponent >> 16) >> 30);
}

/// Mean 0 and deviation 1, with 16 fractional bits: the sum of twelve uniform numbers.
static int64_t normal(RandomNumbers &random) {
  int64_t sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += int64_t(random.next() >> 48);
  return sum - 6 * 65536;
}

/// Median 2^log2, deviation 1.8 powers of two.
static int64_t logNormal(RandomNumbers &random, int64_t log2) {
  return powerOfTwo((log2 << 16) + normal(random) * 9 / 5);
}

/// A Pareto distribution from 2048 rows on, with exponent 5/4: u^(-4/5), u uniform over (0, 1].
static int64_t pareto(RandomNumbers &random) {
  // log2(1 / u) with 16 fractional bits, by squaring: one bit each time.
  uint64_t u = (random.next() >> 34) + 1; // in units of 2^-30
  int64_t log2 = 0;
  while (u <= uint64_t(1) << 29) {
    u *= 2;
    log2 += 65536;
  }
  uint64_t inverse = (uint64_t(1) << 60) / u; // from 1 to 2, with 30 fractional bits
  for (int64_t bit = 32768; bit; bit /= 2) {
    inverse = inverse * inverse >> 30;
    if (inverse >= uint64_t(1) << 31) {
      inverse /= 2;
      log2 += bit;
    }
  }
  return powerOfTwo((11 << 16) + log2 * 4 / 5);
}

static int64_t mixed(RandomNumbers &random) {
  int64_t which = random.below(64);
  if (which == 0)
    return 65536 + random.below(524288 - 65536 + 1);
  return logNormal(random, which <= 4 ? 15 : 11);
}

static llvm::Expected<std::vector<int64_t>> readDocuments(llvm::StringRef path) {
  llvm::Expected<std::string> read = mlir::dash::readFile(path, /*mostBytes=*/uint64_t(1) << 28);
  if (!read)
    return refuse("cannot read documents file '{0}': {1}", path, llvm::toString(read.takeError()));
  std::vector<int64_t> documents;
  llvm::StringRef text = *read;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (size_t line = 0; line < lines.size(); ++line) {
    llvm::StringRef rest = lines[line].trim();
    while (!rest.empty()) {
      size_t end = rest.find_first_of(" \t\r");
      llvm::StringRef word = rest.substr(0, end);
      int64_t rows;
      if (word.getAsInteger(10, rows))
        return refuse("documents file '{0}': line {1}: expected a number of rows, got '{2}'", path,
                      line + 1, word);
      documents.push_back(rows);
      rest = end == llvm::StringRef::npos ? "" : rest.substr(end).ltrim();
    }
  }
  return documents;
}

llvm::Expected<std::vector<int64_t>> mlir::dash::world::makeDocuments(llvm::StringRef spelling,
                                                                      int64_t tokens) {
  auto [name, seedText] = spelling.split(':');
  bool isGenerated = name == "lognormal" || name == "pareto" || name == "mixed";
  if (!isGenerated || !spelling.contains(':'))
    return readDocuments(spelling);
  uint64_t seed;
  if (seedText.getAsInteger(10, seed))
    return refuse("expected a seed, as in {0}:1, got '{1}'", name, spelling);
  RandomNumbers random(seed);
  std::vector<int64_t> documents;
  while (tokens > 0) {
    int64_t rows = name == "lognormal" ? logNormal(random, 13)
                   : name == "pareto"  ? pareto(random)
                                       : mixed(random);
    rows = std::min({std::max(rows, shortest), longest, tokens});
    documents.push_back(rows);
    tokens -= rows;
  }
  return documents;
}
