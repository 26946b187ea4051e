//===- BlocksAttr.cpp - masks by bitmap -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that dash knows about the rule `blocks`, except its keys in JSON.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult BlocksAttr::verify(EmitError emitError, int64_t q, int64_t kv, ElementsAttr bits) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max(); // rows of a sequence
  for (auto [name, rows] : {std::pair<StringRef, int64_t>("q", q), {"kv", kv}})
    if (rows < 16 || rows > most || rows % 16 != 0)
      return emitError() << "block size '" << name << "' must be a multiple of 16 from 16 to "
                         << most << ", got " << rows;
  auto type = dyn_cast<RankedTensorType>(bits.getType());
  // Elided bits are a missing resource; ops refuse it.
  if (isa<DenseElementsAttr, DenseResourceElementsAttr>(bits) && type && type.getRank() == 2 &&
      type.getNumElements() > 0 && type.getElementType().isSignlessInteger(1))
    return success();
  auto diagnostic = emitError() << "'bits' must be dense elements of type tensor<KVxQxi1>, got ";
  if (isa<SparseElementsAttr>(bits))
    return diagnostic << "sparse elements of type " << bits.getType();
  return diagnostic << bits.getType();
}

bool BlocksAttr::isVisible(int64_t kvBlock, int64_t qBlock) const {
  return cast<DenseElementsAttr>(getBits()).getValues<bool>()[kvBlock * getNumQBlocks() + qBlock];
}

StringRef BlocksAttr::getWord() const { return "blocks"; }

std::string BlocksAttr::getTitle() const {
  return llvm::formatv("blocks {0} x {1}", getQ(), getKv());
}

bool BlocksAttr::sees(int64_t row, int64_t column, int64_t) const {
  return isVisible(column / getKv(), row / getQ());
}

bool BlocksAttr::leaves(const Band &, const TileElements &tile) const {
  return sees(tile.row, tile.column, tile.offset);
}

LogicalResult BlocksAttr::verifyTiles(int64_t qTile, int64_t kvTile, EmitError emitError) const {
  for (auto [name, block, tile] :
       {std::tuple<StringRef, int64_t, int64_t>("q", getQ(), qTile), {"kv", getKv(), kvTile}})
    if (block % tile != 0)
      return emitError() << "block size '" << name << "' must be a multiple of the " << name
                         << " tile, " << tile << ", got " << block;
  return success();
}

LogicalResult BlocksAttr::verifyRows(int64_t qRows, int64_t kvRows, EmitError emitError) const {
  auto check = [&](StringRef lines, StringRef name, StringRef what, int64_t block, int64_t rows,
                   int64_t found) -> LogicalResult {
    if (ShapedType::isDynamic(rows))
      return success();
    int64_t expected = llvm::divideCeil(rows, block);
    if (found == expected)
      return success();
    return emitError() << "'bits' must have " << expected << " " << lines << " (" << name
                       << " blocks), for the longest sequence's " << rows << " " << what
                       << " rows, got " << found;
  };
  return failure(failed(check("rows", "kv", "key", getKv(), kvRows, getNumKvBlocks())) ||
                 failed(check("columns", "q", "query", getQ(), qRows, getNumQBlocks())));
}

LogicalResult BlocksAttr::verifyData(EmitError emitError) const {
  auto resource = dyn_cast<DenseResourceElementsAttr>(getBits());
  if (!resource)
    return success();
  return emitError() << "'bits' are not in the text (dense_resource '"
                     << resource.getRawHandle().getKey()
                     << "'): print the module again without --mlir-elide-elementsattrs-if-larger";
}
