//===- MainKernel.h - the kernel around a pattern ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_MAIN_MAINKERNEL_H
#define DASH_LIB_MAIN_MAINKERNEL_H

#include "dash/Entries/Places.h"
#include "dash/Hopper/Fragments.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Named barriers of a block, besides barrier 0, where all its threads meet, and those that each
/// warpgroup that multiplies has.
constexpr int64_t namedBarriers = 15, barriersOfWarpgroup = 2;

/// Values that the threads of a consumer's warpgroup keep.
struct ConsumerValues {
  ThreadPlace place;
  Value warpgroup; ///< a constant in code of one warpgroup
  int64_t warpgroups;
  int64_t firstBarrier; ///< of the consumer's named barriers
  /// Factor on scores, for exponentials with base 2. In a forward NaN unless it is above 0: hidden
  /// scores are the lowest only then.
  Value exponentScale;

  /// The warpgroup whose code this is, if it is of one.
  std::optional<int64_t> getOnlyWarpgroup() const;
  /// The number that the warpgroup has, where `number` says it of each.
  Value ofWarpgroup(PtxBuilder &b, llvm::function_ref<int64_t(int64_t)> number) const;
};

/// Whether a descriptor copies the memory. One number for each row is in the workspace, ready to
/// load.
bool hasDescriptor(const MemoryRef &memory);

/// The entry around a `dash.workers`. Numbers that many ops need are computed at the start of the
/// entry or of the role.
class MainKernel {
public:
  /// Computes the values that all roles share, at the start of the entry.
  MainKernel(WorkersOp workers, const Kernels &kernels);
  /// Computes the values that a role keeps, at its start, and makes its descriptors visible.
  void enter(RoleOp role);

  Value parameter(StringRef name) const;
  Value region(StringRef name) const { return parameter(("workspace." + name).str()); }
  /// The consumer around an op, with the values of a sampled item's body; null elsewhere.
  const ConsumerValues *consumerOf(Operation *op) const;
  /// Query heads of a q tile, whose row r is row r floordiv fold of the sequence, of the head of
  /// number r mod fold.
  int64_t fold() const { return kernels.fold(); }
  int64_t rowsOfKvTile() const { return kernels.kvTile(); }
  /// The index of the current worker: its block's, or the one it drew.
  Value worker(PtxBuilder &b) const;
  /// The number of the list that the worker's items are in.
  Value list(PtxBuilder &b) const;
  int64_t numParts() const { return kernels.parts(); }

  /// The number of a q tile among those of all heads and sequences.
  Value tileIndex(PtxBuilder &b, Value sequence, Value head, Value tile) const;
  /// The number of a piece of a kv tile's sums among those of all kv heads and sequences.
  Value pieceIndex(PtxBuilder &b, Value sequence, Value kvHead, Value piece) const;
  bool isList() const { return kernels.isList(); }
  /// The order buffer's record of a list's sequence. It is read where the sequence's number is
  /// defined, so as often as that.
  SequenceRows readSequence(PtxBuilder &b, Value sequence, bool isKeyValue) const;
  /// The coordinates of a sequence's row in a descriptor: see buildDescriptor.
  SmallVector<Value> coordinates(PtxBuilder &b, bool isKeyValue, Value sequence, Value head,
                                 Value row, Value panel) const;
  /// The descriptor of a tensor; the tensor must have one.
  Value descriptor(PtxBuilder &b, TensorRoleAttr tensor) const;
  /// The map that the descriptor encodes.
  TensorMapAttr map(TensorRoleAttr tensor) const;

  /// Addresses in shared memory; `slot` is an i32.
  Value element(PtxBuilder &b, ChannelOp channel, unsigned number, Value slot) const;
  Value barrier(PtxBuilder &b, ChannelOp channel, BarrierSide side, Value slot) const;

  /// The variable in which a role's lane counts its records, and the number of the name of a
  /// record.
  Value traceCount(TraceOp op) const { return counts.lookup(op->getParentOfType<RoleOp>()); }
  int64_t traceName(TraceOp op) const;

  Value qRows, kvRows, heads, qTiles;

private:
  WorkersOp workers;
  Operation *entry;
  Kernels kernels;
  Value base; ///< shared memory
  /// By the body of a role, or of a sampled item; looked up only.
  llvm::DenseMap<Block *, std::unique_ptr<ConsumerValues>> consumers;
  llvm::DenseMap<Operation *, Value> counts; ///< of roles' records, in local memory; looked up only
};

/// The entry's parameter with this name; null if there is none.
Value findParameter(Operation *entry, StringRef name);

/// The address of a slot's mbarrier; shared memory begins at `base`.
Value barrierAddress(PtxBuilder &b, Value base, ChannelOp channel, BarrierSide side, Value slot);

} // namespace mlir::dash

#endif // DASH_LIB_MAIN_MAINKERNEL_H
