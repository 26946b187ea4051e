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
  // Slots and their barriers.
  Ring,
  Wait,
  Arrive,
  Expect,
  CopyIn,
  CopyOut,
  WriteIndices,
  ReadIndices,
  ReadAgain, ///< indices that it has been told before
  LoadRow,
  StoreFragment,
  // Products.
  Issue,
  WaitProducts,
  TakeTensorCore,
  GiveTensorCore,
  // The ordered add.
  AcquireTurn,
  ReleaseTurn,
  AddTile,
  CommitCopies,
  WaitCopies,
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
  SmallVector<unsigned, 4> in, out;
  SmallVector<SlotPlace, 2> places;
  size_t target = 0; ///< of a jump
  /// Registers that say where tiles come from: those of operands, then that of the result. Of a copy, where it is in memory.
  SmallVector<unsigned, 4> tiles{};
};

/// A role as a machine runs it: loops and branches are jumps, values are registers. Integers have values; of tiles it is
/// known which slots they are read from and written to, and a register says which tiles of memory they come from
/// (TileOrigins.h). Ops that do nothing to slots, barriers, numbers and tiles are left out.
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
