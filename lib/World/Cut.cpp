//===- Cut.cpp - how a document's backward is cut and summed ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/Cut.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::dash::world;

llvm::Expected<Cut> Cut::get(int64_t version) {
  switch (version) {
  case 0:
    return Cut{/*version=*/0,  /*step=*/64,     /*area=*/int64_t(1) << 18, /*least=*/64,
               /*padEnd=*/128, /*padWhole=*/64, /*packedBelow=*/64};
  case 1:
    return Cut{/*version=*/1,   /*step=*/512,     /*area=*/int64_t(1) << 32,
               /*least=*/8192,
               /*padEnd=*/2048, /*padWhole=*/512, /*packedBelow=*/8192};
  default:
    return llvm::createStringError("expected version 0 or 1 of the cut, got %lld",
                                   (long long)version);
  }
}

/// The largest number whose square is not above `value`.
static int64_t squareRoot(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = int64_t(1) << 31; bit; bit >>= 1)
    if (int64_t more = root + bit; more <= value / more)
      root = more;
  return root;
}

int64_t Cut::leastRows(int64_t group) const {
  return std::max<int64_t>(step, llvm::alignTo(llvm::divideCeil(least, group), step));
}

std::vector<int64_t> Cut::leafEnds(int64_t rows, int64_t group) const {
  std::vector<int64_t> ends;
  int64_t end = 0, fewest = leastRows(group);
  for (int64_t leaf = 1;; ++leaf) {
    int64_t equalWork = squareRoot(leaf * area / group) / step * step;
    end = std::max(end + fewest, equalWork);
    // A remainder shorter than any leaf joins the leaf before it.
    if (rows - end < fewest)
      break;
    ends.push_back(end);
  }
  ends.push_back(rows);
  return ends;
}

LeafShape Cut::paddedShape(int64_t begin, int64_t end, int64_t rows) const {
  if (end < rows)
    return {end - begin, end, false};
  if (begin > 0) {
    int64_t padded = llvm::alignTo(end, padEnd);
    return {padded - begin, padded, false};
  }
  bool isPacked = rows < packedBelow;
  int64_t padded = isPacked ? rows : llvm::alignTo(rows, padWhole);
  return {padded, padded, isPacked};
}
