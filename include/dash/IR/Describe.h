//===- Describe.h - numbers and problems in words ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_DESCRIBE_H
#define DASH_IR_DESCRIBE_H

#include "dash/IR/Problem.h"
#include <string>

namespace mlir::dash {

/// The shortest decimal that reads back as `value`.
std::string toDecimal(double value);

/// "3000 x 3000", or "2 x [1000 x 1000], 3000 x 3000".
std::string describeSequences(const Problem &problem);

/// "full", "causal", "window [512, 0]", "causal, blocks 128 x 128".
std::string maskName(const Mask &mask);

} // namespace mlir::dash

#endif // DASH_IR_DESCRIBE_H
