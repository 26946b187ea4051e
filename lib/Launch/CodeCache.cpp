//===- CodeCache.cpp - assembled code on disk -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/CodeCache.h"
#include "dash/Support/CacheFolder.h"
#include "dash/Support/Limits.h"
#include "dash/Support/ReadFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <dlfcn.h>

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

std::string mlir::dash::launch::hashOf(StringRef data) {
  return toHex(SHA256::hash(arrayRefFromStringRef(data)), /*LowerCase=*/true);
}

CodeCache CodeCache::ofEnvironment() { return CodeCache(FileCache(cacheFolder(), ".cubin")); }

static std::string versioned(const std::string &key) { return "dash code 3\n" + key; }

std::optional<std::string> CodeCache::find(const std::string &key) const {
  return files.find(versioned(key));
}

/// The folder of the library that this code is in. Empty where it is not known as a whole path.
static StringRef libraryFolder() {
  Dl_info about;
  if (!dladdr(reinterpret_cast<const void *>(&libraryFolder), &about) || !about.dli_fname)
    return "";
  StringRef path = about.dli_fname;
  return sys::path::is_absolute(path) ? sys::path::parent_path(path) : "";
}

/// A kept file begins with the line `sha256 HASH`, of everything after it.
static std::optional<std::string> readKept(StringRef folder, const Twine &name, FileOwner owner) {
  if (folder.empty())
    return std::nullopt;
  SmallString<256> path(folder);
  sys::path::append(path, "programs", name);
  Expected<std::string> content = readFile(path, maxCubinBytes, owner);
  if (!content) {
    consumeError(content.takeError());
    return std::nullopt;
  }
  auto [hash, code] = StringRef(*content).split('\n');
  if (!hash.consume_front("sha256 ") || hash != hashOf(code))
    return std::nullopt;
  content->erase(0, content->size() - code.size());
  return std::move(*content);
}

std::optional<std::string> mlir::dash::launch::findKept(StringRef ptxHash) {
  // The folder beside libdash is trusted as libdash is.
  std::optional<std::string> code =
      readKept(libraryFolder(), ptxHash + ".cubin", FileOwner::Anyone);
  return code ? code : readKept(cacheFolder(), ptxHash + ".cubin", FileOwner::User);
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
