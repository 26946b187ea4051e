//===- Channels.h - slots and barriers in shared memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_CHANNELS_H
#define DASH_LIB_LOWERING_CHANNELS_H

#include "HopperOps.h"
#include "dash/IR/DashOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// What a role does: it multiplies, it adds, or else it loads.
bool isCompute(RoleOp role);
bool isReduce(RoleOp role);

/// One channel of a worker. Its slots are used in turn: use number n (from 0, over the worker's whole
/// life) has slot n mod depth.
struct Channel {
  mutable ChannelOp op; // ops are handles, their methods are not const
  int64_t depth = 1;
  int64_t fullBarrier = 0, emptyBarrier = 0; ///< byte of slot 0's; slots follow
  int64_t fullArrivals = 1, emptyArrivals = 1;
  int64_t words = 0;  ///< byte of slot 0's four words
  bool tells = false; ///< the words say what to do to a role that multiplies

  ArrayRef<Type> tiles() const { return op.getResult().getType().getTiles(); }
  int64_t tileBytes(int64_t tile) const { return op.getResult().getType().getTileBytes(tile); }
  /// Bytes of a slot that the copy engine fills.
  int64_t slotBytes() const;
};

/// Where everything lies in a worker's shared memory, and how to get at it. Addresses are computed from
/// the number of a use, so that roles carry one counter and no addresses.
class SharedMemory {
public:
  /// Lays out the barriers of all channels. A role that multiplies arrives `arrivalsPerWarp` times a warp,
  /// another once.
  SharedMemory(WorkersOp workers, int64_t arrivalsPerWarp);

  const Channel &channel(Value value) const { return channels.find(value)->second; }

  /// By one thread, before the block's first barrier.
  void initialise(PtxBuilder &b, Value base) const;

  Value tile(PtxBuilder &b, Value base, const Channel &channel, int64_t tile, Value use) const;
  Value words(PtxBuilder &b, Value base, const Channel &channel, Value use) const;
  Value full(PtxBuilder &b, Value base, const Channel &channel, Value use) const;
  Value empty(PtxBuilder &b, Value base, const Channel &channel, Value use) const;
  void waitFull(PtxBuilder &b, Value base, const Channel &channel, Value use) const;
  void waitEmpty(PtxBuilder &b, Value base, const Channel &channel, Value use) const;

private:
  llvm::MapVector<Value, Channel> channels; // in the order of the text
};

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_CHANNELS_H
