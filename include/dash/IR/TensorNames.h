//===- TensorNames.h - which value is which tensor -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_TENSORNAMES_H
#define DASH_IR_TENSORNAMES_H

#include "dash/IR/DashOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// Names of values, by what they are to an attention backward. Looked up only.
using TensorNames = llvm::DenseMap<Value, StringRef>;

/// Names the tensors that scheduled items compute with: "q", "k", "v", "do", "o", "lse", "delta",
/// "scale", "sink", "dq", "dk", "dv", "dsink". Memory that sums are collected in, before they are rounded, has the
/// name of what they become. What is not computed as `dash-tile` spells it stays without a name.
TensorNames nameTensors(ItemsOp items);

/// Whether `dash.name` may say so: one of these, or "contributions-" in front of dq, dk or dv, which is what its chains sum.
bool isTensorName(StringRef name);

/// The op that adds up the gradient of the sink of scheduled items; null where they have no sink.
SinkGradientOp findSinkGradient(ItemsOp items);

/// A tensor of a whole program: its name, and what it is to it.
struct TensorRole {
  StringLiteral name;
  bool isWritten, isKeyValue;
  unsigned rank; ///< 4; 3: one number a row; 2: one a sequence and head; 1: one a head

  /// Whether programs may be without it.
  bool isOptional() const { return rank < 3; }
};
/// Those of an attention backward, in the order in which callers know them: with o, or with delta in its place.
SmallVector<TensorRole> tensorRoles(bool takesDelta);

} // namespace mlir::dash

#endif // DASH_IR_TENSORNAMES_H
