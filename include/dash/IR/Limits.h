//===- Limits.h - how large an order may be ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No order of use comes near. What is written by hand shall not ask for memory or time that nobody has.
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_LIMITS_H
#define DASH_IR_LIMITS_H

#include <cstdint>
#include <limits>

namespace mlir::dash {

constexpr int64_t maxRows = std::numeric_limits<int32_t>::max(); ///< of a sequence
constexpr int64_t maxWorkers = int64_t(1) << 20;
constexpr int64_t maxTableRows = int64_t(1) << 26; ///< items, and visits, of a table

} // namespace mlir::dash

#endif // DASH_IR_LIMITS_H
