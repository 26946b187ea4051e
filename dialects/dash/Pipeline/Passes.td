//===- Passes.td - from items to roles and channels --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Pipeline`: from scheduled items to roles of warps that share nothing but channels.
//===----------------------------------------------------------------------------===//

#ifndef DASH_PIPELINE_PASSES_TD
#define DASH_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckSizes : Pass<"dash-check-sizes", "::mlir::ModuleOp"> {
  let summary = "Refuse sizes that kernels cannot count, before an order is made for them";
  let description = [{
    Refuses sizes in the types of an attention that kernels do not serve: they serve a batch of up
    to 65535, as many heads, and 2097152 rows. Indices of an order's words have 32 bits.
    Proving an order with so many tiles, only to refuse it later, would take minutes.

    Needs: nothing. Leaves: everything. Does not: check sizes that types leave open.
    `dash-check-kernels` checks those of a table, and the launcher all others: the manifest states
    their limits.

    (* example filepath=test/Pipeline/check-sizes.mlir *)
  }];
}

class TilingOptions {
  list<Option> constraints = [
    Option<"qTile", "q-tile", "int64_t", /*default=*/"0",
           "Rows of a tile of Q, dO and dQ; 0 leaves it to the choice">,
    Option<"kvTile", "kv-tile", "int64_t", /*default=*/"0",
           "Rows of a tile of K, V, dK and dV; 0 leaves it to the choice">,
    Option<"structure", "structure", "::mlir::dash::StructureChoice",
           /*default=*/"::mlir::dash::StructureChoice::Fitting",
           "How consumers share the tensor core: `alternating` or `overlapping`; `fitting` "
           "leaves it to the choice",
           [{::mlir::dash::structureWords()}]>,
    Option<"slots", "slots", "std::string", /*default=*/"\"\"",
           "Slots of channels, as in `q:3,do:3`, of k, v, q, do, ds and dq; the choice gives the "
           "others theirs">,
    Option<"table", "table", "std::string", /*default=*/"\"\"",
           "A file of measured tilings; those of an H200 come with the compiler">,
    Option<"target", "target", "std::string", /*default=*/"::mlir::dash::defaultTarget.str()",
           "The chip that tilings have to fit, by its name in PTX">,
  ];
}

def ChooseTiling : Pass<"dash-choose-tiling"> {
  let summary = "Cut problems into tiles for a chip";
  let description = [{
    Puts a `#dash.tiling` on each `dash.attention_bwd`: rows and columns of its tiles, how
    warpgroups split each product, how they share the tensor core, which tensors stay in registers,
    and how many slots each channel has. Later passes follow it, and decide none of this.

    The pass takes the tiling that was measured to be the fastest. The file
    dialects/dash/Pipeline/tilings-h200.json has one for each width of tiles. If the options exclude
    it, the pass takes the tiling with the lowest price, and a remark (missed) says that it
    was not measured. Another remark says what was chosen, and what it needs.

    The options are constraints, and leave the rest to the choice. Candidates are all q tiles that
    kernels cover, both structures, K and V in registers or not, and one or two slots of K and V.
    A candidate is refused

    - if warpgroups cannot split a product: each has 64 rows of a result, or all 64 and a multiple
      of 8 columns;
    - if its slots take more shared memory than a block has;
    - if its tiles take more registers than a thread has.

    The price is the time of the unit that a task needs longest: the tensor core with the turns of
    alternating warpgroups, shared memory, or L2. `dash-compare-tilings` shows it.

    A forward's kv tile is a part of its bits, so its head dims choose it, or `kv-tile`. Its q tile
    has 192 rows, three warpgroups of 64, in tiles of up to 96 columns, if the mask has no bitmap,
    and 128 rows else. The structure is `overlapping`. From 128 columns on Q of a batch stays in
    registers, if these have room, and has one slot. K, V and Q else get two slots each, as far as
    they fit. No tiling of a forward is a file's.

    Forwards and parts of the gradients have tiles of V, O and dV of their own width (`columns_v`).
    Where dK and dV have a role each, P has slots, and K and V stay in the registers of the roles
    that multiply by them, as far as these have room. With a softcap P has no slots: its slope needs
    the scores, so both roles make P. With `ds`, dS has slots, and dQ that reads dS is one product:
    dS and K have as many slots as fit, up to four.

    A problem with a tiling keeps it, if kernels can have it and the options ask for nothing else.

    Needs: nothing. Leaves: what is computed. Does not: look at masks, or at what entries cover; see
    `dash-check-kernels`.

    (* example filepath=test/Pipeline/choose-tiling.mlir *)
  }];
  let options = TilingOptions<>.constraints;
  let statistics = [Statistic<"numChosen", "num-chosen", "Number of problems with a tiling">];
}

