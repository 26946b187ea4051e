//===- CodeCache.h - assembled code on disk ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assemblers take seconds, so what was assembled is kept for later processes (dash/Support/FileCache.h).
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_CODECACHE_H
#define DASH_LAUNCH_CODECACHE_H

#include "dash/Launch/Outcome.h"
#include "dash/Support/FileCache.h"

namespace mlir::dash::launch {

class CodeCache {
public:
  /// In the folder that the environment's DASH_CACHE names, or the user's ~/.cache/dash; none where it says "off".
  static CodeCache ofEnvironment();

  bool isOn() const { return files.isOn(); }

  /// key: lines of text that say what the code is of, and for what.
  std::optional<std::string> find(const std::string &key) const;

  /// Whole or not at all, also with several writers.
  Outcome keep(const std::string &key, llvm::StringRef code) const;

private:
  explicit CodeCache(FileCache files) : files(std::move(files)) {}

  FileCache files;
};

/// sha256 in hexadecimal digits.
std::string hashOf(llvm::StringRef data);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_CODECACHE_H
