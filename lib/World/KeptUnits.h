//===- KeptUnits.h - which heads of which documents are kept ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_KEPTUNITS_H
#define DASH_LIB_WORLD_KEPTUNITS_H

#include "dash/World/WorldPlan.h"

namespace mlir::dash::world {

/// Whether a kv head of a document is kept.
class KeptUnits {
public:
  KeptUnits(const World &world, ArrayRef<KeptHeads> kept) : kvHeads(world.problem().kvHeads) {
    if (kept.empty())
      return;
    units.resize(world.numDocuments() * kvHeads);
    for (const KeptHeads &heads : kept)
      std::fill_n(units.begin() + heads.document * kvHeads + heads.kvHead, heads.kvHeads, true);
  }
  bool has(int64_t document, int64_t kvHead) const {
    return !units.empty() && units[document * kvHeads + kvHead];
  }

private:
  int64_t kvHeads;
  std::vector<bool> units; ///< empty if none is kept
};

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_KEPTUNITS_H
