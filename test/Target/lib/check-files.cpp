//===- check-files.cpp - files whole or not at all ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system's call to write is replaced by one that is interrupted, writes less than it was asked
// to, or finds the disk full.
//
//===----------------------------------------------------------------------===//

#include "dash/Support/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace mlir::dash;
namespace fs = llvm::sys::fs;

static bool isWatched = false;
static int calls = 0, leastDescriptor = 0, room = 0;

extern "C" ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (!isWatched)
    return syscall(SYS_write, descriptor, bytes, count);
  leastDescriptor = std::min(leastDescriptor, descriptor);
  if (++calls % 2) {
    errno = EINTR;
    return -1;
  }
  if (!room) {
    errno = ENOSPC;
    return -1;
  }
  --room;
  return syscall(SYS_write, descriptor, bytes, std::min<size_t>(count, 3));
}

/// Writes with room for so many calls of at most 3 bytes; what went wrong, in words.
static std::string writeWithRoom(int bytesOverThree, StringRef path, StringRef bytes) {
  room = bytesOverThree;
  leastDescriptor = 1000;
  isWatched = true;
  Error error = writeFile(path, bytes);
  isWatched = false;
  return toString(std::move(error));
}

static std::string read(StringRef path) {
  return (*MemoryBuffer::getFile(path))->getBuffer().str();
}

static int filesIn(StringRef folder) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    ++count;
  return count;
}

static void expect(bool isTrue, const Twine &what) {
  if (isTrue)
    return;
  errs() << "check-files: error: expected " << what << "\n";
  exit(1);
}

int main(int argc, char **argv) {
  std::string folder = argv[1], file = folder + "/file", link = folder + "/link";
  expect(writeWithRoom(4, file, "0123456789") == "", "interrupted and short writes to go on");
  expect(read(file) == "0123456789" && filesIn(folder) == 1, "all bytes, in one file");

  std::string full = writeWithRoom(2, file, "another text");
  expect(full == "'" + file + "': No space left on device",
         "a full disk to be an error, found " + full);
  expect(read(file) == "0123456789" && filesIn(folder) == 1,
         "the old file as it was, and no other");
  std::string none = writeWithRoom(9, folder + "/none/file", "text");
  expect(none == "'" + folder + "/none/file': No such file or directory",
         "no folder to be an error, found " + none);

  expect(!fs::create_link(file, link) && !fs::setPermissions(file, fs::perms(0640)), "a link");
  expect(writeWithRoom(9, link, "by the link") == "" && read(file) == "by the link",
         "the target of a link written");
  expect(fs::is_symlink_file(link), "the link to stay one");
  expect(*fs::getPermissions(file) == fs::perms(0640), "the file to keep its mode");

  // Devices are written as they come, and nothing is put in their place.
  expect(writeWithRoom(0, "/dev/null", "text") == "'/dev/null': No space left on device",
         "an error of a device");
  expect(!fs::is_regular_file("/dev/null"), "a device to stay one");

  // A process without standard output: its number is not taken by what is written.
  int kept = dup(STDERR_FILENO);
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    close(descriptor);
  std::string closed = writeWithRoom(9, file, "closed");
  int least = leastDescriptor, isOpen = fcntl(STDIN_FILENO, F_GETFD) != -1;
  {
    room = 9;
    isWatched = true;
    Expected<TemporaryFile> scratch = TemporaryFile::create("txt", "scratch");
    isWatched = false;
    dup2(kept, STDERR_FILENO);
    expect(bool(scratch) && read(scratch->path()) == "scratch", "a temporary file");
    file = scratch->path().str();
  }
  expect(closed == "" && std::min(least, leastDescriptor) > STDERR_FILENO && !isOpen,
         "no standard descriptor written to, nor left open");
  expect(!fs::exists(file), "a temporary file to be gone with its owner");
  return 0;
}
