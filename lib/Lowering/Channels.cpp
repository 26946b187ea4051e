//===- Channels.cpp - slots and barriers in shared memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Channels.h"
#include "dash/Pipeline/BufferPlan.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t barrierBytes = 8, wordBytes = 16;

int64_t Channel::slotBytes() const {
  int64_t bytes = 0;
  for (int64_t tile : llvm::seq<int64_t>(tiles().size()))
    bytes += tileBytes(tile);
  return bytes;
}

static int64_t arrivalsOf(Operation *op, int64_t arrivalsPerWarp) {
  auto role = op->getParentOfType<RoleOp>();
  return isCompute(role) ? role.getWarps() * arrivalsPerWarp : 1;
}

SharedMemory::SharedMemory(WorkersOp workers, int64_t arrivalsPerWarp) {
  int64_t next = 0;
  for (auto op : workers.getBody().getOps<ChannelOp>()) {
    Channel channel;
    channel.op = op;
    channel.depth = op.getDepth();
    channel.fullBarrier = next;
    channel.emptyBarrier = next + channel.depth * barrierBytes;
    next += 2 * channel.depth * barrierBytes;
    for (Operation *user : op.getResult().getUsers()) {
      if (isa<PublishOp>(user))
        channel.fullArrivals =
            arrivalsOf(user, arrivalsPerWarp); // the copy engine's slots have one: who starts it
      else if (isa<ReleaseOp>(user))
        channel.emptyArrivals = arrivalsOf(user, arrivalsPerWarp);
    }
    channels[op.getResult()] = channel;
  }
  // A role that multiplies does not read the order: it is told by what it gets first, of an item and of a step.
  for (auto role : workers.getBody().getOps<RoleOp>())
    role.walk([&](Block *block) {
      auto gets = block->getOps<GetOp>();
      if (isCompute(role) && !gets.empty())
        channels.find((*gets.begin()).getChannel())->second.tells = true;
    });
  next = llvm::alignTo(next, wordBytes);
  for (auto &[value, channel] : channels)
    if (channel.tells) {
      channel.words = next;
      next += channel.depth * wordBytes;
    }
  assert(next <= reservedBytes && "dash-plan-buffers keeps room for the barriers");
}

/// base + first + (use mod depth) * stride.
static Value slotAddress(PtxBuilder &b, Value base, int64_t first, int64_t stride, int64_t depth,
                         Value use) {
  if (depth == 1)
    return b.add(base, first);
  Value slot = llvm::isPowerOf2_64(depth) ? b.bitAnd(use, depth - 1) : b.remainder(use, depth);
  return b.add(b.add(base, b.mul(slot, stride)), first);
}

/// How often the slot was used before, modulo 2.
static Value phase(PtxBuilder &b, const Channel &channel, Value use) {
  return b.bitAnd(b.quotient(use, channel.depth), 1);
}

void SharedMemory::initialise(PtxBuilder &b, Value base) const {
  for (const auto &[value, channel] : channels)
    for (int64_t slot : llvm::seq(channel.depth)) {
      hopper::initBarrier(b, b.add(base, channel.fullBarrier + slot * barrierBytes),
                          channel.fullArrivals);
      hopper::initBarrier(b, b.add(base, channel.emptyBarrier + slot * barrierBytes),
                          channel.emptyArrivals);
    }
  hopper::fenceBarrierInit(b);
}

Value SharedMemory::tile(PtxBuilder &b, Value base, const Channel &channel, int64_t tile,
                         Value use) const {
  return slotAddress(b, base, (*channel.op.getOffsets())[tile], (*channel.op.getStrides())[tile],
                     channel.depth, use);
}
Value SharedMemory::words(PtxBuilder &b, Value base, const Channel &channel, Value use) const {
  return slotAddress(b, base, channel.words, wordBytes, channel.depth, use);
}
Value SharedMemory::full(PtxBuilder &b, Value base, const Channel &channel, Value use) const {
  return slotAddress(b, base, channel.fullBarrier, barrierBytes, channel.depth, use);
}
Value SharedMemory::empty(PtxBuilder &b, Value base, const Channel &channel, Value use) const {
  return slotAddress(b, base, channel.emptyBarrier, barrierBytes, channel.depth, use);
}
void SharedMemory::waitFull(PtxBuilder &b, Value base, const Channel &channel, Value use) const {
  hopper::wait(b, full(b, base, channel, use), phase(b, channel, use));
}
void SharedMemory::waitEmpty(PtxBuilder &b, Value base, const Channel &channel, Value use) const {
  // A slot never used is empty: its barrier counts the phase before the first as complete.
  hopper::wait(b, empty(b, base, channel, use), b.bitXor(phase(b, channel, use), b.i32(1)));
}
