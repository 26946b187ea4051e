//===- Bounded.h - messages of bounded length -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_BOUNDED_H
#define DASH_SUPPORT_BOUNDED_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dash {

/// Shortens a message: a value in it, or another program's output, may have megabytes.
inline std::string bounded(llvm::StringRef message) {
  constexpr size_t mostBytes = 1 << 14;
  if (message.size() <= mostBytes)
    return message.str();
  size_t end = mostBytes;
  while (end > mostBytes - 4 && (message[end] & 0xc0) == 0x80) // not inside a character
    --end;
  return message.take_front(end).str() + "... (" + std::to_string(message.size() - end) +
         " bytes more)";
}

} // namespace mlir::dash

#endif // DASH_SUPPORT_BOUNDED_H
