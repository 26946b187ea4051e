//===- Files.cpp - all of some files, or none -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is written to temporary files beside the final ones first; what can go wrong does so there.
// Then they are renamed. Should a rename fail all the same, those before it are undone from second names
// that old files were given.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::dash;
namespace fs = llvm::sys::fs;

namespace {

struct Pending {
  std::string target;    ///< the file itself, where the path is a link
  std::string temporary; ///< new content
  std::string backup;    ///< second name of the old content; empty where there was none
  bool isRenamed = false;

  llvm::Error prepare(const OutputFile &file);
  llvm::Error commit();
  void undo();
};

} // namespace

llvm::Error Pending::prepare(const OutputFile &file) {
  target = file.path;
  fs::file_status status;
  bool exists = !fs::status(file.path, status);
  if (exists && !fs::is_regular_file(status))
    return llvm::createStringError("'" + file.path + "': not a regular file");
  if (exists) {
    llvm::SmallString<128> real;
    if (std::error_code error = fs::real_path(file.path, real))
      return llvm::createFileError(file.path, error);
    target = real.str().str();
    // A rename asks the folder alone; whoever made the file read-only meant the file.
    if (std::error_code error = fs::access(target, fs::AccessMode::Write))
      return llvm::createFileError(file.path, error);
  }
  int descriptor;
  llvm::SmallString<128> path;
  if (std::error_code error = fs::createUniqueFile(target + ".%%%%%%%%.tmp", descriptor, path,
                                                   fs::OF_None, fs::all_read | fs::all_write))
    return llvm::createFileError(file.path, error);
  temporary = path.str().str();
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << file.bytes;
  os.close();
  if (std::error_code error = os.error()) { // a full disk
    os.clear_error();
    return llvm::createFileError(file.path, error);
  }
  if (!exists)
    return llvm::Error::success();
  fs::createUniquePath(target + ".%%%%%%%%.old", path, /*MakeAbsolute=*/false);
  std::string second = path.str().str();
  if (fs::create_hard_link(target, second)) // not every file system has second names
    if (std::error_code error = fs::copy_file(target, second))
      return llvm::createFileError(file.path, error);
  backup = second;
  return llvm::Error::success();
}

llvm::Error Pending::commit() {
  if (std::error_code error = fs::rename(temporary, target))
    return llvm::createFileError(target, error);
  temporary.clear();
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

llvm::Error mlir::dash::writeAllOrNone(llvm::ArrayRef<OutputFile> files) {
  std::vector<Pending> pending(files.size());
  llvm::Error error = llvm::Error::success();
  for (size_t i = 0; i < files.size() && !error; ++i)
    error = pending[i].prepare(files[i]);
  for (size_t i = 0; i < files.size() && !error; ++i)
    error = pending[i].commit();
  for (Pending &file : pending) {
    if (error)
      file.undo();
    if (!file.temporary.empty())
      fs::remove(file.temporary);
    if (!file.backup.empty())
      fs::remove(file.backup);
  }
  return error;
}
