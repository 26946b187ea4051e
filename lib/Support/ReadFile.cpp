//===- ReadFile.cpp - untrusted files -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/ReadFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

static Error refuse(const Twine &why) { return createStringError(inconvertibleErrorCode(), why); }

static Error tooLarge(uint64_t bytes, uint64_t mostBytes) {
  return refuse("it has " + Twine(bytes) + " bytes, expected at most " + Twine(mostBytes));
}

/// The reason why an opened file cannot be read.
static Error check(const sys::fs::file_status &status, uint64_t mostBytes,
                   mlir::dash::FileOwner owner) {
  if (sys::fs::is_directory(status))
    return errorCodeToError(std::make_error_code(std::errc::is_a_directory));
  if (!sys::fs::is_regular_file(status))
    return refuse("it is a pipe or a device, expected a regular file");
  if (owner == mlir::dash::FileOwner::User && status.getUser() != geteuid())
    return refuse("it belongs to user " + Twine(status.getUser()) + ", expected user " +
                  Twine(geteuid()) + ", which runs this process");
  if (status.getSize() > mostBytes)
    return tooLarge(status.getSize(), mostBytes);
  return Error::success();
}

Expected<std::string> mlir::dash::readFile(const Twine &path, uint64_t mostBytes, FileOwner owner) {
  SmallString<256> name;
  StringRef file = path.toNullTerminatedStringRef(name);
  // LLVM's functions do not offer these flags. O_NONBLOCK has no effect on a regular file.
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (owner == FileOwner::User)
    flags |= O_NOFOLLOW;
  int descriptor = sys::RetryAfterSignal(-1, [&] { return ::open(file.data(), flags); });
  if (descriptor < 0) {
    if (errno == ELOOP && owner == FileOwner::User)
      return refuse("it is a symbolic link, expected a regular file");
    return errorCodeToError(errnoAsErrorCode());
  }
  llvm::scope_exit close([&] { ::close(descriptor); });
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(descriptor, status))
    return errorCodeToError(error);
  if (Error wrong = check(status, mostBytes, owner))
    return std::move(wrong);

  // The size is only a start: it may change, and kernel files report 0.
  std::string content(status.getSize() + 1, '\0');
  size_t filled = 0;
  while (true) {
    Expected<size_t> read = sys::fs::readNativeFile(
        descriptor, MutableArrayRef(content.data() + filled, content.size() - filled));
    if (!read)
      return read.takeError();
    filled += *read;
    if (filled > mostBytes)
      return tooLarge(filled, mostBytes);
    if (*read == 0)
      break;
    if (filled == content.size())
      content.resize(std::max<size_t>(2 * filled, 4096));
  }
  content.resize(filled);
  return std::move(content);
}
