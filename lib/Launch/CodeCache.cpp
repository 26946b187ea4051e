//===- CodeCache.cpp - assembled code on disk -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is called by the hash of its key. It has the key, the hash of the code, and the code:
//
//   dash code 1
//   KEY
//   sha256 HASH
//   CODE
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/CodeCache.h"
#include "dash/Support/CacheFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::dash::launch;

static constexpr uint64_t mostBytes = 1 << 28;

std::string mlir::dash::launch::hashOf(StringRef data) {
  return toHex(SHA256::hash(arrayRefFromStringRef(data)), /*LowerCase=*/true);
}

CodeCache CodeCache::ofEnvironment() {
  CodeCache cache;
  cache.folder = cacheFolder();
  return cache;
}

static std::string pathOf(const std::string &folder, const std::string &key) {
  SmallString<256> path(folder);
  sys::path::append(path, hashOf(key) + ".cubin");
  return path.str().str();
}

static std::string headOf(const std::string &key) { return "dash code 1\n" + key + "\nsha256 "; }

/// Others could put their code into a folder that everybody may write to.
static bool isOfEverybody(const sys::fs::file_status &status) {
  return (status.permissions() & sys::fs::others_write) != 0;
}

std::optional<std::string> CodeCache::find(const std::string &key) const {
  sys::fs::file_status status;
  std::string path = pathOf(folder, key);
  if (sys::fs::status(folder, status) || isOfEverybody(status) || sys::fs::status(path, status) ||
      !sys::fs::is_regular_file(status) || status.getSize() > mostBytes)
    return std::nullopt;
  auto file =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                            /*IsVolatile=*/true); // read, not mapped: it may be cut off meanwhile
  if (!file)
    return std::nullopt;
  StringRef content = (*file)->getBuffer();
  constexpr size_t hashBytes = 64;
  if (!content.consume_front(headOf(key)) || content.size() <= hashBytes ||
      content[hashBytes] != '\n')
    return std::nullopt;
  StringRef hash = content.take_front(hashBytes), code = content.drop_front(hashBytes + 1);
  if (hashOf(code) != hash)
    return std::nullopt;
  return code.str();
}

Outcome CodeCache::keep(const std::string &key, StringRef code) const {
  auto refuse = [&](const Twine &why) {
    return fail(DASH_DRIVER_ERROR,
                "cannot keep assembled code in '" + folder + "': " + why +
                    "; every process assembles it again, unless the variable DASH_CACHE names "
                    "another folder, or is 'off'");
  };
  sys::fs::file_status status;
  std::error_code error =
      sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::owner_all);
  if (!error)
    error = sys::fs::status(folder, status);
  if (error)
    return refuse(error.message());
  if (isOfEverybody(status))
    return refuse("everybody may write to it");

  SmallString<256> part(folder);
  sys::path::append(part, "%%%%%%%%%%%%.part");
  int descriptor = -1;
  if ((error = sys::fs::createUniqueFile(part, descriptor, part, sys::fs::OF_None,
                                         sys::fs::owner_read | sys::fs::owner_write)))
    return refuse(error.message());
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << headOf(key) << hashOf(code) << '\n' << code;
  stream.close();
  error = stream.error();
  stream.clear_error();
  if (!error)
    error = sys::fs::rename(part, pathOf(folder, key));
  if (!error)
    return std::nullopt;
  sys::fs::remove(part);
  return refuse(error.message());
}
