//===- ReadFile.h - files that somebody else may have made -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_READFILE_H
#define DASH_SUPPORT_READFILE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace mlir::dash {

/// Whom a file is trusted from.
enum class FileOwner {
  Anyone, ///< it is checked by what it holds; a link is followed
  User    ///< only who runs this process; a link is refused, for its target may be anybody's
};

/// The bytes of a regular file of at most `mostBytes`, or why they cannot be had, without the path: "No such file or directory".
///
/// The file is opened once, and all that is asked of it is asked of what was opened. Nothing else than a regular file is read, so that no
/// pipe is waited for, and no device; its size is looked at before any memory is taken. It is read, not mapped, so that somebody who
/// shortens it meanwhile gives fewer bytes, and no SIGBUS.
llvm::Expected<std::string> readFile(const llvm::Twine &path, uint64_t mostBytes,
                                     FileOwner owner = FileOwner::Anyone);

} // namespace mlir::dash

#endif // DASH_SUPPORT_READFILE_H
