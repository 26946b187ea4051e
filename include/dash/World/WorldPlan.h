//===- WorldPlan.h - which rank computes what, and what travels -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDPLAN_H
#define DASH_WORLD_WORLDPLAN_H

#include "dash/World/WorldProblem.h"
#include <array>

namespace mlir::dash::world {

/// Leaves [firstLeaf, endLeaf) of a kv head of a document, computed by a rank.
struct Run {
  int32_t rank;
  int64_t document, kvHead, firstLeaf, endLeaf;
};

/// Kv heads [kvHead, kvHead + kvHeads) of a document, whose inputs stay with all of their servers
/// from the forward to the backward.
struct KeptHeads {
  int64_t document, kvHead, kvHeads;
};

/// The rank of each unit (World::firstUnit).
using Owners = std::vector<int32_t>;

/// Tensors with the same rows. A message carries one such set, tensor after tensor in this order,
/// each as [heads, rows, head dim] or [heads, rows].
enum Tensor : uint32_t {
  Q = 1, ///< of the query heads of the kv heads, like DO, O and DQ
  DO = 2,
  LSE = 4,   ///< f32
  Delta = 8, ///< f32
  K = 16,    ///< of the kv heads, like V, DK and DV
  V = 32,
  O = 64,
  DQ = 128,
  Sums = 256, ///< f32 sums of a node for dK, then for dV
  DK = 512,
  DV = 1024
};

/// "Q+dO+LSE+delta".
std::string nameTensors(uint32_t what);

struct Message {
  int32_t from, to;
  uint32_t what;
  int64_t document, kvHead, kvHeads, first, end; ///< rows [first, end)
  Node node;                                     ///< for sums
  int64_t sendOffset = 0, receiveOffset = 0; ///< bytes in the sender's and in the receiver's buffer
  int64_t bytes = 0;                         ///< including padding
};

enum class Group { Node, All };

/// One exchange: each rank has a buffer to send from, ordered by receivers, and one to receive in,
/// ordered by senders.
struct Phase {
  StringRef name;
  Group group;
  std::vector<Message> messages;                ///< by sender, then receiver
  std::vector<int64_t> sendBytes, receiveBytes; ///< of each rank's buffer
};

/// Where a fold happens: at the server of all leaves below, in the cluster node that has them, or
/// at the home of the rows.
enum class Stage { Server, Node, Home };

/// node = left + right, rows [first, end) of it. Rows that left lacks are copied from right.
struct Fold {
  Stage stage; ///< Server: before the phase `sums`, Node: before `gradients`, Home: after it
  int32_t rank;
  int64_t document, kvHead, kvHeads;
  Node node;
  int64_t first, end;
};

enum ForwardPhase { ForwardInputs, ForwardRelays, ForwardOutputs, numForwardPhases };
enum BackwardPhase { BackwardInputs, BackwardRelays, BackwardSums, Gradients, numBackwardPhases };

struct WorldPlan {
  std::string kind;
  std::vector<Run> runs;       ///< by document, kv head, leaf
  std::vector<KeptHeads> kept; ///< by document, kv head
  std::array<Phase, numForwardPhases> forward;
  std::array<Phase, numBackwardPhases> backward;
  std::vector<Fold>
      /// in the order in which a rank executes its own: by stage, document, kv head; children first
      folds;
  /// For each rank, in one pass: f32 sums that are live while a head's leaves are processed.
  std::vector<int64_t> sumBytes;
  /// For each rank: what stays with it from the forward to the backward.
  std::vector<int64_t> keptBytes;
};

/// Bytes of rows of a set of tensors, without padding.
int64_t bytesOf(const World &world, uint32_t what, int64_t kvHeads, int64_t rows);
/// Messages begin at multiples of this many bytes.
constexpr int64_t alignment = 128;
/// The most 4-byte words that one rank sends another in a phase: 2^31 - 1.
constexpr int64_t mostWords = (int64_t(1) << 31) - 1;

/// The runs of maximal length.
std::vector<Run> runsOf(const World &world, const Owners &owners);
/// Adds the phases' names and groups, without messages.
void beginPhases(WorldPlan &plan);
/// The plan that follows from the places of leaves.
WorldPlan completePlan(const World &world, std::string kind, const Owners &owners);
/// Which heads are kept: as many as a server has bytes for, documents with few rows first.
std::vector<KeptHeads> keptOf(const World &world, const Owners &owners);
/// Bytes that stay with each rank: messages of forwards, and the LSE of rows that are not at home.
std::vector<int64_t> keptBytesOf(const World &world, const WorldPlan &plan);
/// Bytes of live sums on each rank.
std::vector<int64_t> sumBytesOf(const World &world, ArrayRef<Run> runs);
/// Bytes of buffers on a rank: those of the larger pass, and those kept between passes.
int64_t memoryOf(const World &world, const WorldPlan &plan, int64_t rank);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDPLAN_H
