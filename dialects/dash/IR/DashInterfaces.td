//===- DashInterfaces.td - what passes ask of ops ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHINTERFACES_TD
#define DASH_IR_DASHINTERFACES_TD

include "mlir/IR/OpBase.td"

def StagedOpInterface : OpInterface<"StagedOpInterface"> {
  let description = [{
    An op that a software-pipelined walk can issue. Its stage says for which step: of two ops that one turn
    of the loop issues, that of the lower stage works on a step that begins later.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The stage; null outside of a software-pipelined walk.", "::mlir::IntegerAttr", "getStageAttr">,
    InterfaceMethod<"Sets the stage.", "void", "setStageAttr", (ins "::mlir::IntegerAttr":$stage)>,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let description = [{
    An op on whole tensors that says what each of them is to it. `dash-tile` hands that on (`dash.tensor`), so that passes behind it
    need not know the op, nor what tensors are called.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The operands that are there, in the order in which callers know them, each with its role.",
                    "::llvm::SmallVector<::mlir::dash::TensorOfOp>", "getTensors">,
  ];
}

#endif // DASH_IR_DASHINTERFACES_TD
