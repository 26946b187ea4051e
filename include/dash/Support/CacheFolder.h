//===- CacheFolder.h - the folder of caches ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_CACHEFOLDER_H
#define DASH_SUPPORT_CACHEFOLDER_H

#include <string>

namespace mlir::dash {

/// The folder of the environment's DASH_CACHE, or else $XDG_CACHE_HOME/dash, or else ~/.cache/dash.
/// Empty if DASH_CACHE is "off", or if there is no home.
std::string cacheFolder();

} // namespace mlir::dash

#endif // DASH_SUPPORT_CACHEFOLDER_H
