//===- Swizzle.h - swizzles in instructions ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_HOPPER_SWIZZLE_H
#define DASH_HOPPER_SWIZZLE_H

#include "dash/IR/DashAttrs.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dash {

/// The value of `.swizzle_mode` in `tensormap.replace` (PTX ISA, its table of modes): 1 to 3 for
/// 32, 64 and 128 bytes.
inline int64_t tensorMapCode(SwizzledAttr layout) { return llvm::Log2_64(layout.getBytes() / 16); }

/// The mode in a matrix descriptor of wgmma (PTX ISA 9.7.15.5.1): 1 to 3 for 128, 64 and 32 bytes.
inline uint32_t matrixDescriptorMode(SwizzledAttr layout) {
  return 1 + llvm::Log2_64(layout.getRowsAlike());
}

} // namespace mlir::dash

#endif // DASH_HOPPER_SWIZZLE_H
