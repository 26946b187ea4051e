//===- FileCache.h - what took long, kept for later processes --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_FILECACHE_H
#define DASH_SUPPORT_FILECACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlir::dash {

/// Values by their keys, a file for each, in a folder of the user who runs this process.
///
/// What was kept by another user, what is damaged or cut off, and what is of another key is as good as none: the folder and each file must
/// belong to the user, and a file has its key, and a hash of all that it holds. The key has to say all that the value follows from, and
/// which version of dash made it. Files appear whole, so that any number of processes may share a folder.
class FileCache {
public:
  /// Keeps nothing where `folder` is empty. suffix: of the names of its files, such as ".order".
  FileCache(std::string folder, llvm::StringRef suffix)
      : folder(std::move(folder)), suffix(suffix) {}

  bool isOn() const { return !folder.empty(); }
  const std::string &getFolder() const { return folder; }

  std::optional<std::string> find(llvm::StringRef key) const;

  /// Makes the folder, with mode 0700, where it is not there. What has been kept longest goes once the files take more than `mostBytes`.
  llvm::Error keep(llvm::StringRef key, llvm::StringRef value) const;

  static constexpr uint64_t mostBytes = uint64_t(1) << 30;

private:
  std::string pathOf(llvm::StringRef key) const;
  llvm::Error checkFolder() const;
  void trim() const;

  std::string folder, suffix;
};

} // namespace mlir::dash

#endif // DASH_SUPPORT_FILECACHE_H
