//===- FileCache.h - slow results, stored for later processes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_FILECACHE_H
#define DASH_SUPPORT_FILECACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlir::dash {

/// Values by keys, one file each, in a folder of the user that runs this process.
///
/// A file of another user, a damaged or cut-off file, and a file of another key count as missing.
/// The folder and each file must belong to the user, and a file has its key and a hash of all it
/// holds. The key must state everything that determines the value, including the version of dash.
/// Files appear whole, so any number of processes may share a folder.
class FileCache {
public:
  /// Stores nothing if `folder` is empty. suffix: of the names of its files, such as ".order".
  FileCache(std::string folder, llvm::StringRef suffix)
      : folder(std::move(folder)), suffix(suffix) {}

  bool isOn() const { return !folder.empty(); }
  const std::string &getFolder() const { return folder; }

  std::optional<std::string> find(llvm::StringRef key) const;

  /// Creates the folder, with mode 0700, if it is missing. Drops the oldest files once all files
  /// exceed `mostBytes`.
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
