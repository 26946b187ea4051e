//===- Files.cpp - write all of some files, or none -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First, everything is written to temporary files beside the final ones: most errors occur here.
// Then the files are renamed. If a rename fails, hard links to the old files undo those before it.
// A lock on each file keeps other writers out until the last rename, and signals wait as long. Only
// SIGKILL can leave files that do not match, and the hash in the manifest shows this to a reader.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include <array>
#include <csignal>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

using namespace mlir::dash;
namespace fs = llvm::sys::fs;

namespace {

/// Holds back signals that would end the process, and delivers them when it is destroyed. Only one
/// exists at a time.
class HeldSignals {
public:
  HeldSignals() {
    received = 0;
    struct sigaction hold = {}; // without SA_RESTART, so that waiting for a lock ends
    hold.sa_handler = [](int signal) { received = signal; };
    for (auto [signal, old] : llvm::zip_equal(signals, olds))
      if (!sigaction(signal, nullptr, &old) && old.sa_handler != SIG_IGN)
        sigaction(signal, &hold, nullptr);
  }
  ~HeldSignals() {
    for (auto [signal, old] : llvm::zip_equal(signals, olds))
      sigaction(signal, &old, nullptr);
    if (int signal = received)
      raise(signal);
  }
  static bool isInterrupted() { return received != 0; }

private:
  /// A file that grows past its limit raises a signal too, and then an error of the write.
  static constexpr std::array signals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
  std::array<struct sigaction, signals.size()> olds;
  static inline volatile std::sig_atomic_t received = 0;
};

/// Keeps other writers of a file out by a lock file beside it. The lock file is removed in the end.
class FileLock {
public:
  static llvm::Expected<FileLock> take(llvm::StringRef path);
  FileLock(FileLock &&other)
      : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)) {}
  ~FileLock() { release(/*isOurs=*/true); }

private:
  explicit FileLock(llvm::StringRef file) : path((file + ".lock").str()) {}
  std::error_code open();
  void release(bool isOurs) {
    if (descriptor < 0)
      return;
    if (isOurs)
      fs::remove(path);
    close(std::exchange(descriptor, -1));
  }

  std::string path;
  int descriptor = -1;
};

struct Pending {
  std::string target;                     ///< the file itself, if the path is a link
  std::optional<TemporaryFile> temporary; ///< new content
  std::string backup;                     ///< hard link to the old content; empty if there was none
  bool isRenamed = false;

  llvm::Error findTarget(llvm::StringRef path);
  llvm::Error prepare(llvm::StringRef bytes);
  llvm::Error commit();
  void undo();
  void cleanUp();
};

} // namespace

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

/// Opens the lock's file and waits until it is ours.
std::error_code FileLock::open() {
  if (std::error_code error = fs::openFileForReadWrite(path, descriptor, fs::CD_OpenAlways,
                                                       fs::OF_None, fs::all_read | fs::all_write))
    return error;
  while (flock(descriptor, LOCK_EX) != 0)
    if (errno != EINTR || HeldSignals::isInterrupted())
      return std::error_code(errno, std::generic_category());
  return std::error_code();
}

llvm::Expected<FileLock> FileLock::take(llvm::StringRef file) {
  while (true) {
    FileLock lock(file);
    if (std::error_code error = lock.open()) {
      bool isThere = fs::exists(lock.path);
      lock.release(/*isOurs=*/error != std::errc::interrupted);
      return llvm::createFileError(isThere ? lock.path : file, error);
    }
    // The previous owner has removed the file, so a lock on it keeps no one out.
    fs::file_status ours, current;
    if (!fs::status(lock.descriptor, ours) && !fs::status(lock.path, current) &&
        ours.getUniqueID() == current.getUniqueID())
      return lock;
    lock.release(/*isOurs=*/false);
  }
}

static llvm::Expected<std::vector<FileLock>> lockAll(llvm::ArrayRef<Pending> files) {
  std::vector<std::string> targets;
  for (const Pending &file : files)
    targets.push_back(file.target);
  llvm::sort(targets); // all writers use one order, so that none waits for another in a circle
  if (auto same = std::adjacent_find(targets.begin(), targets.end()); same != targets.end())
    return llvm::createStringError("'" + *same + "': two outputs are this file");
  std::vector<FileLock> locks;
  for (const std::string &target : targets) {
    llvm::Expected<FileLock> lock = FileLock::take(target);
    if (!lock)
      return lock.takeError();
    locks.push_back(std::move(*lock));
  }
  return locks;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Error Pending::findTarget(llvm::StringRef path) {
  target = path.str();
  fs::file_status status;
  if (fs::status(path, status))
    return llvm::Error::success();
  if (!fs::is_regular_file(status))
    return llvm::createStringError("'" + path + "': not a regular file");
  llvm::SmallString<128> real;
  if (std::error_code error = fs::real_path(path, real))
    return llvm::createFileError(path, error);
  target = real.str().str();
  // A rename checks only the folder. A read-only file states that it must not be replaced.
  if (std::error_code error = fs::access(target, fs::AccessMode::Write))
    return llvm::createFileError(path, error);
  return llvm::Error::success();
}

llvm::Error Pending::prepare(llvm::StringRef bytes) {
  llvm::Expected<TemporaryFile> made = TemporaryFile::createBeside(target, bytes);
  if (!made)
    return made.takeError();
  temporary = std::move(*made);
  if (!fs::exists(target))
    return llvm::Error::success();
  llvm::SmallString<128> path;
  fs::createUniquePath(target + ".%%%%%%%%.old", path, /*MakeAbsolute=*/false);
  backup = path.str().str();
  if (fs::create_hard_link(target, backup)) // not every file system has hard links
    if (std::error_code error = fs::copy_file(target, backup))
      return llvm::createFileError(target, error);
  return llvm::Error::success();
}

llvm::Error Pending::commit() {
  if (llvm::Error error = temporary->keep(target))
    return error;
  isRenamed = true;
  return llvm::Error::success();
}

void Pending::undo() {
  if (!isRenamed)
    return;
  if (backup.empty())
    fs::remove(target);
  else if (!fs::rename(backup, target))
    backup.clear();
}

void Pending::cleanUp() {
  temporary.reset();
  if (!backup.empty())
    fs::remove(backup);
}

llvm::Error mlir::dash::writeAllOrNone(llvm::ArrayRef<OutputFile> files) {
  static std::mutex mutex; // signals belong to the process
  std::lock_guard<std::mutex> guard(mutex);
  HeldSignals signals;
  std::vector<Pending> pending(files.size());
  for (auto [file, output] : llvm::zip_equal(pending, files))
    if (llvm::Error error = file.findTarget(output.path))
      return error;
  llvm::Expected<std::vector<FileLock>> locks = lockAll(pending);
  if (!locks)
    return locks.takeError();
  llvm::Error error = llvm::Error::success();
  for (size_t i = 0; i < files.size() && !error; ++i)
    error = pending[i].prepare(files[i].bytes);
  if (!error && HeldSignals::isInterrupted())
    error = llvm::errorCodeToError(std::make_error_code(std::errc::interrupted));
  for (size_t i = 0; i < files.size() && !error; ++i)
    error = pending[i].commit();
  for (Pending &file : pending) {
    if (error)
      file.undo();
    file.cleanUp();
  }
  return error;
}
