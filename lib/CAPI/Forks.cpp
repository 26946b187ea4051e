//===- Forks.cpp - processes that were forked -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting in front of a fork until all have left would hang those who fork with a lock that a diagnostic's handler wants, as Python has.
// So forks go on, and the child is told.
//
//===----------------------------------------------------------------------===//

#include "Forks.h"
#include <atomic>
#include <pthread.h>

using namespace mlir::dash;

static std::atomic<long> numInside = 0;
static thread_local long numOurs = 0; ///< of this thread: handlers may call the library again
static std::atomic<bool> isLeftBehind = false;

static void enterChild() {
  if (numInside != numOurs)
    isLeftBehind = true;
  numInside = numOurs;
}

/// When the library is loaded: nobody is inside before.
static const int registered = pthread_atfork(nullptr, nullptr, enterChild);

Inside::Inside() {
  ++numOurs;
  ++numInside;
}

Inside::~Inside() {
  --numInside;
  --numOurs;
}

launch::Outcome Inside::getOutcome() const {
  (void)registered;
  if (!isLeftBehind)
    return std::nullopt;
  return launch::fail(DASH_UNUSABLE,
                      "this process was forked while another thread was in libdash, so its locks "
                      "stay taken: fork before threads compile or plan, or start processes anew, "
                      "as multiprocessing does with 'spawn'");
}
