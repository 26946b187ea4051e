//===- Assemblers.cpp - the assemblers of a machine -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Assemblers.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

static std::string stateOf(const std::string &path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return path;
  return (path + " " + Twine(status.getSize()) + " " +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

std::vector<Assembler> Assemblers::find() {
  std::vector<Assembler> found;
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::string &path : findAssemblers()) {
    const std::string state = stateOf(path);
    auto place = known.find(state);
    Assembler asked = place == known.end() ? askAssembler(path) : place->second;
    if (!asked.about.empty())
      known[state] = asked;
    found.push_back(std::move(asked));
  }
  return found;
}

void Assemblers::refuse(const Assembler &assembler) {
  std::lock_guard<std::mutex> lock(mutex);
  refusedOnes.emplace(assembler.path, assembler.about);
}

bool Assemblers::isRefused(const Assembler &assembler) const {
  std::lock_guard<std::mutex> lock(mutex);
  return refusedOnes.count({assembler.path, assembler.about}) != 0;
}
