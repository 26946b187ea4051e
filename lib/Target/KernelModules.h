//===- KernelModules.h - the gpu.modules of dash ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_KERNELMODULES_H
#define DASH_LIB_TARGET_KERNELMODULES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dash {

/// The kernel modules below `root` that dash's lowering made, in textual order. The host may have
/// other `gpu.module`s; these are skipped.
SmallVector<gpu::GPUModuleOp> kernelModules(Operation *root);

/// The functions of a kernel module that are launched, in textual order, which is the order of
/// launches.
SmallVector<Operation *> entriesOf(gpu::GPUModuleOp module);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_KERNELMODULES_H
