//===- DashAttrs.cpp - text and checks of the attributes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All attributes but masks (MaskAttr.cpp and a file for each rule), and formulas, whose text form
// is a small language (Formulas.cpp).
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "TilingText.h"
#include "dash/IR/DashDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <charconv>
#include <limits>

using namespace mlir;
using namespace mlir::dash;

#include "dash/IR/DashEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dash/IR/DashAttrs.cpp.inc"

void DashDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dash/IR/DashAttrs.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// TilesAttr
//===----------------------------------------------------------------------===//

LogicalResult dash::verifyFold(EmitError emitError, int64_t fold) {
  constexpr int64_t most = 64; // rows of a warpgroup
  if (fold >= 1 && fold <= most && llvm::isPowerOf2_64(fold))
    return success();
  return emitError() << "'fold' must be a power of two from 1 to " << most << ", got " << fold;
}

LogicalResult TilesAttr::verify(EmitError emitError, int64_t q, int64_t kv, int64_t fold) {
  if (failed(verifyFold(emitError, fold)))
    return failure();
  if (int64_t most = 256 / fold; fold > 1 && (q < 1 || q > most || q * fold % 16 != 0))
    return emitError() << "tile size 'q' times a fold of " << fold
                       << " must be a multiple of 16 from 16 to 256, got " << q << " times "
                       << fold;
  for (auto [name, rows] : {std::pair<StringRef, int64_t>("q", q), {"kv", kv}})
    if ((rows < 16 || rows > 256 || rows % 16 != 0) && (fold == 1 || name == "kv"))
      return emitError() << "tile size '" << name
                         << "' must be a multiple of 16 from 16 to 256, got " << rows;
  return success();
}

//===----------------------------------------------------------------------===//
// SequencesAttr
//===----------------------------------------------------------------------===//

/// One run, `[q, kv]` or `N x [q, kv]`, appended to the two lists.
static ParseResult parseRun(AsmParser &parser, SmallVectorImpl<int64_t> &q,
                            SmallVectorImpl<int64_t> &kv) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t count = 1, qRows = 0, kvRows = 0;
  OptionalParseResult hasCount = parser.parseOptionalInteger(count);
  if (hasCount.has_value() && (failed(*hasCount) || parser.parseKeyword("x")))
    return failure();
  if (parser.parseLSquare() || parser.parseInteger(qRows) || parser.parseComma() ||
      parser.parseInteger(kvRows) || parser.parseRSquare())
    return failure();
  if (count < 1)
    return parser.emitError(loc, "a run must have at least 1 sequence, got ") << count;
  // Checked before the list is made: a long run is short text.
  if (count > SequencesAttr::maxSize - static_cast<int64_t>(q.size()))
    return parser.emitError(loc, "a list may have at most ")
           << SequencesAttr::maxSize << " sequences, got " << q.size() << " and " << count
           << " more";
  q.append(count, qRows);
  kv.append(count, kvRows);
  return success();
}

