//===- WriteFile.cpp - files written whole or not at all ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/WriteFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
namespace fs = llvm::sys::fs;

/// Writes everything and closes the descriptor.
static std::error_code writeAndClose(int descriptor, StringRef bytes) {
  if (descriptor <= STDERR_FILENO) { // a standard descriptor that the process had closed
    int other = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    std::error_code error = errnoAsErrorCode();
    ::close(descriptor);
    if (other < 0)
      return error;
    descriptor = other;
  }
  std::error_code error;
  while (!bytes.empty() && !error) {
    ssize_t written =
        sys::RetryAfterSignal(-1, [&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written < 0)
      error = errnoAsErrorCode();
    else
      bytes = bytes.drop_front(written);
  }
  if (::close(descriptor) && !error) // some file systems report a full disk late
    error = errnoAsErrorCode();
  return error;
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

namespace mlir::dash {

Expected<TemporaryFile> TemporaryFile::create(StringRef suffix, StringRef bytes) {
  SmallString<128> path;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  sys::path::append(path, "dash-%%%%%%%%%%%%." + suffix);
  int descriptor = -1;
  if (std::error_code error = fs::createUniqueFile(path, descriptor, path, fs::OF_None,
                                                   fs::owner_read | fs::owner_write))
    return createFileError(path, error);
  TemporaryFile made(std::string(path.str()));
  if (std::error_code error = writeAndClose(descriptor, bytes))
    return createFileError(path, error);
  return std::move(made);
}

Expected<TemporaryFile> TemporaryFile::createBeside(StringRef path, StringRef bytes,
                                                    unsigned mode) {
  SmallString<128> part;
  int descriptor = -1;
  if (std::error_code error =
          fs::createUniqueFile(path + ".%%%%%%%%%%%%.part", descriptor, part, fs::OF_None, mode))
    return createFileError(path, error);
  TemporaryFile made(std::string(part.str()));
  if (std::error_code error = writeAndClose(descriptor, bytes))
    return createFileError(path, error);
  return std::move(made);
}

void TemporaryFile::remove() {
  if (!file.empty())
    (void)fs::remove(file);
  file.clear();
}

Error TemporaryFile::keep(StringRef path) {
  if (std::error_code error = fs::rename(file, path))
    return createFileError(path, error);
  file.clear();
  return Error::success();
}

} // namespace mlir::dash

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Through LLVM's stream, so it follows everything already printed there.
static std::error_code print(StringRef bytes) {
  raw_fd_ostream &os = outs();
  os << bytes;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

Error mlir::dash::writeFile(StringRef path, StringRef bytes) {
  if (path == "-") {
    if (std::error_code error = print(bytes))
      return createStringError(error, "standard output: " + error.message());
    return Error::success();
  }
  fs::file_status status;
  bool exists = !fs::status(path, status);
  if (exists && !fs::is_regular_file(status)) {
    int descriptor = -1;
    std::error_code error = fs::openFileForWrite(path, descriptor, fs::CD_OpenExisting);
    if (!error)
      error = writeAndClose(descriptor, bytes);
    return error ? createFileError(path, error) : Error::success();
  }
  SmallString<128> target = path;
  if (exists) {
    if (std::error_code error = fs::real_path(path, target))
      return createFileError(path, error);
    // A rename checks only the folder. A read-only file states that it must not be replaced.
    if (std::error_code error = fs::access(target, fs::AccessMode::Write))
      return createFileError(path, error);
  }
  Expected<TemporaryFile> part = TemporaryFile::createBeside(target, bytes);
  if (!part)
    return createFileError(path, errorToErrorCode(part.takeError()));
  if (exists)
    if (std::error_code error = fs::setPermissions(part->path(), status.permissions()))
      return createFileError(path, error);
  return part->keep(target);
}
