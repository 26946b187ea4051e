//===- Passes.td - passes of Protocol ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Protocol`, of the stage Lowering: how roles use slots and turns, proven or printed as a model.
// These passes change nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PROTOCOL_PASSES_TD
#define DASH_PROTOCOL_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyWaits : Pass<"dash-verify-waits", "::mlir::ModuleOp"> {
  let summary = "Check that no role reads or writes too early";
  let description = [{
    Follows every path through every role, and checks the following:

    - sums of an `async` product are only used after the `dash.wgmma_wait` that returns them, except
      by the next product, which may add to them; a wait returns only sums that are complete with
      what it leaves in flight; no product is in flight at the start or end of a loop or branch;
    - an op that reads a slot follows a wait for full, and precedes the arrival at empty; a product
      in flight does not read a slot that has been released;
    - an op that writes a slot follows a wait for empty, and precedes the arrival at full; a result
      leaves through a slot after a wait that `borrows` it, and such a slot is not passed on. Or it
      takes the place of a tile that the role has waited for: the warpgroup's threads have met after
      their products have read it, nothing reads it afterwards, and it is passed on when the copy
      has read the result;
    - writes by threads are fenced before the slot is passed on or copied out. One thread copies out
      for its warpgroup. The warpgroup's threads meet (`dash.sync_warpgroup`) after their fences.
      They meet again, after that thread's wait until the copy has read, before a slot that may be
      the same is written;
    - reads by threads are fenced before the slot is released: the copy that fills it next belongs
      to another proxy;
    - after the acquire of a turn, a fence of `async.global` precedes stores or adds to sums;
    - along every path, as many slots are passed on as are waited for, in each iteration of a loop
      and equally in both branches. Otherwise the other end of the channel stops forever.

    Needs: `dash-insert-waits`. Leaves: everything. Does not: look at roles together;
    `dash-verify-protocol` does.

    (* example filepath=test/Protocol/verify-waits.mlir *)
  }];
}

def VerifyProtocol : Pass<"dash-verify-protocol", "::mlir::ModuleOp"> {
  let summary = "Run the roles of a worker together, and check their protocol";
  let description = [{
    Interprets the ops of all roles at once: numbers, loops and branches, slots and phases,
    arrivals, copies, products, turns. A process is a warpgroup of a consumer, a warp of a reducer,
    or the thread of a producer. The processes run over short lists of items with no step, with few
    steps, and with more than everything in flight. The pass checks the following:

    - no process waits forever; the error names the processes and what they wait for;
    - a wait cannot mistake a phase: its parity is that of its use, its role knows that the phase
      before is complete, and the next phase cannot complete before it has looked; the arrivals of a
      phase are at most `arrivals`;
    - a reader of a slot's element finds the data written for its use of the channel. It does not
      find results that leave through the slot: only their copy finds its piece. A writer comes
      after all readers, including copies and products in flight;
    - tiles that meet must match. A tile's rows and columns are those of tiles of memory, starting
      with the copy: S has the rows of K and, as columns, those of Q. The operands must have the
      same rows where a product sums, where it adds, and in element-wise ops. Both sides of scores
      belong to one sequence. Results (dQ, dK, dV) go to their own rows, which the adding role has
      found in the order by itself. The indices in K's slot are those of the tile beside them;
    - warpgroups take the tensor core as often as it is given to them, and in turn;
    - an add has its tile's turn, the first turn of a chain stores, and a turn is passed on when the
      add is complete; a reducer adds each slot once before it releases it;
    - a result leaves whole: each of its pieces, once, from every warpgroup, and dV as often as dK;
    - at the end of all roles, slots are empty, copies are complete (not only read), and each
      counter states that all turns are given.

    The check does not ask which of two accesses comes first in a run, but whether barriers and
    turns order them. So one run of a list stands for all speeds of the roles.

    Needs: `dash-insert-waits`, `dash-split-warpgroups`. Leaves: everything. Does not: check sums in
    flight and fences, which `dash-verify-waits` does; model other workers: `dash-verify-schedule`
    proves the turns of several; distinguish tensors with equal rows (Q and dO, K and V), or
    different leads of a mask's edges; skip ops that do not state their effects on slots and sums,
    or that return numbers it cannot compute: these are errors.

    (* example filepath=test/Protocol/verify-protocol.mlir *)
  }];
}

def EmitPromela : Pass<"dash-emit-promela", "::mlir::ModuleOp"> {
  let summary = "Write the protocol of a worker's roles as a model for SPIN";
  let description = [{
    Prints one file of Promela with all effects of roles on slots, barriers and turns. SPIN checks
    it in all interleavings:

    ```sh
    spin -a protocol.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
    ```

    A process type is a role, read like in `dash-verify-protocol`: a warpgroup of a consumer, a warp
    of a reducer, or the thread of a producer. Numbers are those of the IR, with a list of `ITEMS`
    items with `STEPS` steps (`-D`; 3 and 4). With `-DANY`, it is each list of that many items with
    at most that many steps. The items belong to `SEQUENCES` sequences (1). With several parts, each
    item ends with its pieces of dK and dV. A step of the model goes up to the next point that
    another process can observe: before a wait, and after a signal. Barriers are parity bits, as in
    the chip.

    Needs: one `dash.workers`, `dash-insert-waits`, `dash-split-warpgroups`. Changes nothing. Does
    not: check sums in flight and fences, which `dash-verify-waits` does; distinguish the warps of a
    warpgroup.

    (* example filepath=test/Protocol/emit-promela.mlir *)
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

#endif // DASH_PROTOCOL_PASSES_TD
