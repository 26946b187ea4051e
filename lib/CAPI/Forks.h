//===- Forks.h - processes that were forked --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_FORKS_H
#define DASH_LIB_CAPI_FORKS_H

#include "dash/Launch/Outcome.h"

namespace mlir::dash {

/// Stands for a thread that is in the library, where locks are taken. A child of a fork has the locks of all threads of its parent, and
/// none of these threads but the one that forked: where another one was inside, nobody will give back what it had, and to wait for that
/// is to hang.
class Inside {
public:
  Inside();
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  /// Why the library cannot be used in this process, if that is so. To be asked before anything is locked.
  launch::Outcome getOutcome() const;
};

} // namespace mlir::dash

#endif // DASH_LIB_CAPI_FORKS_H
