//===- CacheFolder.cpp - the folder of caches -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/CacheFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

std::string mlir::dash::cacheFolder() {
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
