//===- Passes.td - passes of the room Steps ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Steps`, of the stage Lowering: from a program of roles to one in which every wait is an op;
// a pass a step; each leaves IR of dash that the next one reads.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_STEPS_PASSES_TD
#define DASH_STEPS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

    (* example filepath=test/Steps/peel-walks.mlir *)
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

    (* example filepath=test/Steps/read-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of roles lowered to loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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

    A slot has the widest panels that its columns fill, and at whose edges the columns begin that a warpgroup reads: of 96 columns 32 for Q, dO and
    V (`#dash.swizzled<64>`), and 16 for K (`<32>`), because dQ's warpgroups read 48 of them each.

    Elements of channels say how tiles lie in slots. Sums lie there, and in memory, as the warpgroups hold them: the
    reducer's tile has the consumer's layout, and so has the function's `dash.convert`, as its `layout`.

    Needs: `dash-assign-roles`. Leaves: values; which op runs when. Does not: split a consumer into its warpgroups, which
    `dash-split-warpgroups` does.

    (* example filepath=test/Steps/distribute-tiles.mlir *)
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

    (* example filepath=test/Steps/lower-ordered-reduce.mlir *)
  }];
  let options = [
    Option<"contributions", "contributions", "bool", /*default=*/"false",
           "Keep each contribution in a region of the workspace: to dQ in `contributions`, slot (q tile, "
           "turn), with parts to dK and dV in `dk_contributions` and `dv_contributions`, so that a chain's "
           "sum can be replayed. Off because it is large and slow">,
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

    (* example filepath=test/Steps/sink-waits.mlir *)
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

    (* example filepath=test/Steps/hoist-releases.mlir *)
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

    (* example filepath=test/Steps/hoist-stores.mlir *)
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

    (* example filepath=test/Steps/insert-waits.mlir *)
  }];
  let options = [
    Option<"threadsArrive", "threads-arrive", "bool", /*default=*/"false",
           "Every thread says for itself that it is done with a slot, not one for its warp, whose "
           "lanes go together: tools that look for races do not see that they do. For tests">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def InsertDelays : Pass<"dash-insert-delays", "::mlir::ModuleOp"> {
  let summary = "Let roles sleep at random where they wait";
  let description = [{
    In roles of one thread a warp, which load and add, puts a `dash.delay` behind each wait for a slot, in front of each
    `dash.acquire_turn`, and in front of each `dash.release_turn`: bits must not depend on who is late. For tests.

    Needs: `dash-insert-waits`. Leaves: everything else. Does not: touch consumers, which are late where their slots are.

    (* example filepath=test/Steps/insert-delays.mlir *)
  }];
  let statistics = [Statistic<"numInserted", "num-inserted", "Number of sleeps inserted">];
}

def InsertTrace : Pass<"dash-insert-trace", "::mlir::ModuleOp"> {
  let summary = "Let roles leave records of what they wait for and do";
  let description = [{
    Puts a `dash.trace` behind, and a `dash.clock` in front of

    | what | record |
    |---|---|
    | `dash.mbarrier_wait` | `slot_full`, `slot_empty` of the channel, with the use |
    | `dash.acquire_turn` | `turn`, with the use of the slot that is added, and the turn |
    | the wait for an add in memory and `dash.release_turn` behind it | `given`, with the use |
    | other waits for copies | `copies`; of a reducer with the use |
    | `dash.take_tensor_core` | `tensor_core` |
    | `dash.wgmma_wait` | `products` of the last that it completes, with the use of the slot that the product reads |
    | ops on sums that follow each other | `elementwise` |

    A run of products has a record `issue` behind it, an item one where it begins, with its place in the list; a role begins with `begin` and ends
    with `end`. Where a record stands in front, with nothing but arithmetic between, its time is taken.

    Products are called by their factors: `k*q^T`, and `r*q` where the left one is in registers; the second tile of a slot is `q_do.1`.

    Needs: `dash-insert-waits`. Leaves: everything else. Does not: say where records lie, which `dash-outline-workers` does.

    (* example filepath=test/Steps/insert-trace.mlir *)
  }];
  let options = [
    Option<"records", "records", "int64_t", /*default=*/"16384",
           "Records that each lane has room for, of 16 bytes; what comes behind them is counted">,
  ];
  let statistics = [Statistic<"numInserted", "num-inserted", "Number of records inserted">];
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

    (* example filepath=test/Steps/split-warpgroups.mlir *)
  }];
  let statistics = [Statistic<"numSplit", "num-split", "Number of consumers split">];
}

#endif // DASH_STEPS_PASSES_TD
