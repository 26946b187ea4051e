//===- Passes.td - passes of the room Main -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Main`, of the stage Lowering: from ops of dash to instructions, for the main kernel;
// one conversion, and the branch that gives each warp its role.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_MAIN_PASSES_TD
#define DASH_MAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToNvvm : Pass<"dash-convert-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Convert what roles do to instructions";
  let description = [{
    A dialect conversion, a pattern an op: what stands in roles becomes ops of arith, llvm, nvvm and scf, and of
    assembly where they have none.

    | before | after |
    |---|---|
    | a tile with `#dash.fragment` | the thread's registers: f32, or i32 for an operand |
    | a tile with `#dash.swizzled` | its address in shared memory, i32 |
    | a slot of a channel | its number; addresses are computed where they are needed |
    | `dash.matmul` | one assembly, from `wgmma.fence` to its commit |
    | `dash.wgmma_wait` | `wgmma.wait_group`, through which all sums that it completes go |
    | `dash.load_factor` | `ldmatrix`, four words at a time: a warpgroup's rows as wgmma wants a left factor |
    | `dash.log_probability` | scale * log2(e) * s - lse2, an fma each |
    | `dash.softcap` | 1 - 2 / (1 + 2^x), of two approximations: `ex2` and `rcp` |
    | `dash.hide` | selects, behind a branch: only tiles that an edge of the mask cuts have hidden elements |
    | `dash.copy_in`, `dash.copy_out` | copies by descriptors, or of bytes |

    A role begins with what its threads have all along, and with a fence for each descriptor that it uses: another
    kernel has written them. Indices stay of type index, of 32 bits (`dash-convert-to-llvm`). Of a list, what the order buffer says
    of a sequence is read where a role is told which sequence an item is of, not in each step; a consumer, which has no registers to
    keep it in, reads it again to hide rows past the end and to copy gradients out.

    Needs: `dash-distribute-tiles`, `dash-insert-waits`, `dash-split-warpgroups`, `dash-outline-workers`. Leaves:
    `dash.workers` with its channels and roles, and `dash.warp_of_role`. Does not: decide anything; what waits for what
    and who holds what stand in the ops.

    (* example filepath=test/Main/convert-to-nvvm.mlir *)
  }];
  let statistics = [Statistic<"numConverted", "num-converted", "Number of workers converted">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerRoles : Pass<"dash-lower-roles", "::mlir::ModuleOp"> {
  let summary = "Lower roles to branches on the warp";
  let description = [{
    One thread initialises the mbarriers of all slots, for as many arrivals as the channel says; the block waits
    for it. Then warps branch, by a number that the compiler knows to be the same in all lanes: registers first, because
    they belong to warpgroups (`setmaxnreg`), then the role's body, in all lanes for a consumer, else in lane 0.

    Needs: `dash-convert-to-nvvm`. Leaves: no op of dash in the entry. Does not: change bodies.

    (* example filepath=test/Main/lower-roles.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of workers lowered">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_MAIN_PASSES_TD
