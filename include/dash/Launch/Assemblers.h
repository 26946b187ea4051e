//===- Assemblers.h - the assemblers of a machine ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LAUNCH_ASSEMBLERS_H
#define DASH_LAUNCH_ASSEMBLERS_H

#include "dash/Support/Assembler.h"
#include <map>
#include <mutex>
#include <set>

namespace mlir::dash::launch {

/// What a process knows of them. Thread-safe.
class Assemblers {
public:
  /// Those that have a turn now, in their order. Each is asked for its version once, and again where its file has become another.
  std::vector<Assembler> find();

  /// One that refused a kernel, or made slow code of it, is not asked for others: it would take as long, and say the same.
  void refuse(const Assembler &assembler);
  bool isRefused(const Assembler &assembler) const;

private:
  mutable std::mutex mutex;
  std::map<std::string, Assembler> known; // by path, and what a file system says of it
  std::set<std::pair<std::string, std::string>> refusedOnes; // paths and versions
};

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_ASSEMBLERS_H
