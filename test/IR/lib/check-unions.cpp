//===- check-unions.cpp - what unions say, beside what their elements are -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that schedules, the CPU lane and kernels ask of a mask with `#dash.union`, against a
// loop over all elements of small problems. Prints how many facts were compared, and the tiles of
// two problems.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashDialect.h"
#include "dash/IR/Problem.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::dash;
using llvm::outs;

namespace {

/// A band, and in it first columns or a window.
struct Union {
  Band band;
  int64_t columns;
  Band window;
};

/// One mask on one sequence in tiles of one shape. What an element is comes from the definition
/// alone.
class Checker {
public:
  Checker(MLIRContext &context, const Union &asked, TileShape tiles, SequenceLengths rows)
      : asked(asked), rows(rows) {
    auto rule = UnionAttr::get(&context, asked.columns, asked.window.left, asked.window.right)
                    .within(asked.band);
    SmallVector<MaskRule, 1> rules;
    if (rule)
      rules.push_back(rule);
    mask = MaskAttr::get(&context, asked.band.left, asked.band.right, rules);
    problem.tiles = tiles;
    problem.mask = toMask(mask);
    problem.sequences = {rows};
  }

  int64_t run() {
    Edges edges = mask.getEdges();
    for (int64_t i : llvm::seq(rows.q))
      for (int64_t j : llvm::seq(rows.kv)) {
        expect(mask.sees(i, j, rows.q, rows.kv) == isSeen(i, j), "sees", i, j);
        expect(edges.sees(i, j, rows.offset()) == isSeen(i, j), "edges", i, j);
      }
    for (int64_t q : llvm::seq(problem.numQTiles(0)))
      for (int64_t kv : llvm::seq(problem.numKvTiles(0))) {
        int64_t seen = count(q, kv);
        expect(problem.activeQ(0, kv).contains(q) == (seen > 0), "active q tiles", q, kv);
        expect(problem.activeKv(0, q).contains(kv) == (seen > 0), "active kv tiles", q, kv);
        if (seen > 0)
          checkElements(q, kv);
      }
    return numFacts;
  }

  /// A row of tiles for each q tile: "." hidden, "/" masked, "#" not.
  void print() const {
    outs() << "mask " << mask << "\n";
    for (int64_t q : llvm::seq(problem.numQTiles(0))) {
      for (int64_t kv : llvm::seq(problem.numKvTiles(0)))
        outs() << (!problem.activeKv(0, q).contains(kv) ? "." : isMasked(q, kv) ? "/" : "#");
      outs() << "\n";
    }
  }

private:
  static bool isWithin(const Band &band, int64_t distance) {
    return (band.left < 0 || distance >= -band.left) && (band.right < 0 || distance <= band.right);
  }
  bool isSeen(int64_t i, int64_t j) const {
    int64_t distance = j - i - rows.offset();
    return isWithin(asked.band, distance) &&
           (j < asked.columns || isWithin(asked.window, distance));
  }
  /// Seen elements of a tile that lie in the sequence.
  int64_t count(int64_t q, int64_t kv) const {
    const TileShape &tiles = problem.tiles;
    int64_t seen = 0;
    for (int64_t i = q * tiles.q; i < std::min((q + 1) * tiles.q, rows.q); ++i)
      for (int64_t j = kv * tiles.kv; j < std::min((kv + 1) * tiles.kv, rows.kv); ++j)
        seen += isSeen(i, j);
    return seen;
  }

  /// As a consumer is told: a number for the tile.
  int64_t leadOf(const LeadEdges &edges, int64_t q, int64_t kv) const {
    return TileBand{edges.band, problem.tiles.q, problem.tiles.kv}
        .visible(q, kv, rows.offset())
        .last.value_or(LeadEdges::hidesNothing);
  }
  /// Whether a band of such edges cuts tiles of such a lead.
  bool cuts(int64_t lead, std::optional<int64_t> width) const {
    return lead < problem.tiles.kv - 1 || (width && lead > *width - (problem.tiles.q - 1));
  }
  bool isMasked(int64_t q, int64_t kv) const {
    LeadEdges edges(mask.getEdges());
    int64_t lead = leadOf(edges, q, kv);
    if (kv < edges.firstColumns / problem.tiles.kv)
      return !edges.isFirstFull && cuts(lead + edges.further, edges.firstWidth);
    return cuts(lead, edges.width);
  }

  void checkElements(int64_t q, int64_t kv) {
    const TileShape &tiles = problem.tiles;
    LeadEdges edges(mask.getEdges());
    int64_t lead = leadOf(edges, q, kv), firstColumn = kv * tiles.kv;
    bool hides = false, windowHides = false;
    for (int64_t i : llvm::seq(tiles.q))
      for (int64_t j : llvm::seq(tiles.kv)) {
        int64_t row = q * tiles.q + i, column = firstColumn + j;
        bool seen = isSeen(row, column), isFirst = column < edges.firstColumns;
        hides |= !seen;
        windowHides |= !isWithin(asked.band, column - row - rows.offset()) ||
                       !isWithin(asked.window, column - row - rows.offset());
        int64_t ahead = lead + (isFirst ? edges.further : 0);
        std::optional<int64_t> width = isFirst ? edges.firstWidth : edges.width;
        bool isBetween = j - i <= ahead && (!width || j - i >= ahead - *width);
        expect(isBetween == seen, "element between edges", row, column);
      }
    bool isFirst = firstColumn + tiles.kv <= asked.columns;
    expect(!hides || isMasked(q, kv), "a tile with hidden elements is masked", q, kv);
    expect(hides || !isFirst || !isMasked(q, kv), "one of first columns is not", q, kv);
    expect(windowHides || !isMasked(q, kv), "one within the window is not", q, kv);
  }

  void expect(bool isRight, StringRef fact, int64_t a, int64_t b) {
    ++numFacts;
    if (isRight)
      return;
    outs()
        << llvm::formatv(
               "{0} is wrong at ({1}, {2}): first {3} columns, {4} x {5} rows, tiles {6} x {7}: ",
               fact, a, b, asked.columns, rows.q, rows.kv, problem.tiles.q, problem.tiles.kv)
        << mask << "\n";
    std::exit(1);
  }

  Union asked;
  SequenceLengths rows;
  MaskAttr mask;
  Problem problem;
  int64_t numFacts = 0;
};

} // namespace

int main() {
  MLIRContext context;
  context.loadDialect<DashDialect>();
  constexpr Band bands[] = {{-1, -1}, {-1, 0}, {-1, 9}, {20, -1}, {40, 17}};
  constexpr Band windows[] = {{-1, 0}, {0, -1}, {7, 0}, {3, 17}, {30, 5}, {-1, 12}};
  constexpr TileShape shapes[] = {{16, 16}, {16, 32}, {32, 16}};
  constexpr int64_t rows[] = {1, 17, 40, 70};
  int64_t numFacts = 0;
  for (Band band : bands)
    for (Band window : windows)
      for (int64_t columns : {1, 4, 16, 20, 48})
        for (TileShape tiles : shapes)
          for (int64_t qRows : rows)
            for (int64_t kvRows : rows)
              numFacts += Checker(context, {band, columns, window}, tiles, {qRows, kvRows}).run();
  outs() << "facts are right: " << numFacts << "\n";
  for (const Union &asked : {Union{{-1, -1}, 40, {-1, 0}}, Union{{-1, 0}, 4, {20, -1}}})
    Checker(context, asked, {16, 32}, {/*q=*/118, /*kv=*/128}).print();
}