Attribute SequencesAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> q, kv;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalQuestion()))
    return parser.parseGreater() ? Attribute() : get(parser.getContext(), q, kv);
  if (succeeded(parser.parseOptionalGreater()))
    return parser.emitError(loc, "a list of sequences may not be empty, expected lengths or '?'"),
           Attribute();
  if (parser.parseCommaSeparatedList([&] { return parseRun(parser, q, kv); }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<SequencesAttr>(loc, parser.getContext(), q, kv);
}

void SequencesAttr::print(AsmPrinter &printer) const {
  ArrayRef<int64_t> q = getQ(), kv = getKv();
  printer << (isOpen() ? "<?" : "<");
  for (size_t begin = 0, end; begin < q.size(); begin = end) {
    end = begin + 1;
    while (end < q.size() && q[end] == q[begin] && kv[end] == kv[begin])
      ++end;
    if (begin != 0)
      printer << ", ";
    if (end - begin > 1)
      printer << (end - begin) << " x ";
    printer << "[" << q[begin] << ", " << kv[begin] << "]";
  }
  printer << ">";
}

LogicalResult SequencesAttr::verify(EmitError emitError, ArrayRef<int64_t> q,
                                    ArrayRef<int64_t> kv) {
  if (q.size() != kv.size())
    return emitError() << "got " << q.size() << " query lengths but " << kv.size()
                       << " key lengths";
  for (size_t i = 0; i < q.size(); ++i) {
    if (q[i] < 1)
      return emitError() << "sequence " << i << " must have at least 1 query row, got " << q[i];
    if (kv[i] < 1)
      return emitError() << "sequence " << i << " must have at least 1 key row, got " << kv[i];
  }
  return success();
}

static int64_t saturatingSum(ArrayRef<int64_t> values) {
  uint64_t sum = 0;
  for (int64_t value : values)
    sum = llvm::SaturatingAdd<uint64_t>(sum, value);
  return std::min<uint64_t>(sum, std::numeric_limits<int64_t>::max());
}

int64_t SequencesAttr::getTotalQ() const { return saturatingSum(getQ()); }
int64_t SequencesAttr::getTotalKv() const { return saturatingSum(getKv()); }
int64_t SequencesAttr::getMostQ() const { return *llvm::max_element(getQ()); }
int64_t SequencesAttr::getMostKv() const { return *llvm::max_element(getKv()); }
bool SequencesAttr::isUniform() const {
  return llvm::all_equal(getQ()) && llvm::all_equal(getKv());
}

//===----------------------------------------------------------------------===//
// ProblemAttr
//===----------------------------------------------------------------------===//

LogicalResult dash::verifyFold(EmitError emitError, TilesAttr tiles, MaskAttr mask,
                               TensorSide own) {
  if (tiles.getFold() == 1)
    return success();
  if (own != TensorSide::Q)
    return emitError() << "folds heads into the q tiles of items that own kv tiles: only items "
                          "that own q tiles do";
  return verifyFoldOfMask(emitError, tiles.getFold(), mask);
}

LogicalResult dash::verifyFoldOfMask(EmitError emitError, int64_t fold, MaskAttr mask) {
  if (fold == 1 || mask.getRules().empty())
    return success();
  return emitError() << "folds heads under a mask with a bitmap or a union: only bands are served, "
                        "so drop the fold";
}

LogicalResult dash::verifyFoldOfGroup(EmitError emitError, int64_t fold, int64_t heads,
                                      int64_t kvHeads) {
  if (fold == 1 || ShapedType::isDynamic(heads) || ShapedType::isDynamic(kvHeads))
    return success();
  if (kvHeads > 0 && heads % kvHeads == 0 && heads / kvHeads % fold == 0)
    return success();
  return emitError() << "q tiles fold " << fold
                     << " heads, which must divide the query heads of a kv head, got " << heads
                     << " heads over " << kvHeads;
}

LogicalResult dash::verifyCut(EmitError emitError, int64_t cut, TilesAttr tiles, TensorSide own) {
  if (cut >= 0 && cut % tiles.getKv() == 0 && (cut == 0 || own == TensorSide::Q))
    return success();
  return emitError() << "'cut' must be a multiple of the kv tile, " << tiles.getKv()
                     << ", in items that own q tiles, got " << cut;
}

LogicalResult ProblemAttr::verify(EmitError emitError, TilesAttr tiles, MaskAttr mask,
                                  int64_t heads, int64_t kvHeads, int64_t headDim, int64_t headDimV,
                                  SequencesAttr sequences, TensorSide own, bool chains,
                                  int64_t cut) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>("heads", heads),
                             {"kv_heads", kvHeads},
                             {"head_dim", headDim},
                             {"head_dim_v", headDimV}})
    if (value < 1)
      return emitError() << "'" << name << "' must be at least 1, got " << value;
  if (own == TensorSide::Q && !chains)
    return emitError()
           << "'chains' is of items that own kv tiles: those that own q tiles have none";
  if (failed(verifyCut(emitError, cut, tiles, own)))
    return failure();
  if (heads % kvHeads != 0)
    return emitError() << "'kv_heads' must divide 'heads', got " << kvHeads << " and " << heads;
  if (failed(verifyFold(emitError, tiles, mask, own)) ||
      failed(verifyFoldOfGroup(emitError, tiles.getFold(), heads, kvHeads)))
    return failure();
  if (sequences.isOpen())
    return emitError() << "the lengths of 'sequences' must be stated: an order is proven for some, "
                          "whatever it serves";
  return failure(failed(mask.verifyTiles(tiles.getQ(), tiles.getKv(), emitError)) ||
                 failed(mask.verifyRows(sequences.getMostQ(), sequences.getMostKv(), emitError)));
}

//===----------------------------------------------------------------------===//
// CostAttr
//===----------------------------------------------------------------------===//

