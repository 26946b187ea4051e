//===- Tilings.cpp - how a problem is cut into tiles ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TilingText.h"
#include "dash/IR/DashAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::dash;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// SplitAttr
//===----------------------------------------------------------------------===//

LogicalResult SplitAttr::verify(EmitError emitError, int64_t rows, int64_t columns) {
  constexpr int64_t mostWarpgroups = 8;
  if (rows < 1 || columns < 1 || rows > mostWarpgroups || columns > mostWarpgroups)
    return emitError() << "a product is split among 1 to " << mostWarpgroups << " warpgroups, got "
                       << rows << " x " << columns;
  if (rows > 1 && columns > 1)
    return emitError() << "warpgroups split the rows of a product or its columns, not both, got "
                       << rows << " x " << columns;
  return success();
}

FragmentAttr SplitAttr::getSums() const {
  return FragmentAttr::get(getContext(), FragmentKind::Accumulator,
                           getColumns() > 1 ? FragmentSplit::Columns : FragmentSplit::Rows,
                           getWarpgroups());
}

SplitAttr SplitAttr::getFactor(bool isLeft, bool isTransposed) const {
  int64_t parts = isLeft ? getRows() : getColumns();
  return isLeft != isTransposed ? get(getContext(), parts, 1) : get(getContext(), 1, parts);
}

//===----------------------------------------------------------------------===//
// TilingAttr
//===----------------------------------------------------------------------===//

/// `{name = value, ...}`, each name once.
static ParseResult parseNamed(AsmParser &parser, DictionaryAttr &list,
                              function_ref<ParseResult(Attribute &)> parseValue) {
  SmallVector<NamedAttribute> entries;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    Attribute value;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parseValue(value))
      return failure();
    if (llvm::any_of(entries, [&](NamedAttribute entry) { return entry.getName() == name; }))
      return parser.emitError(loc, "expected each name once, got '") << name << "' twice";
    entries.emplace_back(StringAttr::get(parser.getContext(), name), value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  list = DictionaryAttr::get(parser.getContext(), entries);
  return success();
}

static void printNamed(AsmPrinter &printer, DictionaryAttr list,
                       function_ref<void(Attribute)> printValue) {
  printer << '{';
  llvm::interleaveComma(list, printer, [&](NamedAttribute entry) {
    printer.printKeywordOrString(entry.getName());
    printer << " = ";
    printValue(entry.getValue());
  });
  printer << '}';
}

ParseResult dash::parseSplits(AsmParser &parser, DictionaryAttr &splits) {
  return parseNamed(parser, splits, [&](Attribute &value) -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t rows, columns;
    if (parser.parseInteger(rows) || parser.parseKeyword("x") || parser.parseInteger(columns))
      return failure();
    value = parser.getChecked<SplitAttr>(loc, parser.getContext(), rows, columns);
    return success(bool(value));
  });
}

void dash::printSplits(AsmPrinter &printer, DictionaryAttr splits) {
  printNamed(printer, splits, [&](Attribute value) {
    auto split = cast<SplitAttr>(value);
    printer << split.getRows() << " x " << split.getColumns();
  });
}

ParseResult dash::parseSlots(AsmParser &parser, DictionaryAttr &slots) {
  return parseNamed(parser, slots, [&](Attribute &value) -> ParseResult {
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    value = parser.getBuilder().getI64IntegerAttr(number);
    return success();
  });
}

void dash::printSlots(AsmPrinter &printer, DictionaryAttr slots) {
  printNamed(printer, slots,
             [&](Attribute value) { printer << cast<IntegerAttr>(value).getInt(); });
}

ParseResult dash::parseHeld(AsmParser &parser, ArrayAttr &hold) {
  SmallVector<Attribute> names;
  auto parseName = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName))
    return failure();
  hold = ArrayAttr::get(parser.getContext(), names);
  return success();
}

void dash::printHeld(AsmPrinter &printer, ArrayAttr hold) {
  printer << '[';
  llvm::interleaveComma(hold.getAsRange<StringAttr>(), printer,
                        [&](StringAttr name) { printer.printKeywordOrString(name); });
  printer << ']';
}

LogicalResult TilingAttr::verify(EmitError emitError, TilesAttr, int64_t columns, int64_t columnsV,
                                 WarpStructure, DictionaryAttr splits, ArrayAttr hold,
                                 DictionaryAttr slots) {
  constexpr int64_t step = 8; // as head dims
  auto isWidth = [](int64_t number) { return number >= step && number % step == 0; };
  for (auto [name, number] : {std::pair("columns", columns), {"columns_v", columnsV}})
    if (!isWidth(number) && (number != 0 || number == columns))
      return emitError() << "'" << name << "' must be a positive multiple of " << step << ", got "
                         << number;
  if (columnsV == columns)
    return emitError() << "'columns_v' are stated where they are not 'columns', got " << columns
                       << " of both";
  if (splits.empty())
    return emitError() << "a tiling has a split at least";
  auto warpgroupsOf = [](NamedAttribute entry) {
    return cast<SplitAttr>(entry.getValue()).getWarpgroups();
  };
  NamedAttribute first = *splits.begin();
  for (NamedAttribute entry : splits)
    if (warpgroupsOf(entry) != warpgroupsOf(first))
      return emitError() << "products must be split among as many warpgroups, got "
                         << warpgroupsOf(first) << " of '" << first.getName().getValue() << "' and "
                         << warpgroupsOf(entry) << " of '" << entry.getName().getValue() << "'";
  for (NamedAttribute entry : slots)
    if (int64_t number = cast<IntegerAttr>(entry.getValue()).getInt();
        number < (entry.getName() == TilingAttr::channelOfResults ? 0 : 1))
      return emitError() << "channel '" << entry.getName().getValue()
                         << "' must have a slot at least, got " << number;
  for (StringAttr name : hold.getAsRange<StringAttr>())
    if (!slots.contains(name))
      return emitError() << "holds '" << name.getValue() << "', which has no slots";
  return success();
}

SplitAttr TilingAttr::getSplit(StringRef product) const {
  return getSplits().getAs<SplitAttr>(product);
}

std::optional<int64_t> TilingAttr::getSlotsOf(StringRef channel) const {
  auto number = getSlots().getAs<IntegerAttr>(channel);
  return number ? std::optional<int64_t>(number.getInt()) : std::nullopt;
}

bool TilingAttr::holds(StringRef tensor) const {
  return llvm::is_contained(getHold(), StringAttr::get(getContext(), tensor));
}

int64_t TilingAttr::getWarpgroups() const {
  return cast<SplitAttr>(getSplits().begin()->getValue()).getWarpgroups();
}
