//===- WordOptions.h - options of passes that are words --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_WORDOPTIONS_H
#define DASH_IR_WORDOPTIONS_H

#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>

namespace mlir::dash {

/// LLVM's parser for the words of an enumeration. For an unknown word, its error lists the known
/// ones.
template <typename EnumT> struct WordParser : public llvm::cl::parser<EnumT> {
  using llvm::cl::parser<EnumT>::parser;

  /// PassOptions calls this to print options.
  std::optional<StringRef> findArgStrForValue(const EnumT &value) {
    for (const auto &one : this->Values)
      if (one.V.compare(value))
        return one.Name;
    return std::nullopt;
  }

  bool parse(llvm::cl::Option &option, StringRef, StringRef word, EnumT &value) {
    for (const auto &one : this->Values)
      if (one.Name == word) {
        value = one.V.getValue();
        return false;
      }
    auto words = llvm::map_range(this->Values, [](const auto &one) { return one.Name; });
    return option.error("expected one of " + llvm::join(words, ", ") + ", found '" + word + "'");
  }
};

} // namespace mlir::dash

/// Makes WordParser read options of type `ENUM`. Must precede the first such option.
#define DASH_WORD_OPTION(ENUM)                                                                     \
  template <>                                                                                      \
  struct mlir::detail::PassOptions::GenericOptionParser<ENUM>                                      \
      : public mlir::dash::WordParser<ENUM> {                                                      \
    using WordParser::WordParser;                                                                  \
  };

#endif // DASH_IR_WORDOPTIONS_H
