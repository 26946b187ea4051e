//===- RoleProgram.h - a role as a list of instructions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_ROLEPROGRAM_H
#define DASH_LIB_PROTOCOL_ROLEPROGRAM_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// What an instruction does.
enum class Opcode : uint8_t {
  // Numbers, and where to go on.
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Compare,
  Select,
  Copy,
  Jump,
  JumpIfZero,
  JumpAtEnd,
  // Tiles in registers, of which it is known where they come from.
  ComputeTile,
  // The worker's list.
  NumItems,
  ReadItem,
  ReadPart,
  ReadVisit,
  WarpOfRole,
  // Slots, barriers, products, copies and turns, as the op says (SlotAccess.h).
  Ring,
  Access,
  Synchronize,
  Turn,
};

/// An element of a slot: that of the use whose number is in a register.
struct SlotPlace {
  unsigned channel; ///< its number among the worker's
  unsigned use;     ///< a register
  unsigned element = 0;
  bool isWhole = true; ///< else the rows of the role's own warpgroup
};

struct Instruction {
  Opcode opcode;
  Operation *op; ///< what it was read from
  SmallVector<unsigned, 4>
      in{}; ///< also indices that are written or told, a phase, a turn, or whether it is a chain's last
  SmallVector<unsigned, 4> out{};
  size_t target = 0; ///< of a jump
  /// Registers that say where tiles come from: those of operands, then that of the result. Of an access its tile.
  SmallVector<unsigned, 4> tiles{};
  SmallVector<unsigned, 4> memory{}; ///< of an access or a turn: sequence, head and tile
  std::optional<SlotPlace> place{};  ///< of an access, and of what waits or arrives
  std::optional<SlotAccess> access{};
  std::optional<Sync> sync{};
  std::optional<SumAccess> sum{}; ///< of a turn, and of the access that brings a contribution

  bool is(SyncKind kind) const { return sync && sync->kind == kind; }
  bool is(SumAction action) const { return sum && sum->action == action; }
  /// Whether it makes a copy or a product read.
  bool isReadBy(AccessAgent agent) const {
    return access && access->kind == AccessKind::Read && access->by == agent;
  }
};

/// A role as a machine runs it: loops and branches are jumps, values are registers. Integers have values; of tiles it is
/// known which slots they are read from and written to, and a register says which tiles of memory they come from
/// (TileOrigins.h). What an op says of slots, sums and others is an instruction each; ops that do nothing to them, to numbers and to
/// tiles are left out.
struct RoleProgram {
  RoleOp role;
  std::vector<Instruction> code;
  std::vector<int64_t> registers; ///< as they are at the begin: constants have their values
  bool takesTurns = false;        ///< adds to memory in turns

  /// Fails, with an error at the op, where it does not know what an op does.
  static FailureOr<RoleProgram> read(RoleOp role);
};

/// All roles of a worker, in which each warpgroup of a consumer is one.
FailureOr<SmallVector<RoleProgram>> readRoles(WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_ROLEPROGRAM_H
