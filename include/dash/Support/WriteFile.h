//===- WriteFile.h - files written whole or not at all ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that writes to descriptors. LLVM's file streams end the process if they fail and
// their error is not checked. Other code collects text in memory and passes it here.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SUPPORT_WRITEFILE_H
#define DASH_SUPPORT_WRITEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::dash {

/// A new, closed file under a unique name. Its owner removes it unless it is kept. If the process
/// is killed, the file stays: a library must not catch signals.
///
/// It is never opened as standard input, output or error, even if the process has closed these:
/// otherwise output of another thread would go into it.
class TemporaryFile {
public:
  /// In the folder for temporary files. Errors name the file.
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix, llvm::StringRef bytes);
  /// In the folder of `path`, so that it can become that file. mode: such as 0600, less the
  /// process's mask. Errors name `path`.
  static llvm::Expected<TemporaryFile> createBeside(llvm::StringRef path, llvm::StringRef bytes,
                                                    unsigned mode = 0666);

  TemporaryFile(TemporaryFile &&other) : file(std::move(other.file)) { other.file.clear(); }
  TemporaryFile &operator=(TemporaryFile &&other) {
    std::swap(file, other.file);
    return *this;
  }
  ~TemporaryFile() { remove(); }

  llvm::StringRef path() const { return file; }
  /// Renames it to `path`, replacing any file there. Errors name it.
  llvm::Error keep(llvm::StringRef path);

private:
  explicit TemporaryFile(std::string file) : file(std::move(file)) {}
  void remove();
  std::string file; ///< empty once it is kept
};

/// Writes a file whole or not at all. The target of a link is replaced, not the link, and a file
/// keeps its mode. Pipes and devices are written directly; - is standard output. Errors name the
/// file: "'FILE': No space left on device".
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace mlir::dash

#endif // DASH_SUPPORT_WRITEFILE_H
