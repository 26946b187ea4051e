//===- Kernels.h - a module of kernels ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_KERNELS_H
#define DASH_ENTRIES_KERNELS_H

#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"

namespace mlir::dash {

/// A module of kernels with its description.
struct Kernels {
  Operation *module;
  ProgramAttr program;

  FactsAttr facts() const { return program.getFacts(); }
  int64_t qTile() const { return facts().getTiles().getQ(); }
  int64_t fold() const { return facts().getTiles().getFold(); } ///< query heads of a q tile
  int64_t kvTile() const { return facts().getTiles().getKv(); }
  int64_t parts() const { return facts().getParts(); }
  int64_t rowsOfPiece() const { return facts().getCut(); } ///< of keys; 0 if they are not cut
  bool isList() const { return program.isList(); }
  /// Whether it writes the LSE, which a backward reads.
  bool isForward() const {
    TensorRoleAttr lse = program.findTensor(TensorKind::LogRow);
    return lse && lse.isWritten();
  }
  /// Whether workers draw items while it runs: then the order has one list, of all of them.
  bool handsOut() const;
  /// Whether each launch deals the items of a list by work.
  bool dealsByWork() const { return module->hasAttr(dealAttr); }
  /// Whether adds to a sum have a fixed order. The first one is then a store.
  bool isOrdered() const { return facts().getDeterministic(); }
  /// The mask's edges over tiles.
  TileEdges edges() const { return TileEdges(facts().getMask().getEdges(), qTile(), kvTile()); }
  /// The number of pieces in which a kv tile's sums leave. A piece has as many rows as a q tile.
  int64_t numPieces() const { return kvTile() / qTile(); }
  /// "NAME_role".
  std::string entryName(EntryRole role) const;
};

/// Reads the description of a `gpu.module` of kernels. Fails, with an error at the module, if it
/// has none.
FailureOr<Kernels> readKernels(Operation *module);
/// The `gpu.module` for the kernels of `op`'s function. If there is none, the error at `op` states
/// what to run first.
FailureOr<Kernels> findKernels(Operation *op);

} // namespace mlir::dash

#endif // DASH_ENTRIES_KERNELS_H
