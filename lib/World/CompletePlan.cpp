//===- CompletePlan.cpp - what follows from the places of leaves ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Exchange.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir::dash::world;

/// Gives messages their bytes and places, and orders them.
static void layOut(const World &world, Phase &phase) {
  std::vector<Message> &messages = phase.messages;
  int64_t ranks = world.problem().ranks, count = messages.size();
  // Two stable counting sorts: by receiver, then by sender.
  std::vector<Message> sorted(count);
  std::vector<int64_t> places(ranks + 1);
  auto sortBy = [&](auto key) {
    std::fill(places.begin(), places.end(), 0);
    for (const Message &message : messages)
      ++places[key(message) + 1];
    std::partial_sum(places.begin(), places.end(), places.begin());
    for (const Message &message : messages)
      sorted[places[key(message)]++] = message;
    messages.swap(sorted);
  };
  sortBy([](const Message &message) { return message.to; });
  sortBy([](const Message &message) { return message.from; });
  phase.sendBytes.assign(ranks, 0);
  phase.receiveBytes.assign(ranks, 0);
  for (Message &message : messages) {
    message.bytes = llvm::alignTo(
        bytesOf(world, message.what, message.kvHeads, message.end - message.first), alignment);
    message.sendOffset =
        std::exchange(phase.sendBytes[message.from], phase.sendBytes[message.from] + message.bytes);
    // Senders are in order here too.
    message.receiveOffset = std::exchange(phase.receiveBytes[message.to],
                                          phase.receiveBytes[message.to] + message.bytes);
  }
}

WorldPlan mlir::dash::world::completePlan(const World &world, std::string kind,
                                          const Owners &owners) {
  WorldPlan plan;
  plan.kind = std::move(kind);
  beginPhases(plan);
  plan.runs = runsOf(world, owners);
  plan.kept = keptOf(world, owners);
  Exchange(world, owners, plan).plan();
  for (Phase &phase : plan.forward)
    layOut(world, phase);
  for (Phase &phase : plan.backward)
    layOut(world, phase);
  plan.sumBytes = sumBytesOf(world, plan.runs);
  plan.keptBytes = keptBytesOf(world, plan);
  return plan;
}
