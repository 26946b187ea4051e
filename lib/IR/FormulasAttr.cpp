//===- FormulasAttr.cpp - the language of #dash.formulas ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and prints quasi-affine functions with the names of their inputs and sizes. MLIR's own
// forms of maps and sets number them (d0, s0). And a set cannot stand inside an attribute of a
// dialect: the `>` of its `>=` would end the attribute.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/DialectImplementation.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads what a function is, `= if condition then values else values`.
class FormulaParser {
public:
  FormulaParser(AsmParser &parser, const FormulaSignature &signature)
      : parser(parser), signature(signature) {
    MLIRContext *context = parser.getContext();
    for (unsigned i = 0; i < signature.getNumSymbols(); ++i)
      names.emplace_back(signature.getName(i), getAffineSymbolExpr(i, context));
  }

  ParseResult parse(SmallVectorImpl<FormulaPiece> &pieces);

private:
  /// An expression of at most `maxTreeSize` nodes.
  ParseResult parseExpr(AffineExpr &expr);
  ParseResult parseLets();
  ParseResult parseComparison(SmallVectorImpl<AffineExpr> &constraints,
                              SmallVectorImpl<bool> &isEquality);
  ParseResult parseCondition(IntegerSet &condition);
  ParseResult parseValue(AffineMap &value);

  int64_t treeSize(AffineExpr expr);

  AsmParser &parser;
  const FormulaSignature &signature;
  SmallVector<std::pair<StringRef, AffineExpr>> names;
  llvm::DenseMap<AffineExpr, int64_t> treeSizes; ///< of operations; looked up only
};

/// Names create expressions that share parts, but MLIR walks them as trees each time it builds one.
/// Without a limit, 64 names that double would take practically forever. The largest formula of the
/// built-in kinds has 899 nodes.
constexpr int64_t maxTreeSize = int64_t(1) << 14;
} // namespace

int64_t FormulaParser::treeSize(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  if (auto known = treeSizes.find(expr); known != treeSizes.end())
    return known->second;
  // Operands are within the limit, or were refused, so the sum cannot overflow.
  int64_t size = 1 + treeSize(binary.getLHS()) + treeSize(binary.getRHS());
  treeSizes.insert({expr, size});
  return size;
}

ParseResult FormulaParser::parseExpr(AffineExpr &expr) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAffineExpr(names, expr))
    return failure();
  if (int64_t size = treeSize(expr); size > maxTreeSize)
    return parser.emitError(loc, "an expression of '")
           << signature.name << "' may have at most " << maxTreeSize
           << " terms and operations once names are replaced by what they stand for, got " << size;
  return success();
}

/// `let t0 = expression, t1 = expression in`: names for expressions that are used more than once.
ParseResult FormulaParser::parseLets() {
  do {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    AffineExpr value;
    if (parser.parseKeyword(&name))
      return failure();
    if (llvm::any_of(names, [&](auto &known) { return known.first == name; }))
      return parser.emitError(loc, "'") << name << "' already has a meaning in '" << signature.name
                                        << "', choose another name";
    if (parser.parseEqual() || parseExpr(value))
      return failure();
    names.emplace_back(name, value);
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseKeyword("in");
}

ParseResult FormulaParser::parseComparison(SmallVectorImpl<AffineExpr> &constraints,
                                           SmallVectorImpl<bool> &isEquality) {
  AffineExpr lhs, rhs;
  if (parseExpr(lhs))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word, {"ge", "le", "eq"})))
    return parser.emitError(loc, "expected 'ge', 'le' or 'eq' in a condition of '")
           << signature.name << "'";
  if (parseExpr(rhs))
    return failure();
  constraints.push_back(word == "le" ? rhs - lhs : lhs - rhs);
  isEquality.push_back(word == "eq");
  return success();
}

ParseResult FormulaParser::parseCondition(IntegerSet &condition) {
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> isEquality;
  do {
    if (parseComparison(constraints, isEquality))
      return failure();
  } while (succeeded(parser.parseOptionalKeyword("and")));
  condition = IntegerSet::get(/*dimCount=*/0, signature.getNumSymbols(), constraints, isEquality);
  return success();
}

