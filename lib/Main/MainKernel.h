//===- MainKernel.h - what patterns know of the kernel around them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_MAIN_MAINKERNEL_H
#define DASH_LIB_MAIN_MAINKERNEL_H

#include "dash/Entries/Places.h"
#include "dash/Hopper/Fragments.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// What the threads of a consumer's warpgroup have all along.
struct ConsumerValues {
  ThreadPlace place;
  int64_t warpgroup, warpgroups;
  Value exponentScale; ///< factor on scores, for exponentials to base 2
};

/// Whether memory is copied by a descriptor. What is one number a row lies in the workspace as it is wanted.
bool hasDescriptor(const MemoryRef &memory);

/// The entry that a `dash.workers` stands in. Numbers that many ops need are computed where the entry, or the
/// role, begins.
class MainKernel {
public:
  /// Computes what all roles share, at the start of the entry.
  MainKernel(WorkersOp workers, const Kernels &kernels);
  /// Computes what a role has all along, at its start, and makes its descriptors visible.
  void enter(RoleOp role);

  Value parameter(StringRef name) const;
  Value region(StringRef name) const { return parameter(("workspace." + name).str()); }
  /// The consumer that an op is in; null elsewhere.
  const ConsumerValues *consumerOf(Operation *op) const;
  int64_t rowsOfKvTile() const { return kernels.kvTile(); }
  /// The index of the worker that runs: its block's, or what it drew.
  Value worker(PtxBuilder &b) const;
  int64_t numParts() const { return kernels.parts(); }

  /// Number of a q tile among those of all heads and sequences.
  Value tileIndex(PtxBuilder &b, Value sequence, Value head, Value tile) const;
  /// Number of a piece of a kv tile's sums among those of all kv heads and sequences.
  Value pieceIndex(PtxBuilder &b, Value sequence, Value kvHead, Value piece) const;
  bool isList() const { return kernels.isList(); }
  /// What the order buffer says of a sequence of a list. It is read behind the number, so as often as that is.
  SequenceRows readSequence(PtxBuilder &b, Value sequence, bool isKeyValue) const;
  /// Where a descriptor has a row of a sequence: see buildDescriptor.
  SmallVector<Value> coordinates(PtxBuilder &b, bool isKeyValue, Value sequence, Value head,
                                 Value row, Value panel) const;
  /// The descriptor of a tensor that has one.
  Value descriptor(PtxBuilder &b, TensorRoleAttr tensor) const;
  /// What the descriptor describes.
  TensorMapAttr map(TensorRoleAttr tensor) const;

  /// Addresses in shared memory; `slot` is an i32.
  Value element(PtxBuilder &b, ChannelOp channel, unsigned number, Value slot) const;
  Value barrier(PtxBuilder &b, ChannelOp channel, BarrierSide side, Value slot) const;

  /// Where the lane of a role keeps how many records it has left, and the number that a record has for what it is of.
  Value traceCount(TraceOp op) const { return counts.lookup(op->getParentOfType<RoleOp>()); }
  int64_t traceName(TraceOp op) const;

  Value qRows, kvRows, heads, qTiles;

private:
  WorkersOp workers;
  Operation *entry;
  Kernels kernels;
  Value base;                                                             ///< shared memory
  llvm::DenseMap<Operation *, std::unique_ptr<ConsumerValues>> consumers; ///< looked up only
  llvm::DenseMap<Operation *, Value>
      counts; ///< of roles' records, in a thread's memory; looked up only
};

/// The parameter of an entry that has that name; null if there is none.
Value findParameter(Operation *entry, StringRef name);

/// Address of a slot's mbarrier, where shared memory begins at `base`.
Value barrierAddress(PtxBuilder &b, Value base, ChannelOp channel, BarrierSide side, Value slot);

} // namespace mlir::dash

#endif // DASH_LIB_MAIN_MAINKERNEL_H
