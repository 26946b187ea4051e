//===- Kernels.h - a module of kernels ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_KERNELS_H
#define DASH_ENTRIES_KERNELS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// A module of kernels and what it says of itself.
struct Kernels {
  Operation *module;
  ProgramAttr program;

  FactsAttr facts() const { return program.getFacts(); }
  int64_t qTile() const { return facts().getTiles().getQ(); }
  int64_t kvTile() const { return facts().getTiles().getKv(); }
  int64_t parts() const { return facts().getParts(); }
  bool isList() const { return program.isList(); }
  /// Whether adds to a sum come in a fixed order, of which the first is a store.
  bool isOrdered() const { return facts().getDeterministic(); }
  /// What the mask's edges say of tiles.
  TileEdges edges() const { return TileEdges(facts().getMask().getEdges(), qTile(), kvTile()); }
  /// In how many pieces a kv tile's sums leave, which have as many rows as a q tile.
  int64_t numPieces() const { return kvTile() / qTile(); }
  /// "NAME_role".
  std::string entryName(EntryRole role) const;
};

/// What a `gpu.module` of kernels says of itself; says at it where it says nothing.
FailureOr<Kernels> readKernels(Operation *module);
/// The `gpu.module` that what `op`'s function does goes to. Says at `op` what to run first where there
/// is none.
FailureOr<Kernels> findKernels(Operation *op);

} // namespace mlir::dash

#endif // DASH_ENTRIES_KERNELS_H
