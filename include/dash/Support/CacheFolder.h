//===- CacheFolder.h - where what took long is kept ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_CACHEFOLDER_H
#define DASH_SUPPORT_CACHEFOLDER_H

#include <string>

namespace mlir::dash {

/// The folder that the environment's DASH_CACHE names, or else $XDG_CACHE_HOME/dash, or else ~/.cache/dash. Empty
/// where DASH_CACHE says "off", or there is no home.
std::string cacheFolder();

} // namespace mlir::dash

#endif // DASH_SUPPORT_CACHEFOLDER_H
