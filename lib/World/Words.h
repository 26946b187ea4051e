//===- Words.h - names in files ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_WORDS_H
#define DASH_LIB_WORLD_WORDS_H

namespace mlir::dash::world {

/// Indexed by Stage.
inline constexpr const char *stageNames[] = {"server", "node", "home"};

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_WORDS_H
