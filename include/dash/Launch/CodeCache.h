//===- CodeCache.h - assembled code on disk ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembling takes seconds, so its results are stored for later processes
// (dash/Support/FileCache.h).
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_CODECACHE_H
#define DASH_LAUNCH_CODECACHE_H

#include "dash/Launch/Outcome.h"
#include "dash/Support/FileCache.h"

namespace mlir::dash::launch {

class CodeCache {
public:
  /// A cache in the folder of the environment's DASH_CACHE, or else in the user's ~/.cache/dash;
  /// none if DASH_CACHE is "off".
  static CodeCache ofEnvironment();

  bool isOn() const { return files.isOn(); }

  /// key: lines of text that identify the program and the target of the code.
  std::optional<std::string> find(const std::string &key) const;

  /// Writes the whole file or nothing, also with several writers.
  Outcome keep(const std::string &key, llvm::StringRef code) const;

private:
  explicit CodeCache(FileCache files) : files(std::move(files)) {}

  FileCache files;
};

/// Code that was assembled ahead of the first call, from the PTX of this hash: by
/// `python3 -m dash_attn.cubin --all`, in the folder `programs` beside libdash or among the user's
/// cached files. Nothing where the file is damaged, or another user wrote it.
std::optional<std::string> findKept(llvm::StringRef ptxHash);

/// sha256 in hexadecimal digits.
std::string hashOf(llvm::StringRef data);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_CODECACHE_H
