//===- Passes.td - passes of Entries -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Entries`, of the stage Lowering: the module of kernels, the description of its program, and a
// pass for each entry that runs before or after the main kernel.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_ENTRIES_PASSES_TD
#define DASH_ENTRIES_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineProgram : Pass<"dash-outline-program", "::mlir::ModuleOp"> {
  let summary = "Make a module for the kernels of each scheduled program";
  let description = [{
    Adds `gpu.module @NAME_kernels` after each function NAME whose items are split among roles.
    Later passes add entries `NAME_role`, with NAME in the form that PTX allows (`#dash.program`).
    The module has no kernels yet. It states what a launcher needs to know besides them, in the
    terms of the manifest:

    - `dash.program`: the program's facts, sizes (a range, or the value that a type or a table
      fixes), constraints, derived sizes, tensors, regions of the workspace, and the source of the
      order;
    - `dash.formulas`: the order, if it is formulas;
    - `dash.order_buffer`: the main kernel's input, if the order is a table.

    All of it comes from the program: its `dash.schedule` with the facts of the proof, the types and
    roles (`dash.tensor`) of its arguments, and the loads and stores of its workers, which determine
    `maps`.

    **Workers**: `min_workers` is 1 if no worker waits for another: with one worker, with unordered
    adds, or with a table in which no two workers add to one q tile. Otherwise it is all workers.
    The proof may have found a smaller number, but that assumes workers that start in index order,
    which no launch promises.

    **Tickets**: with `tickets=true`, a worker's index is not its block's: it draws the next one
    when it starts, from the word `tickets` of the workspace. So workers start in index order, and
    `min_workers` of a table is the proof's number. (For formulas it stays all workers: the proof is
    for one size.) Then no entry needs a cooperative launch: a launch works whenever `min_workers`
    of its blocks are resident at once.

    Needs: `dash-check-kernels`, `dash-assign-roles`. Leaves: the function as it is. Does not: make
    entries; the passes `dash-lower-*` do.

    (* example filepath=test/Entries/outline-program.mlir *)
  }];
  let options = [
    Option<"tickets", "tickets", "bool", /*default=*/"false",
           "Let workers draw their indices when they start, for hosts that cannot launch "
           "cooperatively">];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of modules made">];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def FinishProgram : Pass<"dash-finish-program", "::mlir::ModuleOp"> {
  let summary = "Erase functions that have become kernels";
  let description = [{
    Erases each function that has a module of kernels, and every `dash.schedule` without a
    reference. The remaining ops of such a function may only allocate memory and compute unused
    values. An op that no kernel has taken over is an error, and so is a caller.

    Needs: `dash-outline-program` and the passes `dash-lower-*`. Leaves: the modules of kernels, and
    everything else in the module. Does not: inspect kernels.

    (* example filepath=test/Entries/finish-program.mlir *)
  }];
  let statistics = [Statistic<"numFinished", "num-finished", "Number of functions erased">];
}

