//===- Diagnostics.cpp - diagnostics that wait for a caller ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Strings.h"
#include <vector>

using namespace mlir::dash;

namespace {

struct Kept {
  DashDiagnostic diagnostic; ///< its strings are unused
  std::string message, file;
};

constexpr size_t mostKept = 256; ///< limit for a thread that never asks

thread_local std::vector<Kept> kept;

} // namespace

void dashDiagnosticKeep(const DashDiagnostic *diagnostic, void *) {
  if (kept.size() < mostKept)
    kept.push_back(
        {*diagnostic, toStringRef(diagnostic->message).str(), toStringRef(diagnostic->file).str()});
}

size_t dashDiagnosticGetNumKept(void) { return kept.size(); }

DashDiagnostic dashDiagnosticGetKept(size_t index) {
  if (index >= kept.size())
    return {DASH_ERROR, noString(), noString(), 0, 0};
  DashDiagnostic result = kept[index].diagnostic;
  result.message = toC(kept[index].message);
  result.file = toC(kept[index].file);
  return result;
}

void dashDiagnosticForgetKept(void) { kept.clear(); }
