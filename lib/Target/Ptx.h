//===- Ptx.h - a kernel module as PTX text ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_PTX_H
#define DASH_LIB_TARGET_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dash {

/// Registers what the translation needs from dialects.
void registerPtxTranslations(DialectRegistry &registry);

/// Translates a kernel module to PTX for its target. Fails, with an error at the module, if there
/// is no target or an op has no translation.
FailureOr<std::string> translateToPtx(gpu::GPUModuleOp module);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_PTX_H
