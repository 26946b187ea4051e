//===- Expression.h - expressions of a manifest -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers, names, + - * %, parentheses, ceildiv, align, min and max. Manifests are untrusted:
// length, depth and values are bounded, so that no expression runs away.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_EXPRESSION_H
#define DASH_LAUNCH_EXPRESSION_H

#include "dash/Launch/Outcome.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace mlir::dash::launch {

/// The values of names.
using Values = llvm::StringMap<int64_t>;

/// A parsed expression. Values have 64 bits; overflow is a failure, and so is a division by zero.
class Expression {
public:
  static constexpr size_t mostText = 1024;
  static constexpr unsigned mostDepth = 64;

  /// place: the position in the manifest, for messages.
  static Outcome parse(llvm::StringRef text, const llvm::Twine &place, Expression &result);

  Outcome evaluate(const Values &values, int64_t &result) const;

  /// Its names, in the order of first use.
  const std::vector<std::string> &getNames() const { return names; }
  const std::string &getText() const { return text; }
  const std::string &getPlace() const { return place; }

private:
  friend class ExpressionParser;
  enum class Operation { Number, Name, Add, Sub, Mul, Mod, CeilDiv, Align, Min, Max };
  /// A step in postfix order. number: a value, or the index of a name.
  struct Step {
    Operation operation;
    int64_t number;
  };

  std::string text, place;
  std::vector<std::string> names;
  std::vector<Step> steps;
};

/// The names with values, sorted, for messages.
std::string spell(const Values &values);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_EXPRESSION_H