ParseResult FormulaParser::parseValue(AffineMap &value) {
  SmallVector<AffineExpr> results(signature.numResults);
  if (results.size() > 1 && parser.parseLParen())
    return failure();
  for (unsigned i = 0; i < results.size(); ++i)
    if ((i != 0 && parser.parseComma()) || parseExpr(results[i]))
      return failure();
  if (results.size() > 1 && parser.parseRParen())
    return failure();
  value = AffineMap::get(/*dimCount=*/0, signature.getNumSymbols(), results, parser.getContext());
  return success();
}

ParseResult FormulaParser::parse(SmallVectorImpl<FormulaPiece> &pieces) {
  if (parser.parseEqual())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("let")) && parseLets())
    return failure();
  while (succeeded(parser.parseOptionalKeyword("if"))) {
    FormulaPiece piece;
    if (parseCondition(piece.condition) || parser.parseKeyword("then") || parseValue(piece.value) ||
        parser.parseKeyword("else"))
      return failure();
    pieces.push_back(piece);
  }
  return parseValue(pieces.emplace_back().value);
}

/// The member that orders without chains lack.
static constexpr size_t turnMember = 3;

/// `name(inputs) = …` of member `index`. The first input of `visit` says which side items own.
static ParseResult parseFunction(AsmParser &parser, size_t index, TensorSide &own,
                                 SmallVectorImpl<FormulaPiece> &pieces) {
  const FormulaSignature *signature = &getFormulaSignatures(own)[index];
  if (parser.parseKeyword(signature->name) || parser.parseLParen())
    return failure();
  if (signature->name == "visit" && succeeded(parser.parseOptionalKeyword("q"))) {
    own = TensorSide::Q;
    signature = &getFormulaSignatures(own)[index];
  } else if (parser.parseKeyword(signature->inputs.front())) {
    return failure();
  }
  for (StringRef input : signature->inputs.drop_front())
    if (parser.parseComma() || parser.parseKeyword(input))
      return failure();
  if (parser.parseRParen())
    return failure();
  return FormulaParser(parser, *signature).parse(pieces);
}

Attribute FormulasAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<FormulaPiece> members[4];
  TensorSide own = TensorSide::KV;
  if (parser.parseLess())
    return {};
  for (size_t i = 0; i < getFormulaSignatures(own).size(); ++i) {
    bool mayEnd = i == turnMember;
    if (mayEnd && failed(parser.parseOptionalComma()))
      break;
    if ((!mayEnd && i != 0 && parser.parseComma()) || parseFunction(parser, i, own, members[i]))
      return {};
  }
  if (parser.parseGreater())
    return {};
  auto emitAtStart = [&] { return parser.emitError(loc); };
  function_ref<InFlightDiagnostic()> emitError = emitAtStart;
  ArrayRef<FormulaPiece> item = members[0], worker = members[1], visit = members[2],
                         turn = members[3];
  return FormulasAttr::getChecked(emitError, parser.getContext(), item, worker, visit, turn, own);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// The factor of a negative multiple (a constant is a multiple of one), else 0.
static int64_t negativeFactor(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (product && product.getKind() == AffineExprKind::Mul)
    expr = product.getRHS();
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  // The smallest integer has no positive counterpart to print after a minus.
  bool isNegative = constant && constant.getValue() < 0 &&
                    constant.getValue() != std::numeric_limits<int64_t>::min();
  return isNegative ? constant.getValue() : 0;
}

/// Splits `expr` into the two sides of a comparison, as a person would write it.
static std::pair<AffineExpr, AffineExpr> splitSides(AffineExpr expr) {
  AffineExpr zero = getAffineConstantExpr(0, expr.getContext());
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return {expr, zero};
  AffineExpr lhs = sum.getLHS(), rhs = sum.getRHS();
  if (negativeFactor(rhs) == 0)
    std::swap(lhs, rhs);
  if (negativeFactor(rhs) == 0 || lhs + rhs != expr)
    return {expr, zero};
  return {lhs, rhs * -1};
}

namespace {
/// Prints one function so that FormulaParser builds the same expressions again.
class FormulaPrinter {
public:
  FormulaPrinter(AsmPrinter &printer, const FormulaSignature &signature)
      : printer(printer), signature(signature) {}

  void print(ArrayRef<FormulaPiece> pieces);

private:
  void countUses(AffineExpr expr);
  void printLets(ArrayRef<FormulaPiece> pieces);
  void printExpr(AffineExpr expr);
  void printWhole(AffineExpr expr);
  void printSum(AffineBinaryOpExpr sum);
  void printProduct(AffineBinaryOpExpr product);
  /// In parentheses if the expression has a kind that binds less tightly here.
  void printOperand(AffineExpr expr, bool wrapProducts);
  void printCondition(IntegerSet condition);
  void printValue(AffineMap value);

