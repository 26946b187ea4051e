//===- WorkerEntry.h - what the roles of the main kernel share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_WORKERENTRY_H
#define DASH_LIB_LOWERING_WORKERENTRY_H

#include "Channels.h"
#include "Program.h"
#include "dash/IR/TensorNames.h"
#include "dash/Pipeline/IssueAttrs.h"

namespace mlir::dash {

/// An item of a worker's list, as the order buffer holds it.
struct ItemRecord {
  Value sequence, kvHead, kvTile, firstHead;
  Value firstVisit;     ///< pointer
  Value visits, rounds; ///< the visits are walked `rounds` times, a head further each time
  Value steps;          ///< visits * rounds
};

/// A step of an item.
struct VisitRecord {
  Value head, qTile, turn;
  Value isLast; ///< 1 if the turn is the last of its chain
};

/// Reads the list of this block's worker from the order buffer (its format: docs/kernels.md). One thread's
/// view. Where the sections of the buffer begin is read again for each item: roles that load and add have
/// few registers, and time.
class OrderReader {
public:
  explicit OrderReader(Value order) : order(order) {}

  Value readNumItems(PtxBuilder &b) const;
  ItemRecord readItem(PtxBuilder &b, Value place) const;
  VisitRecord readVisit(PtxBuilder &b, const ItemRecord &item, Value round, Value visit) const;

private:
  Value section(PtxBuilder &b, int64_t word) const;
  Value listBounds(PtxBuilder &b) const;

  Value order; ///< pointer
};

/// The entry being built, and what every role needs of it.
struct WorkerEntry {
  EntryBuilder &b;
  mutable WorkersOp workers;
  mutable ItemsOp items; ///< those of any role: sizes, tiles and mask are the same in all
  const SharedMemory &shared;
  const TensorNames &names;
  const ProgramFacts &facts;
  Value base; ///< shared memory
  Value heads, qTiles, qRows, kvRows;
  Value warp;                      ///< of the block, uniform
  bool keepsContributions = false; ///< as the pass's options say
  bool delays = false;
  bool threadsArrive = false;

  int64_t rowsOfQTile() const { return items.getTiles().getQ(); }
  int64_t rowsOfKvTile() const { return items.getTiles().getKv(); }

  /// Number of a q tile among those of all heads and sequences.
  Value tileIndex(Value sequence, Value head, Value qTile) const;
  /// The descriptor of a tensor: "q", "k", "v", "do", "dk" or "dv".
  Value descriptor(StringRef name) const;
};

/// Sizes that are not in the kernel's hands: how many q rows a step's tile is ahead of where the mask
/// begins to hide (row j of the kv tile is hidden from column i of the q tile iff i + lead < j).
Value maskLead(WorkerEntry &entry, Value qTile, Value kvTile);
/// No element of a tile with such a lead is hidden.
constexpr int64_t fullLead = int64_t(1) << 30;

/// Says at the op what no emitter has a way to do.
LogicalResult checkWorkers(WorkersOp workers, const TensorNames &names);

/// Each emits the program of a role, which has been checked, at the builder's place.
void emitLoadRole(WorkerEntry &entry, RoleOp role);
void emitReduceRole(WorkerEntry &entry, RoleOp role, Value warpOfRole);
/// Fails where the ops of the walk are in an order that registers cannot serve.
LogicalResult emitComputeRole(WorkerEntry &entry, RoleOp role, int64_t warpgroup);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_WORKERENTRY_H