def CompareTilings : Pass<"dash-compare-tilings"> {
  let summary = "Show all tilings of a problem side by side";
  let description = [{
    Prints, for each `dash.attention_bwd`, the candidates of `dash-choose-tiling` that fit, cheapest
    first. A row has what a task needs: registers of a thread, bytes of a block's shared memory,
    cycles of the tensor core, of shared memory and of L2. The measured winner names its record.
    Below stand the shapes of which no candidate fits, each with the reason.

    The options are those of `dash-choose-tiling`.

    Needs: nothing. Changes nothing. Does not: choose.

    (* example filepath=test/Pipeline/compare-tilings.mlir *)
  }];
  let options = !listconcat(TilingOptions<>.constraints, [
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ]);
  let statistics = [Statistic<"numCompared", "num-compared", "Number of problems compared">];
}

def CheckKernels : Pass<"dash-check-kernels", "::mlir::ModuleOp"> {
  let summary = "Refuse programs that kernels do not cover, before any change";
  let description = [{
    Refuses, at the op in question, each scheduled problem that kernels do not cover. They cover:
    items that own kv tiles; bf16 and f16; head dims of q and v that are multiples of 8 up to 128,
    in tiles of 64, 96 or 128 columns; every mask; q and kv tiles of 64 or 128 rows;
    parts, in an order that has turns; batches of equal sequences, and lists with one part and
    without bitmaps; one problem for each function; every tensor an argument, with its last
    dimension contiguous; delta, unless it is an argument in place of o, and the sums of dQ, and
    with parts of dK and dV, in memory that the function allocates; one scale, an argument or a
    constant, which is that of `dash.softcap` if scores are capped; a sink. Orders must be proven
    (`min_workers`). Forwards are covered, too: head dims up to 256, in tiles of up to 256 columns,
    and a scale that is an argument or above 0. So are dK and dV alone, and dQ alone, up to the same
    head dims: items that own q tiles have a function of their own, and these programs have no sink
    and one part. Formulas must not need more workers than there are, at any size. Tables must have
    sizes that `dash-check-sizes` accepts.

    Needs: `dash-tile`, which states the roles of arguments (`dash.tensor`), and
    `dash-apply-schedule`; for orders written by hand, `dash-verify-schedule`. Leaves: everything as
    it is. Does not: check shared memory and registers; see `dash-check-resources`.

    (* example filepath=test/Pipeline/check-kernels.mlir *)
  }];
  let statistics = [Statistic<"numCovered", "num-covered", "Number of programs that are covered">];
}