  AsmPrinter &printer;
  const FormulaSignature &signature;
  llvm::MapVector<AffineExpr, unsigned> uses; ///< operations, operands before their users
  llvm::DenseMap<AffineExpr, unsigned> names; ///< looked up only
};
} // namespace

void FormulaPrinter::countUses(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return;
  if (auto known = uses.find(expr); known != uses.end()) {
    ++known->second;
    return;
  }
  countUses(binary.getLHS());
  countUses(binary.getRHS());
  uses.insert({expr, 1});
}

/// Names expressions that occur more than once. Formulas share much: without names, the text can be
/// a hundred times as long as the expressions are large.
void FormulaPrinter::printLets(ArrayRef<FormulaPiece> pieces) {
  for (const FormulaPiece &piece : pieces) {
    if (IntegerSet condition = piece.condition; piece.hasCondition())
      for (AffineExpr expr : condition.getConstraints()) {
        auto [lhs, rhs] = splitSides(expr);
        countUses(lhs);
        countUses(rhs);
      }
    for (AffineExpr expr : piece.value.getResults())
      countUses(expr);
  }
  for (auto [expr, count] : uses) {
    // Multiples by a negative constant are printed as differences.
    if (count < 2 || negativeFactor(expr) != 0)
      continue;
    printer << (names.empty() ? "let t" : ", t") << names.size() << " = ";
    printWhole(expr);
    names.insert({expr, names.size()});
  }
  if (!names.empty())
    printer << " in ";
}

void FormulaPrinter::printExpr(AffineExpr expr) {
  if (auto name = names.find(expr); name != names.end())
    printer << "t" << name->second;
  else
    printWhole(expr);
}

void FormulaPrinter::printWhole(AffineExpr expr) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    printer << signature.getName(symbol.getPosition());
  else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    printer << constant.getValue();
  else if (expr.getKind() == AffineExprKind::Add)
    printSum(cast<AffineBinaryOpExpr>(expr));
  else
    printProduct(cast<AffineBinaryOpExpr>(expr));
}

void FormulaPrinter::printOperand(AffineExpr expr, bool wrapProducts) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  bool wrap =
      binary && !names.contains(expr) && (wrapProducts || binary.getKind() == AffineExprKind::Add);
  printer << (wrap ? "(" : "");
  printExpr(expr);
  printer << (wrap ? ")" : "");
}

void FormulaPrinter::printSum(AffineBinaryOpExpr sum) {
  AffineExpr lhs = sum.getLHS(), rhs = sum.getRHS();
  // Symbols are stored by number; `q_tiles - kv` reads better than `-kv + q_tiles`.
  if (negativeFactor(lhs) != 0 && negativeFactor(rhs) == 0 && rhs + lhs == sum)
    std::swap(lhs, rhs);
  printExpr(lhs);
  int64_t factor = negativeFactor(rhs);
  if (factor == 0) {
    printer << " + ";
    return printOperand(rhs, /*wrapProducts=*/false);
  }
  printer << " - ";
  auto product = dyn_cast<AffineBinaryOpExpr>(rhs);
  if (!product) {
    printer << -factor;
    return;
  }
  printOperand(product.getLHS(), /*wrapProducts=*/false);
  if (factor != -1)
    printer << " * " << -factor;
}

void FormulaPrinter::printProduct(AffineBinaryOpExpr product) {
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (product.getKind() == AffineExprKind::Mul && factor && factor.getValue() == -1) {
    printer << "-";
    return printOperand(product.getLHS(), /*wrapProducts=*/true);
  }
  printOperand(product.getLHS(), /*wrapProducts=*/false);
  switch (product.getKind()) {
  case AffineExprKind::FloorDiv:
    printer << " floordiv ";
    break;
  case AffineExprKind::CeilDiv:
    printer << " ceildiv ";
    break;
  case AffineExprKind::Mod:
    printer << " mod ";
    break;
  default:
    printer << " * ";
  }
  printOperand(product.getRHS(), /*wrapProducts=*/true);
}

void FormulaPrinter::printCondition(IntegerSet condition) {
  for (unsigned i = 0; i < condition.getNumConstraints(); ++i) {
    auto [lhs, rhs] = splitSides(condition.getConstraint(i));
    printer << (i == 0 ? "" : " and ");
    printExpr(lhs);
    printer << (condition.isEq(i) ? " eq " : " ge ");
    printExpr(rhs);
  }
}

