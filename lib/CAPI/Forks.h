//===- Forks.h - forked processes -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_FORKS_H
#define DASH_LIB_CAPI_FORKS_H

#include "dash/Launch/Outcome.h"

namespace mlir::dash {

/// Marks a thread as inside the library, where it takes locks. A forked child inherits the locks of
/// all threads of its parent, but only the thread that forked. If another thread was inside,
/// nothing will ever release its locks, and waiting for them would hang.
class Inside {
public:
  Inside();
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  /// The reason why this process cannot use the library, if there is one. Ask before locking
  /// anything.
  launch::Outcome getOutcome() const;
};

} // namespace mlir::dash

#endif // DASH_LIB_CAPI_FORKS_H
