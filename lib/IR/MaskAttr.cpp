//===- MaskAttr.cpp - text and checks of masks ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is stored in its canonical form, so equal masks are one attribute with one text. Each rule
// has its own file.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/IR/Problem.h"
#include "dash/Support/Limits.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

#include "dash/IR/DashMaskRule.cpp.inc"

namespace {

/// Reads the entries of a mask.
class MaskParser {
public:
  explicit MaskParser(AsmParser &parser) : parser(parser) {}

  ParseResult parse() {
    return failure(parser.parseLess() || parser.parseCommaSeparatedList([&] {
      return parseEntry();
    }) || parser.parseGreater());
  }

  bool isCausal() const { return llvm::is_contained(words, "causal"); }
  int64_t left = -1, right = -1;
  SmallVector<MaskRule> rules;

private:
  ParseResult parseEntry() {
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (failed(parser.parseOptionalKeyword(&word)))
      return emitUnknown(loc);
    if (llvm::is_contained(words, word))
      return parser.emitError(loc, "'") << word << "' is stated twice";
    words.push_back(word);
    if (words.size() > 1 && llvm::is_contained(words, "full"))
      return parser.emitError(loc, "'full' hides nothing, got another rule beside it");
    if (word == "full" || word == "causal")
      return success();
    if (failed(parser.parseOptionalEqual()))
      return emitUnknown(loc) << ", got '" << word << "'";
    return word == "window" ? parseWindow() : parseRule(word);
  }

  InFlightDiagnostic emitUnknown(SMLoc loc) {
    return parser.emitError(loc, "expected a mask rule (full, causal, window = [left, right], "
                                 "blocks = #dash.blocks<...> or union = #dash.union<...>)");
  }

  ParseResult parseWindow() {
    return failure(parser.parseLSquare() || parser.parseInteger(left) || parser.parseComma() ||
                   parser.parseInteger(right) || parser.parseRSquare());
  }

  ParseResult parseRule(StringRef word) {
    SMLoc loc = parser.getCurrentLocation();
    Attribute attribute;
    if (parser.parseAttribute(attribute))
      return failure();
    auto rule = dyn_cast<MaskRule>(attribute);
    if (!rule || rule.getWord() != word)
      return parser.emitError(loc, "expected a mask rule called '")
             << word << "', got " << attribute;
    rules.push_back(rule);
    return success();
  }

  AsmParser &parser;
  SmallVector<StringRef> words;
};

} // namespace

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  MaskParser mask(parser);
  if (failed(mask.parse()))
    return {};
  // A window of a causal mask extends no further right than the diagonal, unless it is no window.
  bool isValid = mask.right >= -1;
  int64_t right = mask.isCausal() && isValid ? 0 : mask.right;
  for (MaskRule &rule : mask.rules)
    rule = rule.within(Band{mask.left, right});
  llvm::erase_if(mask.rules, [](MaskRule rule) { return !rule; });
  llvm::sort(mask.rules, [](MaskRule a, MaskRule b) { return a.getWord() < b.getWord(); });
  return parser.getChecked<MaskAttr>(loc, parser.getContext(), mask.left, right,
                                     ArrayRef<MaskRule>(mask.rules));
}

void MaskAttr::print(AsmPrinter &printer) const {
  SmallVector<std::function<void()>> entries;
  if (getLeft() < 0 && getRight() == 0)
    entries.push_back([&] { printer << "causal"; });
  else if (getLeft() >= 0 || getRight() >= 0)
    entries.push_back([&] { printer << "window = [" << getLeft() << ", " << getRight() << "]"; });
  for (MaskRule rule : getRules())
    entries.push_back([&printer, rule]() mutable { printer << rule.getWord() << " = " << rule; });
  if (entries.empty())
    entries.push_back([&] { printer << "full"; });
  printer << "<";
  llvm::interleaveComma(entries, printer, [](auto &print) { print(); });
  printer << ">";
}

LogicalResult MaskAttr::verify(EmitError emitError, int64_t left, int64_t right,
                               ArrayRef<MaskRule> rules) {
  if (!isWindowSide(left) || !isWindowSide(right))
    return emitError() << "left and right of a window must be from -1 (no bound) to " << maxRows
                       << ", got [" << left << ", " << right << "]";
  for (size_t i = 1; i < rules.size(); ++i)
    if (!(rules[i - 1].getWord() < rules[i].getWord()))
      return emitError() << "rules must stand in the order of their words, each once, got '"
                         << rules[i].getWord() << "' after '" << rules[i - 1].getWord() << "'";
  for (MaskRule rule : rules)
    if (rule.within(Band{left, right}) != rule)
      return emitError() << "rule '" << rule.getWord() << "' says again what the band says";
  return success();
}

BlocksAttr MaskAttr::getBlocks() const {
  for (MaskRule rule : getRules())
    if (auto blocks = dyn_cast<BlocksAttr>(rule))
      return blocks;
  return {};
}

bool MaskAttr::sees(int64_t row, int64_t column, int64_t qRows, int64_t kvRows) const {
  return getBand().sees(row, column, kvRows - qRows) &&
         llvm::all_of(getRules(),
                      [&](MaskRule rule) { return rule.sees(row, column, kvRows - qRows); });
}

Edges MaskAttr::getEdges() const { return toMask(*this).edges(); }

LogicalResult MaskAttr::verifyTiles(int64_t qTile, int64_t kvTile, EmitError emitError) const {
  for (MaskRule rule : getRules())
    if (failed(rule.verifyTiles(qTile, kvTile, emitError)))
      return failure();
  return success();
}

LogicalResult MaskAttr::verifyRows(int64_t qRows, int64_t kvRows, EmitError emitError) const {
  for (MaskRule rule : getRules())
    if (failed(rule.verifyRows(qRows, kvRows, emitError)))
      return failure();
  return success();
}

LogicalResult MaskAttr::verifyData(EmitError emitError) const {
  for (MaskRule rule : getRules())
    if (failed(rule.verifyData(emitError)))
      return failure();
  return success();
}