def OutlineWorkers : Pass<"dash-outline-workers", "::mlir::ModuleOp"> {
  let summary = "Move the workers into the entry `NAME_main`";
  let description = [{
    Makes the main entry of the function's kernels, with its parameters, and moves `dash.workers`
    into it. Its block has all warps of a worker and its shared memory. It is cooperative if several
    workers must run at once and draw no tickets. The plan's memory has a word for a ticket in any
    case.

    Memory keeps its role. An argument becomes a `dash.tensor` with the role of the function's
    `dash.tensor`. Memory that the function allocates gets the role of what is written to it
    (`dash.delta`) or what it is rounded to (`dash.convert`). A number is a constant, or an argument
    with a role, which becomes a parameter. If `dash.bulk_store` keeps contributions, the workspace
    gets a region for them, `contributions`: slot (q tile, turn). If sums are rounded while others
    grow, each block first lets the next launch begin (`griddepcontrol.launch_dependents`).

    Needs: `dash-outline-program`, `dash-plan-buffers`, `dash-insert-waits`. Leaves: the work of
    roles; the function, which `dash-finish-program` erases. Does not: initialise barriers, or
    branch.

    (* example filepath=test/Entries/outline-workers.mlir *)
  }];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def LowerOrder : Pass<"dash-lower-order", "::mlir::ModuleOp"> {
  let summary = "Lower formulas to the entry `NAME_order`";
  let description = [{
    Gives each module of kernels whose order is formulas an entry that fills the workspace region
    `order` from the sizes of a launch. The entry only needs to run when sizes change. The buffer's
    words (i32):

    - header, 8 words: version 1, workers, items, first word of the lists (8), of the items and of
      the visits, number of visits, 0;
    - lists, workers + 1 words: worker w has the items lists[w] … lists[w + 1] - 1;
    - items, from a multiple of 8, 8 words each, list after list: sequence, kv head, kv tile, first
      head, first visit, visits per round, rounds, part turn;
    - of items that own q tiles, an item's head and tile are those of q, the first head and visits
      those of kv, and turns are 0;
    - visits, 4 words each: head (added to the first), q tile, turn, 1 if the turn is the chain's
      last. The line of kv tile kv begins at visit kv * q_tiles, and serves all its items; the rest
      of a line, after its active tiles, is not written.

    A block is one worker. It visits all items, counts those of the workers before it, and writes
    its own in issue order. Formulas are evaluated in 64 bits, with all cases of a function and
    without branches. Divisors are raised to at least 1, which only matters in cases that do not
    apply.

    Where workers hand out items, the header says 1 worker, and there is one list. It has the items
    of longer sequences (in walked rows) first, each sequence's as its `item` formula numbers them,
    whatever the unit. A block writes the items of a sequence, or some blocks share one. Where a
    launch deals items by work, the region `issue` gets this list, and `dash-lower-deal` makes the
    entry that deals it.

    For a list of sequences, the entry runs in each launch, after that of `dash-lower-sequences`. It
    evaluates the formulas for each sequence separately, with its own tiles. Units follow those of
    the sequence before. Each tile of each sequence that items own has a line of visits. Between the
    records of sequences and the lists, the entry writes the sequence of each q tile.

    Needs: `dash-outline-program`. Leaves: the formulas. Does not: change orders that are tables:
    the launcher copies them from a file.

    (* example filepath=test/Entries/lower-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerSequences : Pass<"dash-lower-sequences", "::mlir::ModuleOp"> {
  let summary = "Lower lengths of sequences to the entry `NAME_sequences`";
  let description = [{
    Gives each module of kernels for a list whose lengths are known at run time only
    (`sequences(<?>)`) an entry that reads `cu_seqlens_q` and `cu_seqlens_kv` and writes the records
    of sequences of the region `order`. A record has 12 words (i32). There is one for each sequence,
    and a last one with the totals.

    | words | of the sequence |
    |---|---|
    | 0 to 3 | end of its query rows, query rows, first q tile, kv rows - query rows |
    | 4 to 7 | end of its kv rows, kv rows, first kv tile, first line of visits |
    | 8 to 11 | number of its first unit of items; 0, 0, 0 |

    Tiles are numbered through the list; empty sequences have none. Units are those of all items of
    the sequences before: of kv heads, or of query heads where items own q tiles. The entry is one
    warp: it takes 32 sequences at a time, and adds the numbers of those before them. Whatever the
    input is, ranges of rows ascend and lie within the tensors: a sequence begins at the largest
    number up to its own, clamped to the tensor's rows.

    Needs: `dash-outline-program`. Leaves: formulas, for `dash-lower-order`, whose entry runs after
    this one. Does not: touch lists of stated lengths, whose records come with their table.

    (* example filepath=test/Entries/lower-sequences.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerDeal : Pass<"dash-lower-deal", "::mlir::ModuleOp"> {
  let summary = "Lower the dealing of items by work to the entry `NAME_deal`";
  let description = [{
    Gives each module of kernels whose items are dealt by work (`dash-deal-items`) an entry that
    runs between those of `dash-lower-order` and `dash-lower-prepare`, in each launch. The first
    leaves the items in issue order in the region `issue`; this one writes lists and items of the
    region `order`, as `#dash.deal` says. Whatever deals on the host makes the same lists.

    The entry is one block of 1024 threads. A round deals to all workers at once that are free
    before any of them would be free again, as long as prices do not fall from one item to the next.
    So lists are those of one item after the other. Lists of documents take about a round for each
    50 to 100 items. A block keeps the prices of 4096 items at a time.

    `NAME_prepare` needs none of it. So the entry lets it begin at once, and the last block of
    `NAME_prepare` waits for the end (`griddepcontrol`). Behind both all is there.

    | words of `issue` (i32) | are |
    |---|---|
    | 8 for each item | its record, as in `order`, in issue order |
    | 2 for each item, behind all records | its worker, and its place in the worker's list |

    Needs: `dash-outline-program`. Leaves: the items in issue order. Does not: change records,
    visits or turns, so no bit follows from it.

    (* example filepath=test/Entries/lower-deal.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerPrepare : Pass<"dash-lower-prepare", "::mlir::ModuleOp"> {
  let summary = "Lower the ops before the items to the entry `NAME_prepare`";
  let description = [{
    Replaces `dash.delta`, and the `linalg.fill` of dQ's sums, by an entry of the function's
    kernels. One block has one q tile:

    - region `delta` gets the row sums of O * dO, in f32, 0 past the end. If the function gets delta
      in place of o, the region gets a copy of it: nothing is summed then, and O and dO are not
      read;
    - region `lse2` gets LSE * log2(e). Rows past the end, and rows whose LSE is infinite (they see
      no column), get +inf: P = exp2(x - inf) is 0 there;
    - both are stored tile after tile, in blocks of 64 rows with row 8j + 2c + e at ((j>>1)*4 + c)*4
      + (j&1)*2 + e: a thread of the main kernel then finds its rows in 16-byte pieces;
    - region `dq_sum` gets zeros where the main kernel does not store first: in tiles that see no
      column, and everywhere if adds are unordered. The region does not exist if contributions to dQ
      are kept apart;
    - counters of turns, for dQ and with parts for dK and dV, get 0. If sums are rounded while
      others grow, counters of tiles without a chain get -1, because no turn signals their
      completion;
    - region `descriptors` gets the TMA descriptors of the program's `maps`: five dimensions {64,
      rows, columns / 64, heads, batch}, a swizzle of 128 bytes or of a map's `bytes`, zeros past
      the end. One block makes them;
    - a forward's entry makes the descriptors, and sets the word `drawn` to 0 where items are handed
      out, and does nothing else;
    - with a sink, region `sink_sum` gets the sum of each run of 32 rows, as `dash.sink_gradient`
      adds them, without the sign: each warp has one run;
    - the first tile of dS that the main kernel keeps for another program gets zeros. Where it reads
      such a dS, the entry makes descriptors alone: nothing needs LSE and delta;
    - where items are dealt by work, the entry begins beside `NAME_deal`, and its last block waits
      for it.

    Needs: `dash-outline-program`. Leaves: the memory of the sums, for the lowering of the items.
    Does not: choose tiles, or copy anything that the main kernel copies itself.

    (* example filepath=test/Entries/lower-prepare.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerConvert : Pass<"dash-lower-convert", "::mlir::ModuleOp"> {
  let summary = "Lower the rounding of dQ to the entry `NAME_convert`";
  let description = [{
    Replaces `dash.convert` by an entry of the function's kernels that writes dQ = round(scale *
    sum) from the workspace region `dq_sum`, scaled in f32 and rounded once to dQ's type, to nearest
    even. A constant factor is part of the kernel; an argument becomes the parameter `scale`.

    The region holds tile after tile in the op's `layout`, which is also the layout of the kernel's
    consumers: thread t of a block reads what thread t of theirs added. A block has one tile. Four
    lanes exchange their words, so that each writes 16 contiguous bytes. Rows past the end are not
    written.

    With parts, the entry also rounds dK and dV, and its grid is the sum of their grids. A block has
    a piece of a tile of one of them. Each warpgroup writes its own block of rows, in the piece's
    columns.

    Sums that are `apart` are first added up from the regions of contributions: as many
    contributions as the tile's counter states, in the order of turns, the first as it is, the
    others by `add.rn.ftz.f32`, like bulk copies. A block then has 32 columns of a warpgroup, and
    more blocks share a tile.

    A sum with `awaits_completion` is rounded when the last turn of its chain has signalled
    completion, so the entry `overlaps` the main kernel. One thread of a block acquires the tile's
    counter until it is -1, and meets the others. The last block ends when the main kernel has ended
    (`griddepcontrol.wait`), so that work after the entry finds dK and dV too.

    For a `dash.sink_gradient`, which is replaced too, `NAME_convert` adds the runs that
    `NAME_prepare` left in the region `sink_sum`: a warp in the block of a head's first tile adds
    the whole head. For a list, blocks take its sequences in turn.

    Needs: `dash-outline-program`, `dash-distribute-tiles`. Leaves: the memory of the sums. Does
    not: write dK and dV if there is one part: the main kernel rounds them itself.

    (* example filepath=test/Entries/lower-convert.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerCombine : Pass<"dash-lower-combine", "::mlir::ModuleOp"> {
  let summary = "Lower the combination of pieces to the entry `NAME_combine`";
  let description = [{
    Replaces `dash.combine` by an entry of the function's kernels that reads what the main kernel
    leaves in the workspace regions `o_pieces` and `lse_pieces`, and writes o and lse. A warp has a
    row. Its lanes find the largest LSE, a piece each; the order does not matter there. Then each
    lane adds up columns of its own, piece after piece, and loads four pieces at once. Powers and
    the logarithm are the machine's approximations; all else is rounded as in the op. A lane's
    numbers depend on its row alone, not on the grid.

    A sequence has as many pieces as its rows say; others are not read. So the `linalg.fill` of the
    pieces' LSE is dropped. Rows outside all sequences of a list are not written.

    Needs: `dash-outline-program`. Leaves: the memory of the pieces, for `dash-finish-program`.
    Does not: choose pieces.

    (* example filepath=test/Entries/lower-combine.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerClear : Pass<"dash-lower-clear", "::mlir::ModuleOp"> {
  let summary = "Add the entry `NAME_clear`, which clears rows outside of all sequences";
  let description = [{
    Gives each module of kernels for a list whose lengths are known at run time only
    (`sequences(<?>)`) an entry that writes to rows of outputs which no sequence has: zeros, and
    -inf where rows are logarithms. No other entry writes there. It is launched only when the host
    asks for it, since some hosts fill such rows by another launch.

    Sequences lie one behind the other (`dash-lower-sequences`). So these rows are those in front of
    the first sequence and those behind the last one, which the first and the last record of the
    region `order` say. The list is not searched, however long it is. The entry's threads share the
    rows: a warp takes a row of tiles, with all its heads, and a thread a row of logarithms. Without
    such rows, a thread reads two records and ends.

    Needs: `dash-outline-program`. Leaves: other entries as they are. Does not: touch lists of
    stated lengths, which have no such rows.

    (* example filepath=test/Entries/lower-clear.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_ENTRIES_PASSES_TD
