//===- ElementType.h - 16-bit types in instructions -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The IR states the element type of tiles. This file holds every difference between bf16 and f16 in
// instructions.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_HOPPER_ELEMENTTYPE_H
#define DASH_HOPPER_ELEMENTTYPE_H

#include "dash/Hopper/PtxBuilder.h"

namespace mlir::dash {

/// The value of `.elemtype` in `tensormap.replace` (PTX ISA, its table of element types).
int64_t tensorMapCode(FloatType element);

/// Two floats rounded to `element`, ties to even; `low` in the lower half of the i32.
Value packPair(PtxBuilder &b, FloatType element, Value low, Value high);

enum class PairHalf { Low, High };
/// An element of the pair in an i32, as f32.
Value unpackHalf(PtxBuilder &b, FloatType element, Value pair, PairHalf half);

} // namespace mlir::dash

#endif // DASH_HOPPER_ELEMENTTYPE_H
