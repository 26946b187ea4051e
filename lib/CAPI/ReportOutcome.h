//===- ReportOutcome.h - how functions of the C API fail -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_REPORTOUTCOME_H
#define DASH_LIB_CAPI_REPORTOUTCOME_H

#include "Strings.h"
#include "dash-c/Launch.h"
#include "dash/Launch/Outcome.h"
#include "dash/Support/Bounded.h"

namespace mlir::dash {

/// Sends a diagnostic without a location to a caller in C.
inline void say(DashSeverity severity, const std::string &message, DashDiagnosticHandler handler,
                void *userData) {
  if (!handler)
    return;
  std::string text = bounded(message);
  DashDiagnostic diagnostic{severity, toC(text), noString(), 0, 0};
  handler(&diagnostic, userData);
}

inline DashStatus report(const launch::Outcome &outcome, DashDiagnosticHandler handler,
                         void *userData) {
  if (!outcome)
    return DASH_SUCCESS;
  say(DASH_ERROR, outcome->message, handler, userData);
  return outcome->status;
}

inline DashStatus refuse(const char *why, DashDiagnosticHandler handler, void *userData) {
  return report(launch::fail(DASH_INVALID_ARGUMENT, why), handler, userData);
}

/// Fails if an array of sizes, or a name in it, is missing.
inline launch::Outcome checkGiven(const DashSize *sizes, size_t numSizes) {
  if (!sizes && numSizes)
    return launch::fail(DASH_INVALID_ARGUMENT, "'sizes' is NULL but not empty");
  for (size_t i = 0; i < numSizes; ++i)
    if (!isGiven(sizes[i].name))
      return launch::fail(DASH_INVALID_ARGUMENT, "a string is NULL but not empty");
  return std::nullopt;
}

} // namespace mlir::dash

#endif // DASH_LIB_CAPI_REPORTOUTCOME_H
