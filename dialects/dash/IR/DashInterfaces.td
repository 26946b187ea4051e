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

#endif // DASH_IR_DASHINTERFACES_TD
