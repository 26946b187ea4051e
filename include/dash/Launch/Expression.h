//===- Expression.h - expressions of a manifest -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole numbers, names, + - * %, parentheses, ceildiv, align, min and max. Manifests come from strangers: length, depth and
// values have bounds, so that no expression runs away.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_EXPRESSION_H
#define DASH_LAUNCH_EXPRESSION_H

#include "dash/Launch/Outcome.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace mlir::dash::launch {

/// What names stand for.
using Values = llvm::StringMap<int64_t>;

/// A parsed expression. Values are of 64 bits; one that leaves them is a failure, and so is a division by zero.
class Expression {
public:
  static constexpr size_t mostText = 1024;
  static constexpr unsigned mostDepth = 64;

  /// place: where in the manifest it stands, for messages.
  static Outcome parse(llvm::StringRef text, const llvm::Twine &place, Expression &result);

  Outcome evaluate(const Values &values, int64_t &result) const;

  /// Names in it, in the order of their first use.
  const std::vector<std::string> &getNames() const { return names; }
  const std::string &getText() const { return text; }
  const std::string &getPlace() const { return place; }

private:
  friend class ExpressionParser;
  enum class Operation { Number, Name, Add, Sub, Mul, Mod, CeilDiv, Align, Min, Max };
  /// In postfix order. number: a value, or the index of a name.
  struct Step {
    Operation operation;
    int64_t number;
  };

  std::string text, place;
  std::vector<std::string> names;
  std::vector<Step> steps;
};

/// Names that have values, sorted, for messages.
std::string spell(const Values &values);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_EXPRESSION_H
