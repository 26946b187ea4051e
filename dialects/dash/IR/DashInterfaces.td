//===- DashInterfaces.td - what passes query ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHINTERFACES_TD
#define DASH_IR_DASHINTERFACES_TD

include "mlir/IR/OpBase.td"

def StagedOpInterface : OpInterface<"StagedOpInterface"> {
  let description = [{
    An op that a software-pipelined walk can issue. Its stage determines its step: of two ops that
    one iteration of the loop issues, the one with the lower stage works on a step that begins
    later.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The stage; null outside of a software-pipelined walk.", "::mlir::IntegerAttr",
        "getStageAttr">,
    InterfaceMethod<"Sets the stage.", "void", "setStageAttr", (ins "::mlir::IntegerAttr":$stage)>,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let description = [{
    An op on whole tensors that states the role of each. `dash-tile` records the roles
    (`dash.tensor`), so later passes need neither the op nor names of tensors.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The operands that exist, in the order that callers use, each with its role.",
                    "::llvm::SmallVector<::mlir::dash::TensorOfOp>", "getTensors">,
    InterfaceMethod<"The head dim of q and k.", "int64_t", "getHeadDim">,
    InterfaceMethod<"The head dim of v.", "int64_t", "getHeadDimV">,
    InterfaceMethod<"Which columns a row attends to.", "::mlir::dash::MaskAttr", "getMask">,
    InterfaceMethod<"How kernels cut it into tiles; null before that is chosen.",
                    "::mlir::dash::TilingAttr", "getTilingAttr">,
    InterfaceMethod<"Sets how kernels cut it into tiles.", "void", "setTilingAttr",
                    (ins "::mlir::dash::TilingAttr":$tiling)>,
  ];
}

#endif // DASH_IR_DASHINTERFACES_TD
