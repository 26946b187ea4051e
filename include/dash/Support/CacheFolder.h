//===- CacheFolder.h - where what took long is kept ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_CACHEFOLDER_H
#define DASH_SUPPORT_CACHEFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <string>

namespace mlir::dash {

/// The folder that the environment's DASH_CACHE names, or else $XDG_CACHE_HOME/dash, or else ~/.cache/dash. Empty
/// where DASH_CACHE says "off", or there is no home.
inline std::string cacheFolder() {
  if (const char *named = std::getenv("DASH_CACHE"); named && *named)
    return llvm::StringRef(named) == "off" ? "" : named;
  llvm::SmallString<128> folder;
  if (const char *caches = std::getenv("XDG_CACHE_HOME"); caches && *caches == '/')
    folder = llvm::StringRef(caches);
  else if (const char *home = std::getenv("HOME"); home && *home == '/')
    llvm::sys::path::append(folder, home, ".cache");
  else
    return "";
  llvm::sys::path::append(folder, "dash");
  return std::string(folder);
}

} // namespace mlir::dash

#endif // DASH_SUPPORT_CACHEFOLDER_H