def AssignRoles : Pass<"dash-assign-roles"> {
  let summary = "Split scheduled items among the roles of a worker";
  let description = [{
    Turns each scheduled `dash.items` into a `dash.workers`, whose roles run the same items at once:

    | role | kind | does | warps |
    |---|---|---|---|
    | `load-q` | producer | loads of each step | 1 |
    | `reduce` | reducer | adds, in each step | 1 |
    | `load-kv` | producer | loads of each item | 1 |
    | `compute` | consumer | everything else on tiles, stores | 4 a warpgroup of the tiling |

    Numbers that tiles are found by are computed in every role that reads the order. A consumer does
    not: with the tile of an item it is told how many steps there are and which item it is, with the
    tile of a step where the mask's edges run, as indices in their slots. A tile that crosses is cut
    into a channel. A row vector travels in the slot of the tile whose product it is used with,
    because no role needs one without the other. Where they overlap (below), all loaded tiles of a
    step share one slot, because they are got together: one barrier to wait at, one release. If
    warpgroups make a factor in another split than a product reads it in, as dS for dQ, it goes
    through a channel from the role to itself (`#dash.split`).

    The items' `tiling` says how many warpgroups multiply, the `structure` of the workers, how deep
    each channel is, and which channels are `held`.

    With parts, the reducer also adds an item's own sums (dK and dV), after its walk. They leave
    through the slots of the sums of steps (dQ), in pieces of the same size: `dash.piece`, and
    `piece(i of n)` of `dash.ordered_reduce` and of `dash.convert`.

    With `consumers=by-gradient`, each sum of an item has a consumer of its own, named after the
    tensor (`dv`, `dk`). Each computes all that its sum is made of, so both compute S and P. If the
    tiling has slots for P, the consumer that needs least beside it makes P, and passes it to the
    other through the channel `p`, in f32, as its threads hold it. Sums of steps (dQ) belong to the
    consumer that makes their factors. A loaded tile that both need goes through one channel that
    both wait for, each releasing its slots by itself. If no tile of an item is needed by all, all
    wait for its first, which tells them what to do. A consumer that exchanges nothing has slots of
    its own for its result to leave through (`out`), unless the tiling says that it has none. The
    warpgroups of the tiling are those of each consumer. By default a problem gets this where a
    thread would need more than 128 registers for all sums: dK and dV of more than 256 columns
    together.

    `dash.store_task` belongs to a reducer called `keep`: the consumer puts dS into a channel, and
    the reducer copies it to memory. dK leaves through the slots of that channel, too. Where items
    load no tile, as those of dQ that read dS, a channel `item` of indices alone tells of them.

    Capped scores are hidden before the LSE is subtracted, not after, so a hidden element has no
    slope either.

    Items that own q tiles, those of a forward or of dQ alone, have no role that adds. `load-kv`
    loads K and V of each step, each with slots of its own, and `load-q` Q of each item; for dQ, dO
    with delta, too, and the LSE with Q. A step is told its kv tile, too: the end of the rows may
    cut it. `dash.visible` becomes `dash.hide`.

    With `hand-out=true`, items of a forward whose lengths come with a launch (`sequences(<?>)`) are
    drawn while it runs (`hands_out` of `dash.workers`). Then one role, `load`, has all loads of an
    item, because it alone knows which item is next. Where lengths are known, or keys are cut into
    pieces, an order deals items as well as drawing does, without asking memory at each.

    With `begin-ahead=true`, the next item of a forward begins beside the end of this one
    (`begins_ahead`), but in lists: descriptors of a list begin in front of its tensors, and a tile
    that is all behind rows would touch what is there.

    Needs: `dash-choose-tiling`, `dash-tile`, `dash-apply-schedule`. Leaves: what is computed, and
    everything outside of the items. Does not: decide when something happens, or where it lies;
    nothing is committed or released yet.

    (* example filepath=test/Pipeline/assign-roles.mlir *)
  }];
  let options = [
    Option<"consumers", "consumers", "::mlir::dash::ConsumerChoice",
           /*default=*/"::mlir::dash::ConsumerChoice::Fitting",
           "Which roles multiply: `together`, which computes S and P once, `by-gradient`, or "
           "`fitting`, together where a thread holds all sums",
           [{::mlir::dash::consumerWords()}]>,
    Option<"handOut", "hand-out", "bool", /*default=*/"false",
           "Let workers draw the items of a forward of run-time lengths">,
    Option<"beginAhead", "begin-ahead", "bool", /*default=*/"true",
           "Let the next item of a forward begin beside the end of this one">,
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "Number of problems split among roles">,
    Statistic<"numChannels", "num-channels", "Number of channels between roles">,
  ];
}

def KeepApart : Pass<"dash-keep-apart"> {
  let summary = "Mark contributions that the schedule keeps apart until all exist";
  let description = [{
    An ordered add waits for the turn before it. If a problem is short, or cut into many parts, that
    is most of its time: passing on a turn takes one to two microseconds. Contributions that are
    kept apart wait for nothing, and `dash.convert` adds them up in the order of turns: the same sum
    to the last bit, for more memory. The `apart` of the `dash.schedule` selects them (`#dash<apart
    …>`; `dash-apply-schedule` chose it).

    With `all`, no worker waits for another: any number of them may be resident, and the launch is a
    plain one.

    Marks `dash.ordered_reduce` in reducers, and the `dash.convert` of their targets, with `apart`.

    Needs: `dash-assign-roles`. Leaves: when ops run, and turns. Does not: change a bit.

    (* example filepath=test/Pipeline/keep-apart.mlir *)
  }];
  let statistics = [Statistic<"numApart", "num-apart",
      "Number of adds whose contributions are kept apart">];
}

