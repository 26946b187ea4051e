//===- Passes.td - passes of Steps -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Steps`, of the stage Lowering: from a program of roles to one in which every wait is an op. Each
// pass is one step, and leaves IR of dash for the next one.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_STEPS_PASSES_TD
#define DASH_STEPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PeelWalks : Pass<"dash-peel-walks", "::mlir::ModuleOp"> {
  let summary = "Peel the prologue and the epilogue from the steady state of a walk";
  let description = [{
    Replaces each `dash.walk` of n steps and s stages by the iterations that it issues: a prologue
    of s - 1 iterations, in which only ops of low stages have a step; a loop of n - s + 1
    iterations, in which all ops have one; an epilogue of s - 1 iterations. Walks of fewer than s -
    1 steps, and of none, are separate branches, so no branch surrounds a single op.

    The loop carries the values that cross iterations in registers: sums, and values computed ahead.
    A tile that stays in its slot is named again by `dash.held` at its readers. Uses of channels
    state the item's step that they belong to: `dash.wait %q_tiles[%step]`. A walk of one stage has
    nothing to peel, and becomes a loop.

    Needs: `dash-check-resources`. Leaves: no `stages`; walks without stages, those of producers and
    reducers, unchanged. Does not: decide layouts of tiles, or when a product is complete.

    (* example filepath=test/Steps/peel-walks.mlir *)
  }];
  let statistics = [Statistic<"numPeeled", "num-peeled", "Number of walks peeled">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SkipHiddenSteps : Pass<"dash-skip-hidden-steps", "::mlir::ModuleOp"> {
  let summary = "A warpgroup stops at the last kv tile that its own rows see";
  let description = [{
    The warpgroups of a consumer share the kv tiles of an item, and have rows of the q tile each. At
    the diagonal the earlier rows see fewer tiles than the later ones. Here a warpgroup's loop over
    steps ends where its own rows see nothing more (`dash.visible_steps`). A loop over the steps
    that are left gives the tensor core and the slots on, so that the others find what they expect.
    Bits stay: a tile that a row does not see changes nothing in that row.

    A warpgroup that waits for slots of later steps still holds the one of its last product. So the
    steps that it leaves out are fewer than the slots of each channel.

    Needs: `dash-peel-walks`. Leaves: items that own kv tiles, masks without a bound to the right,
    unions and bitmaps, walks with one stage, channels with one slot, products whose columns are
    dealt to warpgroups, and walks whose products read a tile of the step before, as those of dQ.
    Does not: leave out steps in front, which a window
    hides, or a part of a tile.

    (* example filepath=test/Steps/skip-hidden-steps.mlir *)
  }];
  let statistics = [Statistic<"numSkipping", "num-skipping", "Number of loops that end early">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ReadOrder : Pass<"dash-read-order", "::mlir::ModuleOp"> {
  let summary = "Turn items and walks into loops that read the order";
  let description = [{
    Replaces the `dash.items` of each role by a loop over its worker's list. A producer or reducer
    reads the list from the order buffer (`dash.read_item`, `dash.read_visit`); of n reducer warps,
    warp w has every n-th use of its channel. A consumer gets the number of steps of an item from
    indices in slots, and only reads the number of items.

    Every use of a channel gets its number over the worker's whole life. A use of an item has the
    item's position in the list; uses of steps are counted from item to item. If an item uses a
    channel of steps after its walk (sums over parts), those uses follow its steps. Each reducer
    warp keeps the order steps, then sums: this is the program order for which a schedule's progress
    is proven. The turn among the parts is read there (`dash.read_part`).

    Needs: `dash-peel-walks`. Leaves: no `dash.items` and no `dash.walk` in roles. Does not:
    determine the slot or the phase of a use; `dash-insert-waits` does.

    (* example filepath=test/Steps/read-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of roles lowered to loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def DistributeTiles : Pass<"dash-distribute-tiles", "::mlir::ModuleOp"> {
  let summary = "Give tiles layouts: which thread holds which element";
  let description = [{
    Gives the tiles of consumers layouts, as encodings of their types. n is the number of warpgroups
    of a consumer:

    | tile | layout |
    |---|---|
    | waited for, or held: a factor of products | `#dash.swizzled`: in a slot |
    | sums, 64 n rows | `#dash.fragment<accumulator, rows by n>` |
    | sums, 64 rows (dQ of q tiles of 64) | `#dash.fragment<accumulator, columns by n>` |
    | rounded sums, held factors | `#dash.fragment<operand, rows by n>`, a factor or stored |
    | one number a query | `#dash.fragment<per_column, replicated by n>`, in each warpgroup |
    | numbers of sums' rows, of a forward | `#dash.fragment<per_row, rows by n>` |

    A slot has the widest panels that its columns fill and whose edges include the start of each
    warpgroup's columns. For 96 columns, Q, dO and V have panels of 32 (`#dash.swizzled<64>`), and K
    has panels of 16 (`<32>`), because dQ's warpgroups read 48 columns each.

    Elements of channels state the layout of tiles in slots. Sums have the layout of the warpgroups
    there and in memory: the reducer's tile has the consumer's layout, and the function's
    `dash.convert` has it as its `layout`.

    Needs: `dash-assign-roles`. Leaves: values, and when ops run. Does not: split a consumer into
    its warpgroups; `dash-split-warpgroups` does.

    (* example filepath=test/Steps/distribute-tiles.mlir *)
  }];
}

def LowerOrderedReduce : Pass<"dash-lower-ordered-reduce", "::mlir::ModuleOp"> {
  let summary = "Lower adds to memory to bulk copies, in turns and in no order";
  let description = [{
    Replaces `dash.ordered_reduce` in reducers, in one thread of each warp, by the turn of a
    semaphore:

    1. `dash.acquire_turn`: waits until the tile's counter is the turn; then come the wait for the
       slot, and a fence of the async proxy;
    2. at turn 0 `dash.bulk_store`, else `dash.bulk_add`; a group of copies;
    3. once the copy has read the slot (`wait_group 0 {read}`), the slot is released, but not the
       turn;
    4. once the sum is in memory (`wait_group 0`), `dash.release_turn`: completion includes a proxy
       fence.

    So a thread never waits for a turn while its own add is unreleased. `dash.reduce`, without
    order, becomes `dash.bulk_add`, a group, and a wait until the slot has been read; one wait for
    the sums is at the role's end. An `apart` one likewise becomes `dash.bulk_store` to the place of
    its turn, with `dash.count_turns`, and `dash.store_task` becomes `dash.copy_task_out`.

    Needs: `dash-read-order`. Leaves: waits for slots and their releases. Does not: touch consumers
    or producers.

    (* example filepath=test/Steps/lower-ordered-reduce.mlir *)
  }];
  let options = [
    Option<"contributions", "contributions", "bool", /*default=*/"false",
           "Keep each contribution in a region of the workspace: to dQ in `contributions`, slot (q "
           "tile, turn); with parts, to dK and dV in `dk_contributions` and `dv_contributions`. A "
           "chain's sum can then be replayed. Off because it is large and slow">,
  ];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of adds lowered">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def SinkWaits : Pass<"dash-sink-waits", "::mlir::ModuleOp"> {
  let summary = "Wait for a slot where it is first read";
  let description = [{
    K and V of an item are put one after the other, but V is needed one product later, when it has
    arrived. A consumer's wait for a slot that only products read moves down to the first of them,
    into both sides of a branch; after the branch, `dash.held` names the slot's tiles again. A
    `dash.load_factor`, which keeps a factor in registers for the item, moves too, before the wait
    for its slot. If a branch does not use the loaded value, a fence stands at its end: the next
    copy into the slot must not overtake the load.

    Slots with indices for a consumer, or with rows that go to registers in each step, are waited
    for in place. The slot of a tile that a result takes the place of is filled last, so its rows
    move down with the wait.

    Needs: `dash-read-order`. Leaves: the order of everything else. Does not: make a wait an
    instruction; `dash-insert-waits` does.

    (* example filepath=test/Steps/sink-waits.mlir *)
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def HoistReleases : Pass<"dash-hoist-releases", "::mlir::ModuleOp"> {
  let summary = "Release a slot after its last reader";
  let description = [{
    A slot of an item is released after the item's steps, though the last reader of V is the last
    step's dP, two products earlier. If K and V have one slot each, the next item's copy waits for
    that. A consumer's release of an item's slot moves up to follow the last op that reads it, into
    both sides of a branch. If that is a product, the release stands before the first op that needs
    the sums. If threads have loaded the slot into registers (`dash.load_factor`), it follows a
    commit, whose fence keeps the next copy after the loads. In a role without commits the release
    has a fence of its own. If nothing else reads the slot, it follows the first product of what was
    loaded, which runs beside the fence, or the load if that product is in a branch or a loop. A
    slot through which a result leaves is released behind its store.

    Needs: `dash-read-order`. Leaves: the order of everything else. Does not: make a release an
    instruction; `dash-insert-waits` does.

    (* example filepath=test/Steps/hoist-releases.mlir *)
  }];
}

def HoistStores : Pass<"dash-hoist-stores", "::mlir::ModuleOp"> {
  let summary = "Store results as soon as they exist";
  let description = [{
    dV and dK of an item are complete with its last step, while its last dQ still waits for dS of
    the other warpgroup. A store whose tile comes from branches moves into them, before the last
    wait for the channel through which it leaves, if its slots are empty by then: the role has
    released all slots that it waited for, and the channel has more slots than the store has pieces
    and slots `ahead`. If one branch has such a place, the store goes to the end of the others; if
    none has, it stays after them. Stores through the same channel keep their order.

    Needs: `dash-read-order`. Leaves: the order of stores. Does not: copy anything;
    `dash-insert-waits` does.

    (* example filepath=test/Steps/hoist-stores.mlir *)
  }];
}

def BeginItems : Pass<"dash-begin-items", "::mlir::ModuleOp"> {
  let summary = "Begin the next item beside the end of this one";
  let description = [{
    Where `dash.workers` says `begins_ahead`, a consumer's loop over items is rotated by what an
    item begins with: the waits for its first tiles, and its first product. They stand behind the
    last product of the item before, so the tensor core works while that item is finished and
    stored. If Q has one slot, which this item holds, they stand behind the whole item: Q would come
    too late. Where registers hold Q, its slot is released here, too. In front of the loop stands
    the beginning of the first item. The loop carries the product, and what slots have told.

    Behind the last item consumers begin one more, whose tiles lie behind all rows
    (`dash-read-order` loads them), and release its slots. So no branch surrounds a product.

    Needs: `dash-read-order`, `dash-hoist-releases`. Leaves: items without `begins_ahead`, as those
    of backwards are. Does not: wait for products; `dash-insert-waits` does.

    (* example filepath=test/Steps/begin-items.mlir *)
  }];
  let statistics = [Statistic<"numRotated", "num-rotated", "Number of loops over items rotated">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def InsertWaits : Pass<"dash-insert-waits", "::mlir::ModuleOp"> {
  let summary = "Make every wait, fence and arrival an op";
  let description = [{
    Replaces the ops of channels. A use has a slot and a phase (`dash.ring`), and then

    | op | becomes |
    |---|---|
    | `dash.put` of loads | wait for empty, write indices, expect bytes, a copy for each tile |
    | `dash.put` of fragments | wait for empty, store the fragments |
    | `dash.commit` | a fence of the async proxy, an arrival at full |
    | `dash.wait` | wait for full; rows and indices are loaded into registers |
    | `dash.held` | the slot's tiles, without a wait |
    | `dash.release` | an arrival at empty, once no product in flight reads the slot |
    | `dash.store` | wait for empty slots, which it `borrows`; round, store, fence, copy out |
    | `dash.store` in place of a loaded tile | a meeting of the warpgroup; the same without a wait |

    Consecutive puts of fragments all wait before the first one: a test of a barrier would wait
    behind their stores. Consecutive commits share one fence. A store writes the warpgroup's own
    rows of the slots.

    Products become `async`. A wait for one (`dash.wgmma_wait`) stands where its sums are needed, or
    where a slot that it reads is released; it waits for all products issued before, too. None is in
    flight at the start or end of a loop or branch.

    A result leaves through a slot until its copy has read it. The wait for that stands where a slot
    that may be the same is written next: in the next item, before its first dS; where the result
    took the place of a loaded tile, before the slot is released. A role that copies out ends with
    one wait until everything is in memory, after its last item.

    Channels get `arrivals`: one for a thread that starts copies or adds, one for each warp of a
    consumer.

    Needs: `dash-lower-ordered-reduce`, `dash-distribute-tiles`. Leaves: the order of products, and
    the places of waits for slots. Does not: choose instructions.

    (* example filepath=test/Steps/insert-waits.mlir *)
  }];
  let options = [
    Option<"threadsArrive", "threads-arrive", "bool", /*default=*/"false",
           "Every thread arrives at a slot's barrier, instead of one for its warp, whose "
           "lanes run together: race detectors do not know that they do. For tests">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def InsertDelays : Pass<"dash-insert-delays", "::mlir::ModuleOp"> {
  let summary = "Make roles sleep at random where they wait";
  let description = [{
    In roles with one thread for each warp, which load and add, inserts a `dash.delay` after each
    wait for a slot, and before each `dash.acquire_turn` and `dash.release_turn`: bits must not
    depend on delays. For tests.

    Needs: `dash-insert-waits`. Leaves: everything else. Does not: touch consumers, which are late
    when their slots are.

    (* example filepath=test/Steps/insert-delays.mlir *)
  }];
  let statistics = [Statistic<"numInserted", "num-inserted", "Number of sleeps inserted">];
}

def InsertTrace : Pass<"dash-insert-trace", "::mlir::ModuleOp"> {
  let summary = "Record the waits and the work of roles";
  let description = [{
    Inserts a `dash.trace` after, and a `dash.clock` before

    | what | record |
    |---|---|
    | `dash.mbarrier_wait` | `slot_full`, `slot_empty` of the channel, with the use |
    | `dash.acquire_turn` | `turn`, with the use of the slot that is added, and the turn |
    | the wait for an add in memory and `dash.release_turn` behind it | `given`, with the use |
    | other waits for copies | `copies`; of a reducer with the use |
    | `dash.take_tensor_core` | `tensor_core` |
    | `dash.wgmma_wait` | `products` of the last one it completes, with its slot's use |
    | ops on sums that follow each other | `elementwise` |

    These are the records of `level=all`. `turns` keeps the records `turn` and `given` of reducers,
    `items` none of the table, and `none` leaves no record at all.

    The second of each `every` items of a worker's list is to have records, and so is an only one:
    `dash-sample-trace` will have them so. If `every` is 0, the level chooses: 1 of `items`, 4 of
    `turns`, 64 of `all`. If it is 1, all items have records, and so has what a role does behind
    them.

    A run of products has a record `issue` after it. An item has one at its beginning, with its
    position in the list, and if `every` is more than 1, another at its end.
    A role begins with `begin` and ends with `end`. If another record directly
    precedes, with only arithmetic in between, its time is used.

    Products are named by their factors: `k*q^T`, or `r*q` if the left one is in registers; the
    second tile of a slot is `q_do.1`.

    Needs: `dash-insert-waits`. Leaves: everything else. Does not: place the records;
    `dash-outline-workers` does.

    (* example filepath=test/Steps/insert-trace.mlir *)
  }];
  let options = [
    Option<"records", "records", "int64_t", /*default=*/"16384",
           "Records of 16 bytes that each lane has room for; later ones are only counted">,
    Option<"every", "every", "int64_t", /*default=*/"0",
           "The second of each N items of a worker has records; 0: N by the level">,
    Option<"level", "level", "::mlir::dash::TraceLevel",
           /*default=*/"::mlir::dash::TraceLevel::All", "Which records are kept",
           [{::mlir::dash::traceLevelWords()}]>,
  ];
  let statistics = [Statistic<"numInserted", "num-inserted", "Number of records inserted">];
}

def SplitWarpgroups : Pass<"dash-split-warpgroups", "::mlir::ModuleOp"> {
  let summary = "Make a copy of each consumer for each of its warpgroups";
  let description = [{
    A consumer of n warpgroups becomes n roles of one: "compute" becomes "compute0" with
    `warpgroup(0 of n)`, and so on, on the same warps. A copy's own rows or columns of a tile are
    then constants. The price is code size: a worker's program grows with the number of warpgroups.

    If warpgroups take the tensor core in turn, the last copy gives it to the first one before its
    loop, and the first one takes it once more after its own: no barrier is left half full.

    Needs: `dash-insert-waits`, after which nothing counts warps. Leaves: the other roles, and
    channels with their numbers of arrivals. Does not: change the work of a copy.

    (* example filepath=test/Steps/split-warpgroups.mlir *)
  }];
  let statistics = [Statistic<"numSplit", "num-split", "Number of consumers split">];
}

#endif // DASH_STEPS_PASSES_TD
