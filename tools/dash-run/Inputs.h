//===- Inputs.h - inputs from a seed ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_RUN_INPUTS_H
#define DASH_TOOLS_RUN_INPUTS_H

#include "Program.h"
#include "dash/IR/Problem.h"

namespace dash_run {

/// Fills an input with random numbers. Element n of the tensor called `name` is drawn
/// independently: it does not depend on the machine or on the other inputs.
void fillRandom(Tensor &tensor, uint64_t seed);

/// How q k^T changes before the softmax, and what else enters the row's sum.
struct Scores {
  double scale;
  std::optional<double> softcap;
  const Tensor *sink; ///< null if there is none
};

/// What a forward pass leaves for the backward: o = softmax(scale Q K^T) V and the log of the rows'
/// sums, in f64 and rounded once. They are 0 and -inf for a row that sees neither a column nor a
/// sink. `o` or `lse` may be null.
void computeForward(const mlir::dash::Problem &problem, const Scores &how, const Tensor &q,
                    const Tensor &k, const Tensor &v, Tensor *o, Tensor *lse);

/// delta = rowsum(o * dO), left to right in f32.
void computeDelta(const Tensor &o, const Tensor &dOut, Tensor &delta);

} // namespace dash_run

#endif // DASH_TOOLS_RUN_INPUTS_H
