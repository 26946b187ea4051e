//===- WorldKinds.cpp - ways to place leaves -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldKinds.h"
#include "Refuse.h"
#include "dash/World/VerifyWorld.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

namespace mlir::dash::world::kinds {
// One line per file in Kinds/, written by CMake, in alphabetical order.
#define DASH_WORLD_KIND(Name) extern const WorldKind Name;
#include "WorldKinds.inc"
#undef DASH_WORLD_KIND
} // namespace mlir::dash::world::kinds

llvm::ArrayRef<const WorldKind *> mlir::dash::world::worldKinds() {
  static const WorldKind *const all[] = {
#define DASH_WORLD_KIND(Name) &kinds::Name,
#include "WorldKinds.inc"
#undef DASH_WORLD_KIND
  };
  return all;
}

const WorldKind *mlir::dash::world::findWorldKind(StringRef name) {
  auto *found = llvm::find_if(worldKinds(), [&](auto *kind) { return kind->name == name; });
  return found == worldKinds().end() ? nullptr : *found;
}

llvm::Expected<WorldPlan> mlir::dash::world::planWorld(const World &world, StringRef name,
                                                       uint64_t seed) {
  const WorldKind *kind = findWorldKind(name);
  if (!kind) {
    std::string known;
    for (const WorldKind *one : worldKinds())
      known += (known.empty() ? "" : ", ") + one->name.str();
    return refuse("expected one of the kinds {0}, got '{1}'", known, name);
  }
  if (!kind->isLevelWorld())
    return refuse(
        "kind '{0}' is there to compare with: it cuts rows anywhere, so its bits are not of level "
        "world, and it has no plan to execute",
        name);
  WorldPlan plan = completePlan(world, name.str(), kind->place(world, seed));
  if (llvm::Error error = verifyWorld(world, plan))
    return std::move(error);
  return plan;
}
