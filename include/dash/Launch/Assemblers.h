//===- Assemblers.h - the assemblers of a machine ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LAUNCH_ASSEMBLERS_H
#define DASH_LAUNCH_ASSEMBLERS_H

#include "dash/Support/Assembler.h"
#include <map>
#include <mutex>
#include <set>

namespace mlir::dash::launch {

/// The assemblers that a process knows. Thread-safe.
class Assemblers {
public:
  /// The assemblers to try, in order. Each is asked for its version once, and again if its file has
  /// changed.
  std::vector<Assembler> find();

  /// Excludes an assembler that refused a kernel, or made slow code of it: for other kernels it
  /// would take as long and fail in the same way.
  void refuse(const Assembler &assembler);
  bool isRefused(const Assembler &assembler) const;

private:
  mutable std::mutex mutex;
  std::map<std::string, Assembler> known;                    // key: path and file status
  std::set<std::pair<std::string, std::string>> refusedOnes; // paths and versions
};

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_ASSEMBLERS_H