def OverlapRounding : Pass<"dash-overlap-rounding"> {
  let summary = "Round each sum once it is complete, while others still grow";
  let description = [{
    `dash.convert` reads the sums that the workers leave. A launch that begins after the workers'
    end leaves multiprocessors idle whose workers end first, and adds the time between two launches.
    But a chain of turns knows when its sum is complete: its last turn signals it, and
    `dash.convert` waits for the signal, tile by tile. So `NAME_convert` can begin on a
    multiprocessor as soon as its worker has ended. (`griddepcontrol`, PTX ISA 9.7.13.13; launchers
    without support launch the entries one after the other, which is correct too.)

    Sums are rounded in place, so the bits are the same.

    Marks `dash.ordered_reduce` in reducers with `signals_completion`, and the `dash.convert` of
    their targets with `awaits_completion`: of all sums or of none, as one entry rounds them all.
    None where adds have no turns, or contributions are kept apart: then there is no last turn to
    wait for.

    Needs: `dash-assign-roles`, and `dash-keep-apart` if contributions are kept apart. Leaves: when
    ops run. Does not: change a bit.

    (* example filepath=test/Pipeline/overlap-rounding.mlir *)
  }];
  let statistics = [Statistic<"numOverlapped", "num-overlapped",
      "Number of sums that are rounded while others are added to">];
}

def OrderProducts : Pass<"dash-order-products"> {
  let summary = "Make a consumer's walk a software pipeline in the issue order of its products";
  let description = [{
    Gives the walk of a consumer `stages(3)` and each of its ops a stage. Moves the ops to the order
    of issue, and puts `dash.take_tensor_core` and `dash.give_tensor_core` around the products:

    - stage 0, a step ahead: products of loaded tiles (S, dP), which only wait for loads, and the
      element-wise work on them;
    - stage 2, a step late: ops that use an exchanged tile (dQ, from dS). By then all warpgroups
      have put their rows, so none waits for another in the middle of a step, and one multiplies
      while the other computes exponentials;
    - stage 1: everything else.

    In the structure `alternating`, an iteration issues, between take and give, the late products,
    those that are carried on, and the products of the next step; then comes the next step's
    element-wise work. The first of the products carried on is the one that frees the tile whose
    successor is needed first.

    In the structure `overlapping`, a turn is the products of the next step, then those that are
    carried on. The gets for both come before all of them: loads from shared memory would wait
    behind running products. After the turn follow the element-wise work on the first product (P),
    the late products, the other element-wise work, still in f32, and finally the rounding: it takes
    the registers of factors whose products are complete by then. So exponentials run during the
    products carried on, and late products during element-wise work.

    In both, no product is in flight where the next iteration begins. A forward has no late product,
    so two stages: S a step ahead, and O. What scales the sums of O goes right before it. A step of
    one product of loaded tiles, dS by K, has one stage and no turns: the products of one warpgroup
    run while another waits for its own.

    Needs: `dash-assign-roles`. Leaves: other roles, and all computations. Does not: decide when
    slots are committed and released.

    (* example filepath=test/Pipeline/order-products.mlir *)
  }];
  let statistics = [
    Statistic<"numProducts", "num-products", "Number of products ordered">,
  ];
}

def PlaceReleases : Pass<"dash-place-releases"> {
  let summary = "Commit slots when they are full, and release them after their last reader";
  let description = [{
    Adds a `dash.commit` for each slot that threads write and a `dash.release` for each slot that is
    waited for. In a software pipeline:

    - an exchanged tile is committed as soon as the products carried on have been issued, so that
      the fence runs during them; a tile for another role is committed after the tensor core has
      been given on, because nothing in this role waits for it;
    - a slot of loaded tiles is released right before the wait for the next one, and an exchanged
      one before its product is handed on: each must wait for the slot's last reader, and at these
      places that wait happens anyway. In the structure `overlapping`, the next one is got earlier,
      so the release comes before the op that rounds the next factors of the slot's last product.

    In the structure `overlapping`, all commits follow the last put of the iteration and share one
    fence.

    Stores at the end of an item leave through slots that the role fills by itself (`through
    %ds_tiles`) and that are empty until then. Each warpgroup uses its own rows, as many columns at
    a time as a slot has. So no loaded tile is kept for them. Where there are no such slots, a
    result leaves through that of a tile of its item which only this role reads, each warpgroup its
    own rows, and which is released behind: the last that fits, as dO for dQ.

    Needs: `dash-order-products`. Leaves: all computations. Does not: count slots.

    (* example filepath=test/Pipeline/place-releases.mlir *)
  }];
  let statistics = [
    Statistic<"numReleases", "num-releases", "Number of places where slots are released">,
  ];
}

