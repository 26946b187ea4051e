//===- check-bands.cpp - what bands say, beside what their elements are ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every fact of dash/IR/Band.h, as a number and as an expression, against a loop over all elements
// of small problems. Prints how many facts were compared, and the tiles of one problem.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/DashOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::dash;
using llvm::outs;

namespace {

/// One mask on one sequence in tiles of one shape. What an element is comes from the definition
/// alone.
class Checker {
public:
  Checker(MLIRContext &context, TileBand tiled, int64_t qRows, int64_t kvRows)
      : context(context), tiled(tiled),
        mask(MaskAttr::get(&context, tiled.band.left, tiled.band.right, {})), qRows(qRows),
        kvRows(kvRows), qTiles(llvm::divideCeil(qRows, tiled.qTile)),
        kvTiles(llvm::divideCeil(kvRows, tiled.kvTile)) {}

  int64_t run() {
    for (int64_t i : llvm::seq(qRows))
      for (int64_t j : llvm::seq(kvRows)) {
        expect(mask.sees(i, j, qRows, kvRows) == isSeen(i, j), "sees", i, j);
        expect(tiled.band.sees(i, j, offset()) == isSeen(i, j), "slacks", i, j);
      }
    for (int64_t kv : llvm::seq(kvTiles)) {
      Bounds<int64_t> bounds =
          both([&](auto kv, auto offset) { return tiled.activeQ(kv, offset); }, kv);
      for (int64_t q : llvm::seq(qTiles))
        expect(contains(bounds, q) == (count(q, kv) > 0), "active q tiles", q, kv);
    }
    for (int64_t q : llvm::seq(qTiles)) {
      Bounds<int64_t> bounds =
          both([&](auto q, auto offset) { return tiled.activeKv(q, offset); }, q);
      for (int64_t kv : llvm::seq(kvTiles)) {
        expect(contains(bounds, kv) == (count(q, kv) > 0), "active kv tiles", q, kv);
        checkElements(q, kv);
      }
    }
    return numFacts;
  }

  /// A row of tiles for each q tile: "." hidden, "/" in part, "#" seen all over.
  void print() const {
    for (int64_t q : llvm::seq(qTiles)) {
      for (int64_t kv : llvm::seq(kvTiles)) {
        auto active = tiled.activeKv(q, offset());
        bool hides = tiled.hides(tiled.visible(q, kv, offset()));
        outs() << (!contains(active, kv) ? "." : hides ? "/" : "#");
      }
      outs() << "\n";
    }
  }

private:
  int64_t offset() const { return kvRows - qRows; }
  bool isSeen(int64_t i, int64_t j) const {
    int64_t diagonal = i + kvRows - qRows;
    return (tiled.band.left < 0 || j >= diagonal - tiled.band.left) &&
           (tiled.band.right < 0 || j <= diagonal + tiled.band.right);
  }
  /// Seen elements of a tile that lie in the sequence.
  int64_t count(int64_t q, int64_t kv) const {
    int64_t seen = 0;
    for (int64_t i = q * tiled.qTile; i < std::min((q + 1) * tiled.qTile, qRows); ++i)
      for (int64_t j = kv * tiled.kvTile; j < std::min((kv + 1) * tiled.kvTile, kvRows); ++j)
        seen += isSeen(i, j);
    return seen;
  }
  static bool contains(const Bounds<int64_t> &bounds, int64_t number) {
    return bounds.first.value_or(number) <= number && number <= bounds.last.value_or(number);
  }

  void checkElements(int64_t q, int64_t kv) {
    Bounds<int64_t> bounds =
        both([&](auto q, auto offset, auto kv) { return tiled.visible(q, kv, offset); }, q, kv);
    // As a consumer is told: a number, from which both edges follow.
    LeadEdges edges(mask.getEdges());
    int64_t lead = TileBand{edges.band, tiled.qTile, tiled.kvTile}
                       .visible(q, kv, offset())
                       .last.value_or(LeadEdges::hidesNothing);
    bool hides = false;
    for (int64_t i : llvm::seq(tiled.qTile))
      for (int64_t j : llvm::seq(tiled.kvTile)) {
        bool seen = isSeen(q * tiled.qTile + i, kv * tiled.kvTile + j);
        hides |= !seen;
        expect(contains(bounds, j - i) == seen, "element of a tile", i, j);
        bool isBetween = j - i <= lead && (!edges.width || j - i >= lead - *edges.width);
        expect(isBetween == seen, "element between edges", i, j);
      }
    expect(tiled.hides(bounds) == hides, "hides", q, kv);
  }

  /// What `fact` says of numbers, after comparing it with what its expressions are at these
  /// numbers.
  template <typename Fact, typename... Numbers>
  Bounds<int64_t> both(Fact fact, int64_t first, Numbers... rest) {
    Bounds<int64_t> numbers = fact(first, offset(), rest...);
    unsigned next = 2;
    auto symbol = [&](unsigned place) { return getAffineSymbolExpr(place, &context); };
    auto symbolOf = [&](int64_t) { return symbol(next++); };
    Bounds<AffineExpr> exprs = fact(symbol(0), symbol(1), symbolOf(rest)...);
    SmallVector<AffineExpr> values;
    for (int64_t value : {first, offset(), int64_t(rest)...})
      values.push_back(getAffineConstantExpr(value, &context));
    auto isSame = [&](std::optional<int64_t> number, std::optional<AffineExpr> expr) {
      return number
                 ? expr && expr->replaceSymbols(values) == getAffineConstantExpr(*number, &context)
                 : !expr;
    };
    expect(isSame(numbers.first, exprs.first) && isSame(numbers.last, exprs.last), "expression",
           first, offset());
    return numbers;
  }

  void expect(bool isRight, StringRef fact, int64_t a, int64_t b) {
    ++numFacts;
    if (isRight)
      return;
    outs() << llvm::formatv(
        "{0} is wrong at ({1}, {2}): window [{3}, {4}], {5} x {6} rows, tiles {7} x {8}\n", fact, a,
        b, tiled.band.left, tiled.band.right, qRows, kvRows, tiled.qTile, tiled.kvTile);
    std::exit(1);
  }

  MLIRContext &context;
  TileBand tiled;
  MaskAttr mask;
  int64_t qRows, kvRows, qTiles, kvTiles, numFacts = 0;
};

} // namespace

int main() {
  MLIRContext context;
  context.loadDialect<DashDialect>();
  constexpr Band bands[] = {{-1, -1}, {-1, 0}, {0, -1}, {0, 0},   {-1, 5}, {20, -1},
                            {7, 0},   {40, 0}, {3, 17}, {16, 16}, {1, 64}, {100, 100}};
  constexpr int64_t shapes[][2] = {{16, 16}, {16, 32}, {32, 16}};
  constexpr int64_t rows[] = {1, 15, 16, 17, 40, 64, 90};
  int64_t numFacts = 0;
  for (Band band : bands)
    for (auto [qTile, kvTile] : shapes)
      for (int64_t qRows : rows)
        for (int64_t kvRows : rows)
          numFacts += Checker(context, {band, qTile, kvTile}, qRows, kvRows).run();
  outs() << "facts are right: " << numFacts << "\n";
  for (Band band : {Band{-1, -1}, Band{-1, 0}, Band{20, 0}, Band{0, 40}}) {
    outs() << llvm::formatv("window [{0}, {1}]\n", band.left, band.right);
    Checker(context, {band, 16, 32}, /*qRows=*/70, /*kvRows=*/100).print();
  }
}
