//===- Ptx.h - a kernel module as PTX text ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_PTX_H
#define DASH_LIB_TARGET_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dash {

/// What the translation asks of dialects, for the pass that translates.
void registerPtxTranslations(DialectRegistry &registry);

/// Translates a kernel module to PTX for its target. Fails, with an error at the module, without a
/// target or where an op of it has no translation.
FailureOr<std::string> translateToPtx(gpu::GPUModuleOp module);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_PTX_H