def PlanBuffers : Pass<"dash-plan-buffers"> {
  let summary = "Choose registers, and where slots lie in shared memory";
  let description = [{
    One warp of the role that adds serves one slot, so it gets as many warps as its channel is deep.

    Registers: at launch each thread gets an equal share of a block's, in whole units. Then roles
    that move tiles get the fewest that can be requested, and roles that multiply share the rest, up
    to the most. On sm_90a these numbers are 65536, 8, 24 and 240.

    Shared memory: the first 1024 bytes have the barriers of slots, then their indices, and at the
    end a word for the index that a worker draws. Tiles start at multiples of 1024, as swizzled
    copies require. Channels of one depth share a period, so that one number addresses a stage of
    all of them. Row vectors, which would leave gaps, follow all tiles.

    Needs: `dash-place-releases`. Leaves: everything but these numbers. Does not: refuse plans that
    do not fit; see `dash-check-resources`.

    (* example filepath=test/Pipeline/plan-buffers.mlir *)
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"::mlir::dash::defaultTarget.str()",
           "The chip to plan for, by its PTX name">,
  ];
  let statistics = [
    Statistic<"numBytes", "num-bytes", "Bytes of shared memory of all workers planned">,
  ];
}

def HoldFactors : Pass<"dash-hold-factors"> {
  let summary = "Keep factors of an item in registers, as the tiling says";
  let description = [{
    The pass loads the tile of a `held` channel into registers once, in front of the walk
    (`dash.load_factor`). The products of the walk that read it by rows as their left factor (K in
    S, V in dP) take it from there, so each step reads less from shared memory. In tiles of 64
    columns both fit (16 registers each), in 96 V fits (24 registers), in 128 neither. In a forward
    Q is the left factor of S: it fits at head dims 128 (32 registers), and 192 with v of 128 (48).

    Needs: `dash-order-products`. Leaves: products that read the tile in another way (dQ reads K by
    columns), and when slots are released. Does not: say when the tile is loaded;
    `dash-insert-waits` moves the load to the first product.

    (* example filepath=test/Pipeline/hold-factors.mlir *)
  }];
  let statistics = [Statistic<"numHeld", "num-held", "Number of tiles kept in registers">];
}

def CheckResources : Pass<"dash-check-resources"> {
  let summary = "Prove that a plan fits a chip and that its roles never wait forever";
  let description = [{
    Refuses, with numbers, each worker

    - whose slots take more shared memory than a block has, overlap, or start where copies cannot
      write, or whose barriers do not fit;
    - with more warps than a block has, or with products by less than a warpgroup;
    - whose roles ask for more registers than there were at launch (`setmaxnreg` would wait forever,
      without a warning), or for invalid numbers;
    - whose steps need more registers than their role has: an estimate from the lifetimes of tiles
      in the order of issue, because spills in the loop change a kernel's speed completely;
    - with a channel that is not put by exactly one role and waited for by exactly one, or that is
      put, waited for, committed and released unequally often;
    - whose roles wait for each other forever. Roles only interact through channels, so all
      interleavings end alike. The pass runs one of them, with the depths of the plan;
    - in which a waiter of that run misses a phase of a slot: a barrier's parity only distinguishes
      a phase from the one before.

    Once items are loops, only the first three points are checked, so that they still hold for what
    is lowered: `dash-verify-protocol` follows the roles then.

    Needs: `dash-plan-buffers`. Leaves: everything. Does not: check turns of ordered adds;
    `dash-verify-schedule` proves them.

    (* example filepath=test/Pipeline/check-resources.mlir *)
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"::mlir::dash::defaultTarget.str()",
           "The chip that the plan must fit, by its PTX name">,
  ];
}

#endif // DASH_PIPELINE_PASSES_TD
