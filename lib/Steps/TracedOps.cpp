//===- TracedOps.cpp - what a trace records of a role ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TracedOps.h"
#include "dash/Steps/SlotUse.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dash;

bool dash::isElementwise(Operation *op) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  if (op->getNumRegions() > 0 || op->getNumResults() != 1 || !isTile(op->getResultTypes().front()))
    return false;
  return llvm::any_of(op->getOperandTypes(), isTile) && syncsOf(op).empty() &&
         llvm::none_of(accessesOf(op),
                       [&](const SlotAccess &access) { return access.tile == op->getResult(0); });
}

std::optional<Sync> dash::findSync(Operation *op, SyncKind kind) {
  for (const Sync &sync : syncsOf(op))
    if (sync.kind == kind)
      return sync;
  return std::nullopt;
}

std::optional<SumAccess> dash::findSum(Operation *op, SumAction action) {
  for (const SumAccess &sum : sumAccessesOf(op))
    if (sum.action == action)
      return sum;
  return std::nullopt;
}

/// Just a computation of numbers. A product is pure, and takes time.
static bool isOfNumbers(Operation *op) {
  return isPure(op) && !isElementwise(op) && !isa<MatmulOp>(op);
}

Operation *dash::nextOf(Operation *op) {
  Operation *next = op->getNextNode();
  while (next && isOfNumbers(next))
    next = next->getNextNode();
  return next;
}
Operation *dash::previousOf(Operation *op) {
  Operation *previous = op->getPrevNode();
  while (previous && isOfNumbers(previous))
    previous = previous->getPrevNode();
  return previous;
}

bool dash::isAmongElementwise(Operation *op) {
  if (!findSync(op, SyncKind::WaitForProducts))
    return false;
  Operation *previous = previousOf(op), *next = nextOf(op);
  return previous && next && isElementwise(previous) && isElementwise(next);
}

StringRef dash::nameOf(Value channel) { return channel.getDefiningOp<ChannelOp>().getName(); }

RingOp dash::ringOf(Value slot) { return slot.getDefiningOp<RingOp>(); }

/// The name of a factor: the tile's slot, or registers.
static std::string nameOfFactor(Value factor, bool isTransposed) {
  auto tile = factor.getDefiningOp<SlotTileOp>();
  std::string name = "r";
  if (tile) {
    name = nameOf(tile.getChannel());
    if (tile.getElement() > 0) { // only tiles of rank 2 are counted: rows stand between them
      auto elements = tile.getChannel().getType().getTiles().take_front(tile.getElement());
      name += "." + std::to_string(llvm::count_if(elements, [](Type type) {
                return cast<RankedTensorType>(type).getRank() == 2;
              }));
    }
  }
  return name + (isTransposed ? "^T" : "");
}

std::string dash::nameOfProduct(MatmulOp op) {
  return nameOfFactor(op.getA(), op.getTransposeA()) + "*" +
         nameOfFactor(op.getB(), op.getTransposeB());
}

Value dash::useOfProduct(MatmulOp op) {
  auto depthOf = [](Operation *ring) {
    int64_t depth = 0;
    for (Operation *around = ring; around; around = around->getParentOp())
      ++depth;
    return depth;
  };
  RingOp found;
  for (Value factor : {op.getA(), op.getB()})
    if (auto tile = factor.getDefiningOp<SlotTileOp>())
      if (RingOp ring = ringOf(tile.getSlot()); ring && (!found || depthOf(ring) > depthOf(found)))
        found = ring;
  return found ? found.getUse() : Value();
}

RingOp dash::slotAdded(Operation *op, bool isBehind) {
  for (; op; op = isBehind ? op->getNextNode() : op->getPrevNode())
    if (auto wait = findSync(op, SyncKind::WaitForSlot))
      return ringOf(wait->slot.slot);
  return RingOp();
}

Operation *dash::giveBehind(Operation *take) {
  for (Operation *op = take->getNextNode(); op; op = op->getNextNode()) {
    if (findSum(op, SumAction::Give))
      return op;
    if (op->getNumRegions() == 0)
      continue;
    WalkResult isSimple = op->walk([](Operation *inner) {
      bool waits = findSync(inner, SyncKind::WaitForSlot) ||
                   findSync(inner, SyncKind::WaitForCopies) || findSum(inner, SumAction::Take) ||
                   findSum(inner, SumAction::Give);
      return waits ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (isSimple.wasInterrupted())
      return nullptr;
  }
  return nullptr;
}

SmallVector<scf::ForOp> dash::itemLoops(RoleOp role) {
  SmallVector<scf::ForOp> loops;
  for (auto loop : role.getBody().front().getOps<scf::ForOp>())
    if (loop.getUpperBound().getDefiningOp<NumItemsOp>())
      loops.push_back(loop);
  return loops;
}
