//===- Passes.td - as instructions ---------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Lowering`: from a proven order to the entries of kernels. Here is what leads to the main one; the others are in EntryPasses.td.
//===----------------------------------------------------------------------------===//

#ifndef DASH_LOWERING_PASSES_TD
#define DASH_LOWERING_PASSES_TD

include "dash/Lowering/EntryPasses.td"
include "mlir/Pass/PassBase.td"

def OutlineProgram : Pass<"dash-outline-program", "::mlir::ModuleOp"> {
  let summary = "Make a module for the kernels of each scheduled program";
  let description = [{
    Adds `gpu.module @NAME_kernels` behind each function NAME whose items are split among roles. Entries will be called
    `NAME_role`, with NAME as PTX can have it (`#dash.program`). The module has no kernels yet; it says what a launcher needs to know beside them, in the terms of the manifest:

    - `dash.program`: the program's facts, sizes (a range, or the value that a type or a table fixes),
      constraints, derived sizes, tensors, regions of the workspace, and where the order comes from;
    - `dash.formulas`: the order, where it is formulas;
    - `dash.order_buffer`: what the main kernel reads, where the order is a table.

    All of it comes from the program: its `dash.schedule`, with what was proven of it, and the types and names of
    its arguments.

    **Workers**: `min_workers` is 1 where no worker waits for another: one worker, adds in no order, or a table in
    which no two workers add to one q tile. Else it is all workers. What the proof found for fewer rests on workers that start
    in index order, and no launch promises that.

    **Tickets**: with `tickets=true` a worker's index is not its block's: it draws the next one when it starts, from a word
    `tickets` of the workspace. So workers do start in index order, and `min_workers` of a table is what the proof found. (Of
    formulas it stays all workers: the proof is of one size.) No entry has to be launched cooperatively then: a launch is right wherever
    `min_workers` of its blocks are resident at once.

    Needs: `dash-check-kernels`, `dash-assign-roles`. Leaves: the function as it is. Does not: make entries; the
    passes `dash-lower-*` do.

    (* example filepath=test/Lowering/outline-program.mlir *)
  }];
  let options = [
    Option<"tickets", "tickets", "bool", /*default=*/"false",
           "Let workers draw their indices when they start, for hosts that cannot launch cooperatively">];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of modules made">];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def PeelWalks : Pass<"dash-peel-walks", "::mlir::ModuleOp"> {
  let summary = "Make the prologue, the steady state and the epilogue of a walk visible";
  let description = [{
    Replaces each `dash.walk` of n steps and s stages by the iterations that it issues: s - 1 of prologue, in which only ops
    of low stages have a step; a loop of n - s + 1, in which all have; s - 1 of epilogue. Walks of fewer than
    s - 1 steps, and of none, are branches of their own: no branch stands around an op.

    What the loop carries is what crosses from iteration to iteration in registers: sums, and what is made ahead. A tile that stays in its
    slot is named again by `dash.held` where it is read. Uses of channels say the step of the item that they are for:
    `dash.wait %q_tiles[%step]`.

    Needs: `dash-check-resources`. Leaves: no `stages`; walks without stages, those of producers and reducers, as they are.
    Does not: say who holds which part of a tile, or when a product is complete.

    (* example filepath=test/Lowering/peel-walks.mlir *)
  }];
  let statistics = [Statistic<"numPeeled", "num-peeled", "Number of walks peeled">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ReadOrder : Pass<"dash-read-order", "::mlir::ModuleOp"> {
  let summary = "Turn items and walks into loops that read the order";
  let description = [{
    Replaces the `dash.items` of each role by a loop over its worker's list. A producer or reducer reads the list from the order
    buffer (`dash.read_item`, `dash.read_visit`); of n reducer warps, warp w has every n-th use of its channel. A consumer is told by indices
    in slots how many steps an item has, and reads only how many items there are.

    Every use of a channel gets its number over the worker's whole life: a use of an item is the item's place in the list, a use
    of a step is counted on from item to item. Where an item uses a channel of steps behind its walk (sums over parts), those uses
    follow its steps: each reducer warp keeps the order steps, then sums, which is the program order that a schedule's progress is
    proven for; the turn among the parts is read there (`dash.read_part`).

    Needs: `dash-peel-walks`. Leaves: no `dash.items` and no `dash.walk` in roles. Does not: say which slot or which phase of a
    barrier a use has; `dash-insert-waits` does.

    (* example filepath=test/Lowering/read-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of roles lowered to loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FinishProgram : Pass<"dash-finish-program", "::mlir::ModuleOp"> {
  let summary = "Erase functions that are kernels now";
  let description = [{
    Erases each function that has a module of kernels, and every `dash.schedule` that nothing refers to any
    more. What is left in such a function may only allocate and compute what nobody uses: an op that no
    kernel has taken over is an error, and so are callers.

    Needs: `dash-outline-program` and the passes `dash-lower-*`. Leaves: the modules of kernels, and what
    else stands in the module. Does not: look into kernels.

    (* example filepath=test/Lowering/finish-program.mlir *)
  }];
  let statistics = [Statistic<"numFinished", "num-finished", "Number of functions erased">];
}

def DistributeTiles : Pass<"dash-distribute-tiles", "::mlir::ModuleOp"> {
  let summary = "Say who holds which element of a tile";
  let description = [{
    Gives the tiles of consumers layouts, as encodings of their types. n is the number of a consumer's warpgroups:

    | tile | layout |
    |---|---|
    | waited for, or held: a factor of products | `#dash.swizzled`: in a slot |
    | sums, 64 n rows | `#dash.fragment<accumulator, rows by n>` |
    | sums, 64 rows (dQ of q tiles of 64) | `#dash.fragment<accumulator, columns by n>` |
    | sums rounded, factors that are held | `#dash.fragment<operand, rows by n>`: factor of products, or stored to a slot |
    | one number a query | `#dash.fragment<row, rows by n>`, in each warpgroup |

    Elements of channels say how tiles lie in slots. Sums lie there, and in memory, as the warpgroups hold them: the
    reducer's tile has the consumer's layout, and so has the function's `dash.convert`, as its `layout`.

    Needs: `dash-assign-roles`. Leaves: values; which op runs when. Does not: split a consumer into its warpgroups, which
    `dash-split-warpgroups` does.

    (* example filepath=test/Lowering/distribute-tiles.mlir *)
  }];
}

def LowerOrderedReduce : Pass<"dash-lower-ordered-reduce", "::mlir::ModuleOp"> {
  let summary = "Lower adds to memory to bulk copies, in turns and in no order";
  let description = [{
    Replaces `dash.ordered_reduce` in reducers, one thread for each warp, by the turn of a semaphore:

    1. `dash.acquire_turn`: the tile's counter is the turn; then the slot is waited for, and a fence of the async proxy;
    2. at turn 0 `dash.bulk_store`, else `dash.bulk_add`; a group of copies;
    3. once the slot has been read (`wait_group 0 {read}`) it is released; the turn is not;
    4. once the sum is in memory (`wait_group 0`), `dash.release_turn`: completion brings a proxy fence of its own.

    So a thread never waits for a turn while an add of its own is unreleased. `dash.reduce`, in no order, becomes
    `dash.bulk_add`, a group and a wait until the slot has been read; sums are waited for once, at the role's end. So becomes an
    `apart` one `dash.bulk_store` to the place of its turn, beside `dash.count_turns`.

    Needs: `dash-read-order`. Leaves: waits for slots and their releases. Does not: touch consumers or producers.

    (* example filepath=test/Lowering/lower-ordered-reduce.mlir *)
  }];
  let options = [
    Option<"contributions", "contributions", "bool", /*default=*/"false",
           "Keep each contribution in a region of the workspace: to dQ in `contributions`, slot (q tile, "
           "turn), with parts to dK and dV in `dk_contributions` and `dv_contributions`, so that a chain's "
           "sum can be replayed. Off because it is large and slow">,
    Option<"delays", "delays", "bool", /*default=*/"false",
           "Sleep for random times wherever a turn or a slot is waited for: bits must not change. For tests">,
  ];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of adds lowered">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def SinkWaits : Pass<"dash-sink-waits", "::mlir::ModuleOp"> {
  let summary = "Wait for a slot where it is first read";
  let description = [{
    K and V of an item are put one after the other, but V is needed a product later: by then it has come. A wait of a consumer for a slot
    that only products read moves down to the first of them, into both sides of a branch, behind which `dash.held` gives the slot's
    tiles again. So does `dash.load_factor`, which loads what stays in registers for the item, in front of the wait for its slot. Where
    a branch does not use what is loaded, a fence stands at its end: the next copy into the slot may not pass the load.

    What tells a consumer something (indices), or goes to registers in each step (rows), is waited for where it stands.

    Needs: `dash-read-order`. Leaves: the order of everything else. Does not: make a wait an instruction, which `dash-insert-waits` does.

    (* example filepath=test/Lowering/sink-waits.mlir *)
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def HoistReleases : Pass<"dash-hoist-releases", "::mlir::ModuleOp"> {
  let summary = "Give a slot back behind its last reader";
  let description = [{
    A slot of an item is released behind the item's steps, though V is read last by the last step's dP, two products before. Where K and V
    have one slot each, the next item's copy waits for that. The release of a consumer for a slot of an item moves up behind the last
    op that reads it, into both sides of a branch. Of a product it stands in front of what needs the sums; of a slot that threads have
    loaded into registers (`dash.load_factor`), behind a commit, whose fence keeps the next copy behind the loads; it stays where it is
    if there is none.

    Needs: `dash-read-order`. Leaves: the order of everything else. Does not: make a release an instruction, which `dash-insert-waits` does.

    (* example filepath=test/Lowering/hoist-releases.mlir *)
  }];
}

def HoistStores : Pass<"dash-hoist-stores", "::mlir::ModuleOp"> {
  let summary = "Let results leave when they are there";
  let description = [{
    dV and dK of an item are complete with its last step, while its last dQ still waits for dS of the other warpgroup. A store whose tile
    branches make moves into them, in front of the last wait for the channel through which it leaves, if its slots are empty by then: the
    role has released what it has waited for before, and the channel has more slots than the store has pieces and slots `ahead`. Where one
    branch has such a place, the store goes to the end of the others; where none has, it stays behind them. Stores that leave through the
    same channel keep their order.

    Needs: `dash-read-order`. Leaves: the order of stores. Does not: copy anything, which `dash-insert-waits` does.

    (* example filepath=test/Lowering/hoist-stores.mlir *)
  }];
}

def InsertWaits : Pass<"dash-insert-waits", "::mlir::ModuleOp"> {
  let summary = "Make every wait, fence and arrival an op";
  let description = [{
    Replaces the ops of channels. A use has a slot and a phase (`dash.ring`), and then

    | op | becomes |
    |---|---|
    | `dash.put` of loads | wait for empty, write the indices, expect the bytes, a copy for each tile |
    | `dash.put` of fragments | wait for empty, store the fragments; of puts that follow each other, all wait in front of the first: a test of a barrier would wait behind their stores |
    | `dash.commit` | a fence of the async proxy, an arrival at full; commits that follow each other have one fence |
    | `dash.wait` | wait for full; rows and indices are loaded into registers |
    | `dash.held` | the slot's tiles, without a wait |
    | `dash.release` | an arrival at empty, once no product in flight reads the slot |
    | `dash.store` | wait for empty slots, which it `borrows`; round, store to the warpgroup's own rows of them, fence, copy out |

    Products become `async`. One is waited for (`dash.wgmma_wait`) where its sums are needed, or a slot that it reads is
    released; a wait for one is a wait for all issued before it. None is in flight where a loop or a branch begins or
    ends.

    What leaves through a slot is waited for until it is read where a slot that may be the same is written next: in the next item, in front
    of its first dS. A role that copies out ends with one wait until all of it is in memory, behind its last item.

    Channels get `arrivals`: one of a thread that starts copies or adds, one of each warp of a consumer.

    Needs: `dash-lower-ordered-reduce`, `dash-distribute-tiles`. Leaves: the order of products, and where slots are waited for. Does
    not: choose instructions.

    (* example filepath=test/Lowering/insert-waits.mlir *)
  }];
  let options = [
    Option<"delays", "delays", "bool", /*default=*/"false",
           "Sleep for random times before slots are filled: bits must not change. For tests">,
    Option<"threadsArrive", "threads-arrive", "bool", /*default=*/"false",
           "Every thread says for itself that it is done with a slot, not one for its warp, whose "
           "lanes go together: tools that look for races do not see that they do. For tests">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

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

    (* example filepath=test/Lowering/verify-waits.mlir *)
  }];
}

def SplitWarpgroups : Pass<"dash-split-warpgroups", "::mlir::ModuleOp"> {
  let summary = "Make a copy of each consumer for each of its warpgroups";
  let description = [{
    A consumer of n warpgroups becomes n roles of one: "compute" becomes "compute0" with `warpgroup(0 of n)`, and so on,
    on the same warps. Which rows or columns of a tile are its own is then a constant of each copy.

    Where warpgroups take the tensor core in turn, the last copy gives it to the first before its loop, and the
    first takes it once more behind its own: no barrier is left half full.

    Needs: `dash-insert-waits`, after which nothing counts warps. Leaves: the other roles, and channels: how many arrive
    is what it was. Does not: change what a copy does.

    (* example filepath=test/Lowering/split-warpgroups.mlir *)
  }];
  let statistics = [Statistic<"numSplit", "num-split", "Number of consumers split">];
}

def OutlineWorkers : Pass<"dash-outline-workers", "::mlir::ModuleOp"> {
  let summary = "Move the workers into the entry `NAME_main`";
  let description = [{
    Makes an entry of the function's kernels, with the parameters that the main kernel has, and moves `dash.workers`
    into it. Its block has all warps of a worker and its shared memory; it is cooperative where several workers must
    run at once and draw no tickets. The plan's memory has a word for a ticket in any case.

    Memory is known by names: a memref becomes a `dash.tensor` of the name that `dash-outline-program` has given the
    argument; what the function allocates is "delta" where it has one number a row, else sums, which have the name of the gradient that
    they are rounded to. The scale is a
    constant or the parameter `scale`. Where `dash.bulk_store` keeps contributions, the workspace gets a region for
    them, `contributions`: slot (q tile, turn). Where sums are rounded while others grow, each block lets the next launch begin
    (`griddepcontrol.launch_dependents`) before it does anything.

    Needs: `dash-outline-program`, `dash-plan-buffers`, `dash-insert-waits`. Leaves: what roles do; the function, which
    `dash-finish-program` erases. Does not: initialise barriers, or branch.

    (* example filepath=test/Lowering/outline-workers.mlir *)
  }];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
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
    with equal rows apart (Q and dO, K and V), or the lead that is told of a mask's edges from another; read ops that it does
    not know: they are errors.

    (* example filepath=test/Lowering/verify-protocol.mlir *)
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

    (* example filepath=test/Lowering/emit-promela.mlir *)
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

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

    (* example filepath=test/Lowering/convert-to-nvvm.mlir *)
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

    (* example filepath=test/Lowering/lower-roles.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of workers lowered">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_LOWERING_PASSES_TD
