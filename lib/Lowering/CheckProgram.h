//===- CheckProgram.h - what kernels need of a program ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_CHECKPROGRAM_H
#define DASH_LIB_LOWERING_CHECKPROGRAM_H

#include "dash/IR/DashOps.h"
#include "dash/IR/TensorNames.h"
#include "dash/Schedule/Schedule.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {

/// The op that stands for the main loop of a program, whatever the stages before made of it.
struct ScheduledOp {
  Operation *op;
  FlatSymbolRefAttr order;
  SequencesAttr sequences;
  Value q;
  TensorNames names;
};

/// What `op` is as the main loop of a program, or nothing where it is something else.
std::optional<ScheduledOp> asScheduled(Operation *op);

/// A tensor of a program: its name, and whether the program reads or writes it.
struct TensorRole {
  StringLiteral name;
  bool isWritten, isKeyValue, isPerRow;
};
ArrayRef<TensorRole> tensorRoles();

/// The arguments of a program's function, in the order of `tensorRoles`.
struct ProgramTensors {
  SmallVector<BlockArgument> tensors;
  BlockArgument scale; ///< null where the factor is a constant
};

/// Checks that the kernels cover a program, and finds its tensors. Says at the op in question what they
/// cover.
FailureOr<ProgramTensors> checkProgram(FunctionOpInterface function, const ScheduledOp &scheduled,
                                       const Schedule &schedule);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_CHECKPROGRAM_H
