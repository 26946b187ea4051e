//===- CodeCache.cpp - assembled code on disk -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/CodeCache.h"
#include "dash/Support/CacheFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace mlir::dash::launch;

std::string mlir::dash::launch::hashOf(StringRef data) {
  return toHex(SHA256::hash(arrayRefFromStringRef(data)), /*LowerCase=*/true);
}

CodeCache CodeCache::ofEnvironment() { return CodeCache(FileCache(cacheFolder(), ".cubin")); }

static std::string versioned(const std::string &key) { return "dash code 3\n" + key; }

std::optional<std::string> CodeCache::find(const std::string &key) const {
  return files.find(versioned(key));
}

Outcome CodeCache::keep(const std::string &key, StringRef code) const {
  if (Error error = files.keep(versioned(key), code))
    return fail(DASH_DRIVER_ERROR,
                "cannot keep assembled code in '" + files.getFolder() +
                    "': " + toString(std::move(error)) +
                    "; every process assembles it again, unless the variable DASH_CACHE names "
                    "another folder, or is 'off'");
  return std::nullopt;
}
