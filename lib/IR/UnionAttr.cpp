//===- UnionAttr.cpp - masks that also show first columns -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that dash knows about the rule `union`, except its keys in JSON.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/IR/Problem.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::dash;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult UnionAttr::verify(EmitError emitError, int64_t columns, int64_t left, int64_t right) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max(); // rows of a sequence
  if (columns < 1 || columns > most)
    return emitError() << "'columns' of a union must be from 1 to " << most << ", got " << columns;
  if (std::min(left, right) < -1 || std::max(left, right) > most)
    return emitError() << "left and right of a union's window must be from -1 (no bound) to "
                       << most << ", got [" << left << ", " << right << "]";
  return success();
}

StringRef UnionAttr::getWord() const { return "union"; }

std::string UnionAttr::getTitle() const { return titleOf(getColumns(), getWindow()); }

std::string UnionAttr::titleOf(int64_t columns, const Band &window) {
  std::string title = llvm::formatv("first {0} columns or ", columns);
  if (window == Band{-1, 0})
    return title + "causal";
  return title + llvm::formatv("window [{0}, {1}]", window.left, window.right).str();
}

bool UnionAttr::sees(int64_t row, int64_t column, int64_t offset) const {
  return column < getColumns() || getWindow().sees(row, column, offset);
}

bool UnionAttr::leaves(const Band &band, const TileElements &tile) const {
  TileElements first = tile, rest = tile;
  first.columns = std::clamp<int64_t>(getColumns() - tile.column, 0, tile.columns);
  rest.column += first.columns;
  rest.columns -= first.columns;
  return band.meets(first) || (band & getWindow()).meets(rest);
}

void UnionAttr::narrow(Edges &edges) const {
  edges = {edges.band & getWindow(), getColumns(), edges.band};
}

std::optional<Band> dash::unionWindowWithin(const Band &band, const Band &window) {
  Band seen = band & window;
  Band nearer = {seen.left == band.left ? -1 : seen.left,
                 seen.right == band.right ? -1 : seen.right};
  return nearer.isFull() ? std::nullopt : std::optional(nearer);
}

MaskRule UnionAttr::within(const Band &band) const {
  std::optional<Band> window = unionWindowWithin(band, getWindow());
  if (!window)
    return {};
  return UnionAttr::get(getContext(), getColumns(), window->left, window->right);
}

LogicalResult UnionAttr::verifyTiles(int64_t, int64_t, EmitError) const { return success(); }

LogicalResult UnionAttr::verifyRows(int64_t, int64_t, EmitError) const { return success(); }

LogicalResult UnionAttr::verifyData(EmitError) const { return success(); }
