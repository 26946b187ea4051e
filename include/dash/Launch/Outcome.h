//===- Outcome.h - how a launch can fail ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LAUNCH_OUTCOME_H
#define DASH_LAUNCH_OUTCOME_H

#include "dash-c/Compile.h"
#include "llvm/ADT/Twine.h"
#include <optional>
#include <string>

namespace mlir::dash::launch {

/// The status of a failure, and what was expected and found.
struct Failure {
  DashStatus status;
  std::string message;
};

/// Empty on success.
using Outcome = std::optional<Failure>;

inline Failure fail(DashStatus status, const llvm::Twine &message) {
  return {status, message.str()};
}

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_OUTCOME_H
