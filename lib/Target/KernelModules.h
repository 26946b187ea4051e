//===- KernelModules.h - the gpu.modules that are ours ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_KERNELMODULES_H
#define DASH_LIB_TARGET_KERNELMODULES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dash {

/// The kernel modules below `root`, in the order of the text: those that Lowering made. A host may have
/// other `gpu.module`s, which are none of our business.
SmallVector<gpu::GPUModuleOp> kernelModules(Operation *root);

/// The functions of a kernel module that are launched, in the order of the text, which is that of
/// their launches.
SmallVector<Operation *> entriesOf(gpu::GPUModuleOp module);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_KERNELMODULES_H
