//===- Arguments.h - which value is which tensor ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_ARGUMENTS_H
#define DASH_LIB_LOWERING_ARGUMENTS_H

#include "dash/IR/DashOps.h"
#include "dash/Schedule/Problem.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// Names of values, by what they are to an attention backward. Looked up only.
using TensorNames = llvm::DenseMap<Value, StringRef>;

/// Names the tensors that scheduled items compute with: "q", "k", "v", "do", "o", "lse", "delta",
/// "scale", "dq", "dk", "dv". Memory that sums are collected in, before they are rounded, has the
/// name of what they become. What is not computed as `dash-tile` spells it stays without a name.
TensorNames nameTensors(ItemsOp items);

/// Sizes of the tensor called `name`, empty for a number or an unknown name. A list of sequences
/// lies in a batch of 1.
SmallVector<int64_t> shapeOfTensor(StringRef name, const Problem &problem, bool isList);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_ARGUMENTS_H