void FormulaPrinter::printValue(AffineMap value) {
  bool isTuple = signature.numResults > 1;
  printer << (isTuple ? "(" : "");
  llvm::interleaveComma(value.getResults(), printer, [&](AffineExpr expr) { printExpr(expr); });
  printer << (isTuple ? ")" : "");
}

void FormulaPrinter::print(ArrayRef<FormulaPiece> pieces) {
  printer << signature.name << "(";
  llvm::interleaveComma(signature.inputs, printer);
  printer << ") = ";
  printLets(pieces);
  for (const FormulaPiece &piece : pieces.drop_back()) {
    printer << "if ";
    printCondition(piece.condition);
    printer << " then ";
    printValue(piece.value);
    printer << " else ";
  }
  printValue(pieces.back().value);
}

void FormulasAttr::print(AsmPrinter &printer) const {
  ArrayRef<FormulaPiece> members[] = {getItem(), getWorker(), getVisit(), getTurn()};
  printer << "<";
  for (auto [i, signature] : llvm::enumerate(getFormulaSignatures(getOwn()))) {
    if (i == turnMember && getTurn().empty())
      continue;
    // One formula a line: each nearly fills its line.
    printer.getStream() << (i == 0 ? "\n          " : ",\n          ");
    FormulaPrinter(printer, signature).print(members[i]);
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The first constant divisor that is 0 or negative: such a function has no value. `seen` holds
/// expressions without one; expressions share much.
static std::optional<int64_t> findBadDivisor(AffineExpr expr, llvm::DenseSet<AffineExpr> &seen) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || !seen.insert(expr).second)
    return std::nullopt;
  for (AffineExpr operand : {binary.getLHS(), binary.getRHS()})
    if (std::optional<int64_t> found = findBadDivisor(operand, seen))
      return found;
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool divides = binary.getKind() != AffineExprKind::Add && binary.getKind() != AffineExprKind::Mul;
  if (divides && divisor && divisor.getValue() < 1)
    return divisor.getValue();
  return std::nullopt;
}

static LogicalResult verifyMember(function_ref<InFlightDiagnostic()> emitError,
                                  const FormulaSignature &signature,
                                  ArrayRef<FormulaPiece> pieces) {
  unsigned symbols = signature.getNumSymbols();
  if (pieces.empty() || pieces.back().hasCondition() ||
      !llvm::all_of(pieces.drop_back(), [](auto &piece) { return piece.hasCondition(); }))
    return emitError() << "every case of '" << signature.name
                       << "' but the last needs a condition, and the last may have none";
  llvm::DenseSet<AffineExpr> seen; // looked up only
  for (const FormulaPiece &piece : pieces) {
    auto [condition, value] = piece;
    if (!value || value.getNumDims() != 0 || value.getNumSymbols() != symbols ||
        value.getNumResults() != signature.numResults ||
        (condition && (condition.getNumDims() != 0 || condition.getNumSymbols() != symbols)))
      return emitError() << "every map and set of '" << signature.name << "' must have no dims and "
                         << symbols << " symbols, and every map " << signature.numResults
                         << " results";
    SmallVector<AffineExpr> exprs(value.getResults());
    if (condition)
      llvm::append_range(exprs, condition.getConstraints());
    for (AffineExpr expr : exprs)
      if (std::optional<int64_t> divisor = findBadDivisor(expr, seen))
        return emitError() << "'" << signature.name << "' divides by " << *divisor
                           << ", a constant that is not positive";
  }
  return success();
}

LogicalResult FormulasAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<FormulaPiece> item, ArrayRef<FormulaPiece> worker,
                                   ArrayRef<FormulaPiece> visit, ArrayRef<FormulaPiece> turn,
                                   TensorSide own) {
  ArrayRef<FormulaPiece> members[] = {item, worker, visit, turn};
  if (own == TensorSide::Q && !turn.empty())
    return emitError() << "'turn' is of items that own kv tiles: nothing is summed across those "
                          "that own q tiles";
  for (auto [i, signature] : llvm::enumerate(getFormulaSignatures(own)))
    if ((i != turnMember || !turn.empty()) &&
        failed(verifyMember(emitError, signature, members[i])))
      return failure();
  return success();
}
