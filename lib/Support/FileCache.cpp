//===- FileCache.cpp - slow results, stored for later processes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file's name is the hash of its key. Its content:
//
//   blake3 HASH     of everything after this line
//   key BYTES       of the key
//   KEY
//   VALUE
//
// The hash detects damage by a full disk, a crash or a copy. So files are renamed without a flush
// to the disk. The owner of a file shows that no other user wrote it.
//
//===----------------------------------------------------------------------===//

#include "dash/Support/FileCache.h"
#include "dash/Support/ReadFile.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <chrono>
#include <unistd.h>

using namespace llvm;
using mlir::dash::FileCache;
using mlir::dash::TemporaryFile;
namespace fs = llvm::sys::fs;

static constexpr StringLiteral partSuffix = ".part"; // of temporary files during a write

static std::string hashOf(StringRef bytes) {
  return toHex(BLAKE3::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

static std::string headOf(StringRef key) {
  return ("key " + Twine(key.size()) + "\n" + key + "\n").str();
}

std::string FileCache::pathOf(StringRef key) const {
  SmallString<256> path(folder);
  sys::path::append(path, hashOf(key) + suffix);
  return std::string(path);
}

/// Other users could put files into a folder of theirs, or take ours away.
Error FileCache::checkFolder() const {
  fs::file_status status;
  if (std::error_code error = fs::status(folder, status))
    return errorCodeToError(error);
  if (!fs::is_directory(status))
    return errorCodeToError(std::make_error_code(std::errc::not_a_directory));
  if (status.getUser() == geteuid())
    return Error::success();
  return createStringError("it belongs to user " + Twine(status.getUser()) + ", expected user " +
                           Twine(geteuid()) + ", which runs this process");
}

std::optional<std::string> FileCache::find(StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  if (Error wrong = checkFolder()) {
    consumeError(std::move(wrong));
    return std::nullopt;
  }
  Expected<std::string> content = readFile(pathOf(key), mostBytes, FileOwner::User);
  if (!content) {
    consumeError(content.takeError());
    return std::nullopt;
  }
  auto [hash, body] = StringRef(*content).split('\n');
  if (!hash.consume_front("blake3 ") || hash != hashOf(body) || !body.consume_front(headOf(key)))
    return std::nullopt;
  content->erase(0, content->size() - body.size());
  return std::move(*content);
}

Error FileCache::keep(StringRef key, StringRef value) const {
  if (folder.empty())
    return Error::success();
  std::string body = (headOf(key) + value).str();
  std::string first = "blake3 " + hashOf(body) + '\n', path = pathOf(key);
  if (uint64_t bytes = first.size() + body.size(); bytes > mostBytes)
    return createStringError("it takes " + Twine(bytes) + " bytes, expected at most " +
                             Twine(mostBytes));
  if (std::error_code error =
          fs::create_directories(folder, /*IgnoreExisting=*/true, fs::owner_all))
    return errorCodeToError(error);
  if (Error wrong = checkFolder())
    return wrong;

  // The name cannot be guessed, and an existing file is never opened.
  Expected<TemporaryFile> part =
      TemporaryFile::createBeside(path, first + body, fs::owner_read | fs::owner_write);
  if (!part)
    // the caller adds the folder's name
    return errorCodeToError(errorToErrorCode(part.takeError()));
  if (Error wrong = part->keep(path))
    return errorCodeToError(errorToErrorCode(std::move(wrong)));
  // Scanning the folder takes longer than writing a file. One key in 16 pays for all: those whose
  // hash begins so.
  if (sys::path::filename(path).front() == '0' || body.size() > mostBytes / 16)
    trim();
  return Error::success();
}

/// Ignores failures: another process may have been faster.
void FileCache::trim() const {
  using Time = sys::TimePoint<>;
  constexpr auto longest = std::chrono::hours(1); // the longest time that writing a file may take
  Time abandoned = std::chrono::system_clock::now() - longest;
  std::vector<std::tuple<Time, std::string, uint64_t>> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error, /*follow_symlinks=*/false), end;
       !error && at != end; at.increment(error)) {
    ErrorOr<fs::basic_file_status> status = at->status();
    if (!status || status->type() != fs::file_type::regular_file)
      continue;
    Time written = status->getLastModificationTime();
    StringRef path = at->path();
    if (path.ends_with(partSuffix)) { // its writer was killed
      if (written < abandoned)
        (void)fs::remove(path);
    } else if (path.ends_with(suffix)) {
      files.emplace_back(written, path, status->getSize());
      bytes += status->getSize();
    }
  }
  llvm::sort(files);
  for (const auto &[written, path, size] : files) {
    if (bytes <= mostBytes)
      return;
    (void)fs::remove(path);
    bytes -= size;
  }
}
