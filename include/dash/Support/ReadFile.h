//===- ReadFile.h - untrusted files -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_READFILE_H
#define DASH_SUPPORT_READFILE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace mlir::dash {

/// The owners from which a file is accepted.
enum class FileOwner {
  Anyone, ///< any owner: its content is checked; links are followed
  /// only the user that runs this process; links are refused, because any user may own their target
  User
};

/// The bytes of a regular file of at most `mostBytes`, or the reason why they cannot be read,
/// without the path: "No such file or directory".
///
/// The file is opened once, and every check is made on the open file. Only regular files are read,
/// so this never waits for a pipe or a device. The size is checked before memory is allocated. The
/// file is read, not mapped: if another process shortens it meanwhile, there are fewer bytes but no
/// SIGBUS.
llvm::Expected<std::string> readFile(const llvm::Twine &path, uint64_t mostBytes,
                                     FileOwner owner = FileOwner::Anyone);

} // namespace mlir::dash

#endif // DASH_SUPPORT_READFILE_H
