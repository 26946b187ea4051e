//===- Consumers.cpp - roles that read channels, and that multiply --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/Consumers.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<RoleOp> dash::getReaders(ChannelOp channel) {
  SmallVector<RoleOp> readers;
  for (RoleOp role : cast<WorkersOp>(channel->getParentOp()).getRoles())
    if (llvm::any_of(channel.getResult().getUsers(), [&](Operation *user) {
          return isa<WaitOp>(user) && role->isProperAncestor(user);
        }))
      readers.push_back(role);
  return readers;
}

/// Calls with each consumer, and the number of the first warpgroup of what it is a copy of; returns
/// the number of all.
static int64_t forEachConsumer(WorkersOp workers, function_ref<void(RoleOp, int64_t)> visit) {
  int64_t first = 0, end = 0;
  RoleOp last;
  for (RoleOp role : workers.getRoles()) {
    if (!role.isConsumer())
      continue;
    bool isNext = last && role.getWarpgroup() && last.getWarpgroup() &&
                  role.getWarpgroups() == last.getWarpgroups() &&
                  *role.getWarpgroup() == *last.getWarpgroup() + 1;
    if (!isNext) {
      first = end;
      end += role.getWarpgroups().value_or(role.getNumWarpgroups());
    }
    visit(role, first);
    last = role;
  }
  return end;
}

int64_t dash::getNumMultiplying(WorkersOp workers) {
  return forEachConsumer(workers, [](RoleOp, int64_t) {});
}

int64_t dash::getFirstMultiplying(RoleOp consumer) {
  int64_t found = 0;
  forEachConsumer(cast<WorkersOp>(consumer->getParentOp()),
                  [&](RoleOp other, int64_t first) { found = other == consumer ? first : found; });
  return found;
}