/// The shortest decimal that reads back as the same number, always with a point: without one MLIR
/// would read an integer.
static std::string shortest(double value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, std::end(buffer), value).ptr);
  if (text.find_first_of(".n") == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

Attribute CostAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  double compute = 0, reduce = 0, latency = 0, boundary = 0, piece = 0, convert = 0, gather = 0;
  int64_t buffers = 0;
  auto parseTime = [&](StringRef name, double &value) -> ParseResult {
    return failure(parser.parseKeyword(name) || parser.parseEqual() || parser.parseFloat(value) ||
                   parser.parseComma());
  };
  if (parser.parseLess() || parseTime("compute", compute) || parseTime("reduce", reduce) ||
      parseTime("latency", latency) || parser.parseKeyword("buffers") || parser.parseEqual() ||
      parser.parseInteger(buffers))
    return {};
  // What is 0 is left out; what is there comes in this order.
  bool hasMore = succeeded(parser.parseOptionalComma());
  for (auto [name, value] : {std::pair("boundary", &boundary),
                             {"piece", &piece},
                             {"convert", &convert},
                             {"gather", &gather}}) {
    if (!hasMore || failed(parser.parseOptionalKeyword(name)))
      continue;
    if (parser.parseEqual() || parser.parseFloat(*value))
      return {};
    hasMore = succeeded(parser.parseOptionalComma());
  }
  if (hasMore) {
    parser.emitError(
        parser.getCurrentLocation(),
        "expected boundary, piece, convert or gather, each at most once and in this order");
    return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CostAttr>(loc, parser.getContext(), compute, reduce, latency, buffers,
                                     boundary, piece, convert, gather);
}

void CostAttr::print(AsmPrinter &printer) const {
  printer << "<compute = " << shortest(getCompute()) << ", reduce = " << shortest(getReduce())
          << ", latency = " << shortest(getLatency()) << ", buffers = " << getBuffers();
  for (auto [name, value] : {std::pair("boundary", getBoundary()),
                             {"piece", getPiece()},
                             {"convert", getConvert()},
                             {"gather", getGather()}})
    if (value != 0)
      printer << ", " << name << " = " << shortest(value);
  printer << ">";
}

double CostAttr::getCompute() const { return getImpl()->compute.convertToDouble(); }
double CostAttr::getReduce() const { return getImpl()->reduce.convertToDouble(); }
double CostAttr::getLatency() const { return getImpl()->latency.convertToDouble(); }
int64_t CostAttr::getBuffers() const { return getImpl()->buffers; }
double CostAttr::getBoundary() const { return getImpl()->boundary.convertToDouble(); }
double CostAttr::getPiece() const { return getImpl()->piece.convertToDouble(); }
double CostAttr::getConvert() const { return getImpl()->convert.convertToDouble(); }
double CostAttr::getGather() const { return getImpl()->gather.convertToDouble(); }

LogicalResult CostAttr::verify(EmitError emitError, APFloat compute, APFloat reduce,
                               APFloat latency, int64_t buffers, APFloat boundary, APFloat piece,
                               APFloat convert, APFloat gather) {
  // Sums of as many costs as a problem may have tasks stay finite. The comparisons are false for
  // NaN.
  constexpr double most = 1e100;
  if (double value = compute.convertToDouble(); !(value > 0 && value <= most))
    return emitError() << "'compute' must be above 0 and at most 1e100, got " << shortest(value);
  // Nothing is reduced where items sum nothing across each other.
  for (auto [name, value] : {std::pair("reduce", reduce.convertToDouble()),
                             {"latency", latency.convertToDouble()},
                             {"boundary", boundary.convertToDouble()},
                             {"piece", piece.convertToDouble()},
                             {"convert", convert.convertToDouble()},
                             {"gather", gather.convertToDouble()}})
    if (!(value >= 0 && value <= most))
      return emitError() << "'" << name << "' must be from 0 to 1e100, got " << shortest(value);
  if (buffers < 1)
    return emitError() << "'buffers' must be at least 1, got " << buffers;
  return success();
}

//===----------------------------------------------------------------------===//
// DealAttr
//===----------------------------------------------------------------------===//

LogicalResult DealAttr::verify(EmitError emitError, int64_t task, int64_t boundary) {
  for (auto [name, value, least] :
       {std::tuple<StringRef, int64_t, int64_t>("task", task, 1), {"boundary", boundary, 0}})
    if (value < least || value > maxPrice)
      return emitError() << "'" << name << "' must be from " << least << " to " << maxPrice
                         << ", got " << value;
  return success();
}

//===----------------------------------------------------------------------===//
// SearchAttr
//===----------------------------------------------------------------------===//

LogicalResult SearchAttr::verify(EmitError emitError, int64_t version, int64_t budget,
                                 int64_t dqLimit) {
  for (auto [name, value] : {std::pair("version", version), {"budget", budget}})
    if (value < 1)
      return emitError() << "'" << name << "' must be at least 1, got " << value;
  if (dqLimit < 0)
    return emitError() << "'dq_limit' must be at least 0, got " << dqLimit;
  return success();
}

//===----------------------------------------------------------------------===//
// TableAttr
//===----------------------------------------------------------------------===//

LogicalResult TableAttr::verify(EmitError emitError, ElementsAttr items, ElementsAttr visits) {
  auto check = [&](StringRef name, ElementsAttr rows, char count,
                   int64_t columns) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(rows.getType());
    // An elided table is a resource that is not there; dash.schedule refuses it.
    if (isa<DenseIntElementsAttr, DenseResourceElementsAttr>(rows) && type && type.getRank() == 2 &&
        type.getDimSize(1) == columns && type.getElementType().isSignlessInteger(32))
      return success();
    auto diagnostic = emitError() << "table '" << name << "' must be dense elements of type tensor<"
                                  << count << "x" << columns << "xi32>, got ";
    if (isa<SparseElementsAttr>(rows))
      return diagnostic << "sparse elements of type " << rows.getType();
    return diagnostic << rows.getType();
  };
  return failure(failed(check("items", items, 'N', 6)) || failed(check("visits", visits, 'T', 3)));
}
