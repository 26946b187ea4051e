//===- Progress.h - say what planning is at --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning may take a second. Callers that wait are told every fifth of one. Only messages look at
// the clock, so orders do not depend on it.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SCHEDULE_PROGRESS_H
#define DASH_SCHEDULE_PROGRESS_H

#include "dash/Schedule/Schedule.h"
#include <chrono>
#include <functional>

namespace mlir::dash {

/// While it lives, this thread's planning tells `say` what it has done: after 0.2 seconds, and
/// again after as long. An empty `say` is told nothing.
class ProgressScope {
public:
  explicit ProgressScope(const std::function<void(llvm::StringRef)> &say);
  ~ProgressScope();
  ProgressScope(const ProgressScope &) = delete;

  /// Tasks that were simulated or proven so far.
  int64_t getWork() const { return work; }

private:
  friend void noteProgress(llvm::function_ref<std::string()> done);
  friend void countWork(int64_t tasks);
  const std::function<void(llvm::StringRef)> &say;
  std::chrono::steady_clock::time_point begin, last;
  int64_t work = 0;
  ProgressScope *outer;
};

/// Says, if it is time to, what a step has done. Called some times a second.
void noteProgress(llvm::function_ref<std::string()> done);

/// Adds tasks that were simulated or proven. They are what planning takes its time for.
void countWork(int64_t tasks);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PROGRESS_H
