//===- Refuse.h - how the world refuses -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_REFUSE_H
#define DASH_LIB_WORLD_REFUSE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dash::world {

template <typename... Args> llvm::Error refuse(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_REFUSE_H
