//===- Passes.td - one stage after the other -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that belong to no stage, because they check the boundaries between stages.
//===----------------------------------------------------------------------------===//

#ifndef DASH_DRIVER_PASSES_TD
#define DASH_DRIVER_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyStage : Pass<"dash-verify-stage", "::mlir::ModuleOp"> {
  let summary = "Check the contract of a stage";
  let description = [{
    Checks the contract that holds after a stage, and reports a violation at the op:

    | after | must be there | must be gone |
    |---|---|---|
    | `IR` | a `dash.attention_bwd` | everything that later stages make |
    | `Schedule` | a `dash.items`; an order for each | `dash.attention_bwd` |
    | `Pipeline` | a `dash.workers`; all depths, places, registers | `dash.items` outside of roles |
    | `Lowering` | kernels | dash, nvgpu; in kernels all but llvm, nvvm, arith, cf, scf |
    | `Target` | nothing: kernels may be in files | kernel modules, every op of dash |

    Needs: nothing. Leaves: everything as it is.
    Does not: prove orders; see `dash-verify-schedule`.

    (* example filepath=test/Driver/verify-stage.mlir show=command *)
  }];
  let options = [
    Option<"after", "after", "::mlir::dash::Stage", /*default=*/"::mlir::dash::Stage::IR",
           "The stage that has run. The default is a program's form before all of them",
           [{::llvm::cl::values(
             clEnumValN(::mlir::dash::Stage::IR, "IR", "what is computed"),
             clEnumValN(::mlir::dash::Stage::Schedule, "Schedule", "in which order"),
             clEnumValN(::mlir::dash::Stage::Pipeline, "Pipeline", "by whom, through what"),
             clEnumValN(::mlir::dash::Stage::Lowering, "Lowering", "with which instructions"),
             clEnumValN(::mlir::dash::Stage::Target, "Target", "for which machine"))}]>,
  ];
}

#endif // DASH_DRIVER_PASSES_TD
