//===- Expression.cpp - expressions of a manifest -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive-descent parser writes postfix steps. Evaluation is a loop with a stack. Division is
// floored, as in Python: the manifest's expressions are valid Python too.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Expression.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace llvm;

namespace mlir::dash::launch {

/// Each parse function appends steps and returns their number of levels; 0 after a mistake.
class ExpressionParser {
public:
  ExpressionParser(Expression &expression) : expression(expression), rest(expression.text) {}

  Outcome parse() {
    unsigned depth = parseSum();
    if (depth && !rest.empty())
      depth = refuse("found '" + rest.str() + "' behind it");
    return std::move(failure);
  }

private:
  using Operation = Expression::Operation;

  unsigned parseSum() {
    unsigned depth = parseProduct();
    while (depth) {
      if (take('+'))
        depth = join(Operation::Add, depth, parseProduct());
      else if (take('-'))
        depth = join(Operation::Sub, depth, parseProduct());
      else
        break;
    }
    return depth;
  }

  unsigned parseProduct() {
    unsigned depth = parseValue();
    while (depth) {
      if (take('*'))
        depth = join(Operation::Mul, depth, parseValue());
      else if (take('%'))
        depth = join(Operation::Mod, depth, parseValue());
      else
        break;
    }
    return depth;
  }

  unsigned parseValue() {
    rest = rest.ltrim(' ');
    if (take('('))
      return parseInside([&] { return parseSum(); });
    if (rest.empty())
      return refuse("found its end");
    if (isDigit(rest.front())) {
      StringRef digits = rest.take_while([](char c) { return isDigit(c); });
      int64_t number;
      if (digits.getAsInteger(10, number))
        return refuse("found '" + digits.str() + "', which has more than 64 bits");
      rest = rest.drop_front(digits.size());
      return add(Operation::Number, number, 1);
    }
    StringRef name = rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (name.empty())
      return refuse("found '" + rest.take_front(8).str() + "'");
    rest = rest.drop_front(name.size());
    if (!take('('))
      return add(Operation::Name, indexOf(name), 1);
    auto function = StringSwitch<std::optional<Operation>>(name)
                        .Case("ceildiv", Operation::CeilDiv)
                        .Case("align", Operation::Align)
                        .Case("min", Operation::Min)
                        .Case("max", Operation::Max)
                        .Default(std::nullopt);
    if (!function)
      return refuse("found '" + name.str() + "('");
    return parseInside([&] {
      unsigned first = parseSum();
      if (first && !take(','))
        return refuse("found '" + rest.take_front(8).str() + "' where a second value belongs");
      return first ? join(*function, first, parseSum()) : 0;
    });
  }

  /// Parses the inside of parentheses; the opening one is already consumed.
  template <typename Inside> unsigned parseInside(Inside inside) {
    if (++open > Expression::mostDepth)
      return refuseDepth();
    unsigned depth = inside();
    if (depth && !take(')'))
      return refuse("found '" + rest.take_front(8).str() + "' where ')' belongs");
    --open;
    return depth;
  }

  unsigned join(Operation operation, unsigned left, unsigned right) {
    if (!left || !right)
      return 0;
    return add(operation, 0, std::max(left, right) + 1);
  }

  unsigned add(Operation operation, int64_t number, unsigned depth) {
    if (depth > Expression::mostDepth)
      return refuseDepth();
    expression.steps.push_back({operation, number});
    return depth;
  }

  int64_t indexOf(StringRef name) {
    auto found = llvm::find(expression.names, name);
    if (found == expression.names.end())
      found = expression.names.insert(found, name.str());
    return found - expression.names.begin();
  }

  bool take(char c) {
    rest = rest.ltrim(' ');
    return rest.consume_front(StringRef(&c, 1));
  }

  unsigned refuseDepth() {
    failure =
        fail(DASH_INVALID_MANIFEST, expression.place + ": expected an expression of at most " +
                                        Twine(Expression::mostDepth) + " levels, found more");
    return 0;
  }

  unsigned refuse(const std::string &found) {
    if (!failure)
      failure = fail(DASH_INVALID_MANIFEST,
                     expression.place + ": '" + expression.text +
                         "' may have whole numbers, names, + - * %, parentheses and ceildiv, "
                         "align, min, max of two values, " +
                         found);
    return 0;
  }

  Expression &expression;
  StringRef rest;
  unsigned open = 0;
  Outcome failure;
};

Outcome Expression::parse(StringRef text, const Twine &place, Expression &result) {
  result = Expression();
  result.place = place.str();
  if (text.size() > mostText)
    return fail(DASH_INVALID_MANIFEST, place + ": expected an expression of at most " +
                                           Twine(mostText) + " characters, found " +
                                           Twine(text.size()));
  result.text = text.str();
  return ExpressionParser(result).parse();
}

/// a / b, rounded down. False if the value does not fit 64 bits.
static bool floorDivide(int64_t a, int64_t b, int64_t &result) {
  if (b == 0 || (b == -1 && a == INT64_MIN))
    return false;
  result = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

Outcome Expression::evaluate(const Values &values, int64_t &result) const {
  int64_t stack[mostDepth + 1];
  unsigned size = 0;
  for (const Step &step : steps) {
    if (step.operation == Operation::Number) {
      stack[size++] = step.number;
      continue;
    }
    if (step.operation == Operation::Name) {
      auto found = values.find(names[step.number]);
      if (found == values.end())
        return fail(DASH_INVALID_MANIFEST, place + ": '" + text + "' uses '" + names[step.number] +
                                               "', known are " + spell(values));
      stack[size++] = found->second;
      continue;
    }
    int64_t right = stack[--size], left = stack[size - 1], value = 0, quotient = 0;
    bool fits = true, divides = step.operation == Operation::Mod ||
                                step.operation == Operation::CeilDiv ||
                                step.operation == Operation::Align;
    if (divides && right == 0)
      return fail(DASH_INVALID_MANIFEST, place + ": '" + text + "' divides by zero");
    switch (step.operation) {
    case Operation::Number:
    case Operation::Name:
      break;
    case Operation::Add:
      fits = !__builtin_add_overflow(left, right, &value);
      break;
    case Operation::Sub:
      fits = !__builtin_sub_overflow(left, right, &value);
      break;
    case Operation::Mul:
      fits = !__builtin_mul_overflow(left, right, &value);
      break;
    case Operation::Mod:
      value = right == -1 ? 0 : left % right;
      value += value != 0 && (value < 0) != (right < 0) ? right : 0;
      break;
    case Operation::CeilDiv: // -(-a // b)
    case Operation::Align:
      fits = !__builtin_sub_overflow(int64_t(0), left, &value) &&
             floorDivide(value, right, quotient) &&
             !__builtin_sub_overflow(int64_t(0), quotient, &value);
      if (fits && step.operation == Operation::Align)
        fits = !__builtin_mul_overflow(value, right, &value);
      break;
    case Operation::Min:
      value = std::min(left, right);
      break;
    case Operation::Max:
      value = std::max(left, right);
      break;
    }
    if (!fits)
      return fail(DASH_INVALID_MANIFEST, place + ": '" + text + "' leaves the range of 64 bits");
    stack[size - 1] = value;
  }
  result = stack[0];
  return std::nullopt;
}

std::string spell(const Values &values) {
  std::vector<StringRef> names;
  for (const auto &entry : values)
    names.push_back(entry.getKey());
  llvm::sort(names);
  return join(names, ", ");
}

} // namespace mlir::dash::launch
