//===- Forks.cpp - forked processes ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork does not wait until all threads have left the library. The forking thread may hold a lock
// that a diagnostic handler needs, such as Python's, and waiting would hang. So the fork proceeds,
// and the child gets an error.
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

/// Runs when the library is loaded, before any thread can be inside.
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
