//===- WriteFile.h - files that are made, whole or not at all --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that writes to descriptors. LLVM's streams to files end the process where they fail and nobody has asked them
// for their error; elsewhere text is collected in memory, and handed over here.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SUPPORT_WRITEFILE_H
#define DASH_SUPPORT_WRITEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::dash {

/// A new file under a name that nobody else has, closed, and gone with its owner unless it is kept. Whatever ends the process leaves
/// it: a library has no signals to catch.
///
/// It is never opened as standard input, output or error, not even where the process has closed these: what another thread
/// prints would be part of it.
class TemporaryFile {
public:
  /// In the folder for temporary files. Errors name the file.
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix, llvm::StringRef bytes);
  /// In the folder of `path`, so that it can become that file. mode: such as 0600, less the process's mask. Errors name `path`.
  static llvm::Expected<TemporaryFile> createBeside(llvm::StringRef path, llvm::StringRef bytes,
                                                    unsigned mode = 0666);

  TemporaryFile(TemporaryFile &&other) : file(std::move(other.file)) { other.file.clear(); }
  TemporaryFile &operator=(TemporaryFile &&other) {
    std::swap(file, other.file);
    return *this;
  }
  ~TemporaryFile() { remove(); }

  llvm::StringRef path() const { return file; }
  /// Becomes `path`, in place of what is there. Errors name it.
  llvm::Error keep(llvm::StringRef path);

private:
  explicit TemporaryFile(std::string file) : file(std::move(file)) {}
  void remove();
  std::string file; ///< empty once it is kept
};

/// Writes a file whole or not at all. What a link points to is replaced, not the link, and a file keeps its mode. Pipes
/// and devices are written as they come; - is standard output. Errors name the file: "'FILE': No space left on device".
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace mlir::dash

#endif // DASH_SUPPORT_WRITEFILE_H
