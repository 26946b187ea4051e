//===- Passes.td - passes of the room Protocol -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Protocol`, of the stage Lowering: what roles do with slots and turns, proven or printed as a model;
// these passes change nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PROTOCOL_PASSES_TD
#define DASH_PROTOCOL_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyWaits : Pass<"dash-verify-waits", "::mlir::ModuleOp"> {
  let summary = "Check that nothing is read or written too early";
  let description = [{
    Follows every path through every role, and checks that

    - sums of an `async` product are used behind the `dash.wgmma_wait` that gives them, but for the next product, which
      may add to them; a wait gives only sums that are complete with what it lets go on; no product is in flight where a
      loop or a branch begins or ends;
    - what reads a slot stands behind a wait for full, and before the arrival at empty; a product in flight reads no
      slot that has been given back;
    - what writes a slot stands behind a wait for empty, and before the arrival at full; what leaves through one stands behind a wait that
      `borrows` it, and such a slot is not given on;
    - what threads write is fenced before it is given on or copied out; one thread copies out for its warpgroup, whose threads meet
      (`dash.sync_warpgroup`) behind their fences, and once more, behind that thread's wait until the copy has read, before a slot
      that may be the same is written;
    - what threads have read of a slot is fenced before it is given back: the copy that fills it next is of another proxy;
    - behind the acquire of a turn stands a fence of `async.global` before sums are stored or added to;
    - along every path as many slots are given on as are waited for, in each iteration of a loop and in both branches alike: else
      the channel's other end stops for ever.

    Needs: `dash-insert-waits`. Leaves: everything. Does not: look at roles together, which `dash-verify-protocol` does.

    (* example filepath=test/Protocol/verify-waits.mlir *)
  }];
}

def VerifyProtocol : Pass<"dash-verify-protocol", "::mlir::ModuleOp"> {
  let summary = "Run the roles of a worker against each other, and check that their protocol is right";
  let description = [{
    Interprets the ops of all roles at once: numbers, loops and branches, slots and phases, arrivals, copies, products, turns.
    A process is a warpgroup of a consumer, a warp of a reducer, or the thread of a producer. They run over short lists of items
    with no step, with few, and with more than everything that is in flight, and it is checked that

    - nobody waits for ever; the error says who waits for what;
    - a wait cannot mistake a phase: its parity is that of its use, its role knows that the phase before is complete, and the
      next one cannot complete before it has looked; nobody arrives more often than a phase has `arrivals`;
    - what reads a slot's element finds what was written for its use of the channel, and not results that leave through the
      slot, of which only their copy finds its piece; what writes one does so behind all who read it, copies and products under way among them;
    - tiles that meet belong together. A tile's rows and columns are those of tiles of memory, from where it was copied on: S has the
      rows of K and, as columns, those of Q. What a product sums over, what it adds to, and what an element-wise op takes, must be
      of the same rows; both sides of scores are of one sequence; what leaves (dQ, dK, dV) goes where its rows are, which the
      role that adds has found in the order by itself; and what K's slot tells is the tile beside it;
    - warpgroups take the tensor core as often as they are given it, and in turn;
    - an add has its tile's turn, the first turn of a chain stores, and a turn is given on when the add is complete; a reducer adds each
      slot once before it gives it back;
    - a result leaves whole: each of its pieces, once, from every warpgroup, and dV as often as dK;
    - where all roles end, slots are empty, copies are complete and not only read, and counters are as they were.

    Which of two accesses comes first in a run is not asked, but whether one is ordered before the other by barriers and turns. So
    one run of a list stands for all speeds of the roles.

    Needs: `dash-insert-waits`, `dash-split-warpgroups`. Leaves: everything. Does not: look at sums in flight and fences, which
    `dash-verify-waits` does; know other workers: turns of several are the business of `dash-verify-schedule`; tell tensors
    with equal rows apart (Q and dO, K and V), or the lead that is told of a mask's edges from another; pass over ops
    that do not say what they do to slots and sums, or that give numbers it cannot compute: they are errors.

    (* example filepath=test/Protocol/verify-protocol.mlir *)
  }];
}

def EmitPromela : Pass<"dash-emit-promela", "::mlir::ModuleOp"> {
  let summary = "Write the protocol of a worker's roles as a model for SPIN";
  let description = [{
    One file of Promela with everything that roles do to slots, barriers and turns, to be checked by SPIN in all interleavings:

    ```sh
    spin -a protocol.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
    ```

    A process type is a role, read as `dash-verify-protocol` reads it: a warpgroup of a consumer, a warp of a reducer, or the thread
    of a producer. Numbers are those of the IR, with a list of `ITEMS` items of `STEPS` steps (`-D`; 3 and 4), or, with `-DANY`, each
    list of so many items with at most so many steps; the items are of `SEQUENCES` sequences (1), and of several parts each ends with its
    pieces of dK and dV. A step of the model goes up to where another process could tell the difference:
    in front of a wait, and behind what is waited for. Barriers are bits of parity, as in the chip.

    Needs: one `dash.workers`, `dash-insert-waits`, `dash-split-warpgroups`. Changes nothing. Does not: look at sums in flight and
    fences, which `dash-verify-waits` does; tell warps of a warpgroup apart.

    (* example filepath=test/Protocol/emit-promela.mlir *)
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

#endif // DASH_PROTOCOL_PASSES_TD
