//===- Passes.td - passes of Main --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Main`, of the stage Lowering: from ops of dash to instructions of the main kernel. Items that
// are handed out, one conversion, and the branch that gives each warp its role.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_MAIN_PASSES_TD
#define DASH_MAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToNvvm : Pass<"dash-convert-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Convert the ops of roles to instructions";
  let description = [{
    A dialect conversion with one pattern for each op. Ops of roles become ops of arith, llvm, nvvm
    and scf, or assembly if there is no op.

    | before | after |
    |---|---|
    | a tile with `#dash.fragment` | the thread's registers: f32, or i32 for an operand |
    | a tile with `#dash.swizzled` | its address in shared memory, i32 |
    | a slot of a channel | its number; addresses are computed where they are needed |
    | `dash.matmul` | one assembly, from `wgmma.fence` to its commit |
    | `dash.wgmma_wait` | `wgmma.wait_group`, through which all sums that it completes go |
    | `dash.load_factor` | `ldmatrix`, four words at a time, in the layout of a left factor |
    | `dash.log_probability` | scale * log2(e) * s - lse2, an fma each |
    | `dash.softcap` | 1 - 2 / (1 + 2^x), of two approximations: `ex2` and `rcp` |
    | `dash.hide` | selects in a branch, for tiles that an edge of the mask cuts |
    | `dash.running_max` | the largest of a thread, then of the row's four threads by shuffles |
    | `dash.rescale` | products in a branch, for warps with a row whose reference moved |
    | `dash.finish` | `lg2`, an approximation, and a division |
    | `dash.store_row` | a store by one of the row's four threads |
    | `dash.copy_in`, `dash.copy_out` | copies by descriptors, or of bytes |

    A role begins with the values that its threads keep, and with a fence for each descriptor that
    it uses: another kernel has written them. Indices keep the type index, with 32 bits
    (`dash-convert-to-llvm`). For a list, the order buffer's record of a sequence is read where a
    role learns the sequence of an item, not in each step. A consumer has no registers to keep it:
    it reads the record again to hide rows past the end and to copy gradients out.

    Needs: `dash-distribute-tiles`, `dash-insert-waits`, `dash-split-warpgroups`,
    `dash-outline-workers`. Leaves: `dash.workers` with its channels and roles, and
    `dash.warp_of_role`. Does not: decide anything; the ops state the waits and the layouts.

    (* example filepath=test/Main/convert-to-nvvm.mlir *)
  }];
  let statistics = [Statistic<"numConverted", "num-converted", "Number of workers converted">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def SampleTrace : Pass<"dash-sample-trace", "::mlir::ModuleOp"> {
  let summary = "Leave records of some items of a worker's list only";
  let description = [{
    If `trace_every` of `dash.workers` is more than 1, the body of each role's loop over items is
    there twice: as it is, for the second of each so many items and for an only one, and without
    clocks and records, for the others. Sums do not live across items, so no product is in flight
    at the branch.

    Both bodies have the same ops besides clocks and records, on which no wait depends. So what
    passes have proven before of the one body holds for each, and this pass stands behind them.

    Needs: `dash-insert-trace`, before the proofs. Leaves: all else; all, if `trace_every` is 1.
    Does not: place the records.

    (* example filepath=test/Main/sample-trace.mlir *)
  }];
  let statistics = [Statistic<"numLoops", "num-loops", "Number of loops with two bodies">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AwaitItems : Pass<"dash-await-items", "::mlir::ModuleOp"> {
  let summary = "Let consumers go on until they are told that no item is left";
  let description = [{
    Where `dash.workers` says `begins_ahead`, consumers have begun an item behind the last one,
    which has -1 steps. Their loops over a list become loops until an item has none (`scf.while`),
    and what follows the loop, releases of that item's slots, becomes the last turn. So they need no
    number of items.

    It matters for ptxas, too: it serializes products of a loop around which no path with an effect
    leads.

    Needs: `dash-begin-items`, `dash-insert-waits`, and the proofs before it. Leaves: loops of other
    roles. Does not: change an item.

    (* example filepath=test/Main/await-items.mlir *)
  }];
  let statistics = [Statistic<"numChanged", "num-changed", "Number of consumers changed">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def HandOutItems : Pass<"dash-hand-out-items", "::mlir::ModuleOp"> {
  let summary = "Let workers draw their items while a program runs";
  let description = [{
    Where `dash.workers` says `hands_out`, the loops of its roles over a list become loops until no
    item is left (`scf.while`).

    The role that loads begins with the item of its worker's number, and draws the next one
    (`dash.draw_item`) when all tiles of this one are on their way: not before, or a short item
    would wait behind a long one while others idle. Behind the last item it fills one more slot of
    the channel that tells of items, with -1 in place of a number of steps. A consumer waits for
    that slot as for an item's, reads the number, and ends.

    To a worker, what it draws is a list, whose end it learns last. So what passes have proven
    before for any list of its own holds. The slot at the end is one more use of its channel, which
    waits as the others do, and nothing is filled behind it.

    Items are drawn in the order of one list, which `NAME_order` writes: longer sequences first,
    each in the order of its formulas. Whatever worker is free first takes the next. Bits do not
    depend on it where nothing is summed across items, as in forwards.

    Needs: `dash-assign-roles=hand-out=true`, `dash-insert-waits`, `dash-outline-workers`, and the
    proofs before it. Leaves: all else. Does not: decide which programs hand out.

    (* example filepath=test/Main/hand-out-items.mlir *)
  }];
  let statistics = [Statistic<"numHandedOut", "num-handed-out", "Number of workers changed">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ShareCode : Pass<"dash-share-code", "::mlir::ModuleOp"> {
  let summary = "Give the warpgroups of a consumer one code";
  let description = [{
    Replaces the copies of a forward's consumer, one for each warpgroup, by one role of all their
    warps, where their bodies are equal. What the first and the last copy do
    beside it, the first give of the tensor core and its last take, stand in branches on the warp.
    From here on what differs by warpgroup is computed from its number: rows of tiles, named
    barriers.

    The code of three warpgroups has up to 80 KB, and instructions that are not in the cache stall
    all of them (docs/history.md, "One code for all warpgroups").

    Needs: `dash-split-warpgroups`, and the proofs, which follow each warpgroup. Leaves: backwards;
    workers with a trace, whose records say by their role which warpgroup they are of; copies that
    differ. Does not: change what a warpgroup does.

    (* example filepath=test/Main/share-code.mlir *)
  }];
  let statistics = [Statistic<"numShared", "num-shared", "Number of consumers with one code">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LowerRoles : Pass<"dash-lower-roles", "::mlir::ModuleOp"> {
  let summary = "Lower roles to branches on the warp";
  let description = [{
    One thread initialises the mbarriers of all slots, with the arrivals that the channel states,
    and the block waits for it. Then warps branch by a number that the compiler knows to be uniform.
    First come registers, because they belong to warpgroups (`setmaxnreg`), then the role's body: in
    all lanes for a consumer, in lane 0 otherwise.

    Needs: `dash-convert-to-nvvm`. Leaves: no op of dash in the entry. Does not: change bodies.

    (* example filepath=test/Main/lower-roles.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of workers lowered">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_MAIN_PASSES_TD
