//===- RoleProgram.h - a role as a list of instructions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_ROLEPROGRAM_H
#define DASH_LIB_PROTOCOL_ROLEPROGRAM_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The kinds of instructions.
enum class Opcode : uint8_t {
  // Numbers and jumps.
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Compare,
  VisibleSteps,
  Select,
  Copy,
  Jump,
  JumpIfZero,
  JumpAtEnd,
  // Tiles in registers, with known origins.
  ComputeTile,
  // The worker's list.
  NumItems,
  ReadItem,
  ReadPart,
  ReadVisit,
  WarpOfRole,
  // Slots, barriers, products, copies and turns, as the op states (SlotAccess.h).
  Ring,
  Access,
  Synchronize,
  Turn,
};

/// An element of a slot; the register `use` holds the number of the use.
struct SlotPlace {
  unsigned channel; ///< index among the worker's channels
  unsigned use;     ///< a register
  unsigned element = 0;
  bool isWhole = true; ///< otherwise the rows of the role's own warpgroup
};

struct Instruction {
  Opcode opcode;
  Operation *op; ///< the op it was read from
  SmallVector<unsigned, 4>
      in{}; ///< also indices to write or read, a phase, a turn, or whether it is a chain's last
  SmallVector<unsigned, 4> out{};
  size_t target = 0; ///< for a jump
  /// Registers with the origins of tiles: of operands, then of the result. For an access, its tile.
  SmallVector<unsigned, 4> tiles{};
  SmallVector<unsigned, 4>
      memory{};                     ///< for an access or a turn: sequence, head and tile, of a task
                                    ///< kv head and kv tile, too
  std::optional<SlotPlace> place{}; ///< for an access, a wait or an arrival
  std::optional<SlotAccess> access{};
  std::optional<Sync> sync{};
  std::optional<SumAccess> sum{}; ///< for a turn, and for the access that brings a contribution

  bool is(SyncKind kind) const { return sync && sync->kind == kind; }
  bool is(SumAction action) const { return sum && sum->action == action; }
  /// Whether it starts a read by a copy or by a product.
  bool isReadBy(AccessAgent agent) const {
    return access && access->kind == AccessKind::Read && access->by == agent;
  }
};

/// A role as a machine runs it: loops and branches are jumps, values are registers. Integers have
/// values. For a tile, the program knows the slots that it is read from and written to, and a
/// register holds the tiles of memory it comes from (TileOrigins.h). Each effect of an op on slots,
/// sums and other roles is one instruction. Ops without effects on these, on numbers or on tiles
/// are omitted.
struct RoleProgram {
  RoleOp role;
  std::vector<Instruction> code;
  std::vector<int64_t> registers; ///< initial values: constants have theirs
  bool takesTurns = false;        ///< adds to memory in turns

  /// Fails, with an error at the op, if the effect of an op is unknown.
  static FailureOr<RoleProgram> read(RoleOp role);
};

/// How many steps an item hides from a warpgroup in the model, which has no masks: as many as may
/// be from the first `steps mod warpgroups` of them, as a mask hides more from earlier rows. So
/// lists of items have all that masks give: from none, from some, from all but the last.
struct HiddenSteps {
  int64_t most, warpgroup, warpgroups;

  static HiddenSteps of(const Instruction &instruction);
  int64_t visible(int64_t steps) const {
    return steps > most && warpgroup < steps % warpgroups ? steps - most : steps;
  }
};

/// How many threads of a role arrive together at a barrier.
int64_t countArrivals(RoleOp role, const Sync &arrival);

/// All roles of a worker; each warpgroup of a consumer is a separate role.
FailureOr<SmallVector<RoleProgram>> readRoles(WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_ROLEPROGRAM_H
