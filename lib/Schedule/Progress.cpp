//===- Progress.cpp - say what planning is at -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Progress.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;
using Clock = std::chrono::steady_clock;

static constexpr auto between = std::chrono::milliseconds(200);
static thread_local ProgressScope *innermost = nullptr;

ProgressScope::ProgressScope(const std::function<void(StringRef)> &say)
    : say(say), begin(Clock::now()), last(begin), outer(std::exchange(innermost, this)) {}

ProgressScope::~ProgressScope() { innermost = outer; }

void dash::noteProgress(llvm::function_ref<std::string()> done) {
  if (!innermost || !innermost->say)
    return;
  Clock::time_point now = Clock::now();
  if (now - innermost->last < between)
    return;
  innermost->last = now;
  double seconds = std::chrono::duration<double>(now - innermost->begin).count();
  innermost->say(llvm::formatv("{0}, after {1:f1} s", done(), seconds).str());
}

void dash::countWork(int64_t tasks) {
  if (innermost)
    innermost->work += tasks;
}
