//===- Passes.td - passes of the room Entries --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Entries`, of the stage Lowering: the module of kernels, and the entries beside the main one;
// what a program is, who runs what, and a pass for each entry that runs in front of the main kernel, or behind it.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_ENTRIES_PASSES_TD
#define DASH_ENTRIES_PASSES_TD

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

    All of it comes from the program: its `dash.schedule`, with what was proven of it, the types and roles (`dash.tensor`) of
    its arguments, and the loads and stores of its workers, which `maps` are made of.

    **Workers**: `min_workers` is 1 where no worker waits for another: one worker, adds in no order, or a table in
    which no two workers add to one q tile. Else it is all workers. What the proof found for fewer rests on workers that start
    in index order, and no launch promises that.

    **Tickets**: with `tickets=true` a worker's index is not its block's: it draws the next one when it starts, from a word
    `tickets` of the workspace. So workers do start in index order, and `min_workers` of a table is what the proof found. (Of
    formulas it stays all workers: the proof is of one size.) No entry has to be launched cooperatively then: a launch is right wherever
    `min_workers` of its blocks are resident at once.

    Needs: `dash-check-kernels`, `dash-assign-roles`. Leaves: the function as it is. Does not: make entries; the
    passes `dash-lower-*` do.

    (* example filepath=test/Entries/outline-program.mlir *)
  }];
  let options = [
    Option<"tickets", "tickets", "bool", /*default=*/"false",
           "Let workers draw their indices when they start, for hosts that cannot launch cooperatively">];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of modules made">];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def FinishProgram : Pass<"dash-finish-program", "::mlir::ModuleOp"> {
  let summary = "Erase functions that are kernels now";
  let description = [{
    Erases each function that has a module of kernels, and every `dash.schedule` that nothing refers to any
    more. What is left in such a function may only allocate and compute what nobody uses: an op that no
    kernel has taken over is an error, and so are callers.

    Needs: `dash-outline-program` and the passes `dash-lower-*`. Leaves: the modules of kernels, and what
    else stands in the module. Does not: look into kernels.

    (* example filepath=test/Entries/finish-program.mlir *)
  }];
  let statistics = [Statistic<"numFinished", "num-finished", "Number of functions erased">];
}

def OutlineWorkers : Pass<"dash-outline-workers", "::mlir::ModuleOp"> {
  let summary = "Move the workers into the entry `NAME_main`";
  let description = [{
    Makes an entry of the function's kernels, with the parameters that the main kernel has, and moves `dash.workers`
    into it. Its block has all warps of a worker and its shared memory; it is cooperative where several workers must
    run at once and draw no tickets. The plan's memory has a word for a ticket in any case.

    Memory keeps its role: an argument becomes a `dash.tensor` of what it is (`dash.tensor` of the function), what the function
    allocates, one of what is written to it (`dash.delta`) or of what it is rounded to (`dash.convert`). A number is a constant or an
    argument with a role, which becomes a parameter. Where `dash.bulk_store` keeps contributions, the workspace gets a region for
    them, `contributions`: slot (q tile, turn). Where sums are rounded while others grow, each block lets the next launch begin
    (`griddepcontrol.launch_dependents`) before it does anything.

    Needs: `dash-outline-program`, `dash-plan-buffers`, `dash-insert-waits`. Leaves: what roles do; the function, which
    `dash-finish-program` erases. Does not: initialise barriers, or branch.

    (* example filepath=test/Entries/outline-workers.mlir *)
  }];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def LowerOrder : Pass<"dash-lower-order", "::mlir::ModuleOp"> {
  let summary = "Lower formulas to the entry `NAME_order`";
  let description = [{
    Gives each module of kernels whose order is formulas an entry that fills the workspace region `order`
    from the sizes of a launch. It need run only when sizes change. The buffer's words (i32):

    - header, 8 words: version 1, workers, items, first word of the lists (8), of the items, of the visits,
      number of visits, 0;
    - lists, workers + 1 words: worker w has the items lists[w] … lists[w + 1] - 1;
    - items, from a multiple of 8, 8 words each, list after list: sequence, kv head, kv tile, first head,
      first visit, visits per round, rounds, part turn;
    - visits, 4 words each: head (added to the first), q tile, turn, 1 if the turn is the chain's last. The
      line of kv tile kv begins at visit kv * q_tiles, and serves all its items; what is behind a line's
      active tiles is not written.

    A block is a worker: it looks at all items, counts those of the workers before it, and writes its own in
    the order of issue. Formulas are evaluated in 64 bits, all cases of a function without branches;
    divisors are taken as at least 1, which matters only in cases that do not apply.

    Of a list of sequences the entry runs in each launch, behind that of `dash-lower-sequences`: formulas are evaluated for each
    sequence by itself, with its own tiles; units follow those of the sequence in front of it; each kv tile of each sequence has
    a line of visits. Between the records of sequences and the lists the entry writes for each q tile which sequence has it.

    Needs: `dash-outline-program`. Leaves: the formulas. Does not: touch orders that are tables, which are a
    file for the launcher to copy.

    (* example filepath=test/Entries/lower-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerSequences : Pass<"dash-lower-sequences", "::mlir::ModuleOp"> {
  let summary = "Lower lengths of sequences to the entry `NAME_sequences`";
  let description = [{
    Gives each module of kernels of a list whose lengths are known at run time only (`sequences(<?>)`) an entry that
    reads `cu_seqlens_q` and `cu_seqlens_kv` and writes the records of sequences of the region `order`:
    a record of 12 words (i32) a sequence, and one more behind the last, which holds the totals.

    | words | of the sequence |
    |---|---|
    | 0 to 3 | row behind its last query row, query rows, number of its first q tile, kv rows - query rows |
    | 4 to 7 | row behind its last kv row, kv rows, number of its first kv tile, its first line of visits |
    | 8 to 11 | number of its first unit of items; 0, 0, 0 |

    Tiles are numbered through the list, empty sequences have none. The entry is one warp: 32 sequences at a time, and what
    those in front of them have. Whatever the numbers are, ranges of rows ascend and lie within the tensors: a sequence begins
    at the largest number up to its own, cut to the tensor's rows.

    Needs: `dash-outline-program`. Leaves: formulas, for `dash-lower-order`, whose entry runs behind this one. Does not: touch
    lists of stated lengths, whose records come with their table.

    (* example filepath=test/Entries/lower-sequences.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerPrepare : Pass<"dash-lower-prepare", "::mlir::ModuleOp"> {
  let summary = "Lower what comes before the items to the entry `NAME_prepare`";
  let description = [{
    Replaces `dash.delta`, and the `linalg.fill` of dQ's sums, by an entry of the function's kernels. One
    block has a tile of queries:

    - region `delta` gets the row sums of O * dO, in f32, 0 past the end; or, of a function that is given delta in place of o,
      that: nothing is summed then, and O and dO are not read;
    - region `lse2` gets LSE * log2(e), and +inf for rows past the end and rows whose LSE is infinite
      (they see no column): P = exp2(x - inf) is 0 there;
    - both stand tile after tile, in blocks of 64 rows in which row 8j + 2c + e is at
      ((j>>1)*4 + c)*4 + (j&1)*2 + e: what a thread of the main kernel needs is 16 bytes long;
    - region `dq_sum` gets zeros where the main kernel does not store first: in tiles that see no column,
      and in all where adds have no order. There is none where contributions to dQ are kept apart;
    - counters of turns, of dQ and with parts of dK and dV, get 0; where sums are rounded while others grow, those of tiles without a
      chain get -1: nobody else will tell that they are complete;
    - region `descriptors` gets the TMA descriptors of the program's `maps`: five dimensions {64, rows,
      columns / 64, heads, batch}, 128-byte swizzle, or another as `bytes` of a map say, zeros past the end. One block makes them;
    - with a sink region `sink_sum` gets the sum of each run of 32 rows, as `dash.sink_gradient` adds them, but for its sign:
      a warp has a run.

    Needs: `dash-outline-program`. Leaves: the memory that the sums were allocated in, for who lowers the
    items. Does not: choose tiles, or copy anything that the main kernel copies itself.

    (* example filepath=test/Entries/lower-prepare.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerConvert : Pass<"dash-lower-convert", "::mlir::ModuleOp"> {
  let summary = "Lower the rounding of dQ to the entry `NAME_convert`";
  let description = [{
    Replaces `dash.convert` by an entry of the function's kernels that writes dQ = round(scale * sum) from
    the workspace region `dq_sum`, scaled in f32 and rounded once to dQ's type, to nearest even. A factor that is a
    constant stands in the kernel; one that is an argument is its parameter `scale`.

    The region holds tile after tile, each as the op's `layout` says, which is also what the kernel's consumers hold:
    thread t of a block finds what thread t of theirs added. A block has a tile; four lanes exchange their words, so that
    each writes 16 neighbouring bytes. Rows past the end are not written.

    With parts the entry rounds dK and dV, too, and its grid is the sum of theirs: a block has a piece of a tile of one of them, of which
    each warpgroup writes its own block of rows, in the piece's columns.

    What is `apart` is added up first, from the regions of contributions: as many as the tile's counter says, in the order of turns, the
    first as it is, the others by `add.rn.ftz.f32`, which is what bulk copies do. A block has 32 columns of a warpgroup then, and more blocks share a tile.

    What `waits` is rounded when its chain's last turn has told that its sum is complete, so the entry `overlaps` the main kernel: a
    thread of a block acquires the tile's counter until it is -1, sets it back to 0, and meets the others. The last block ends when the
    main kernel has (`griddepcontrol.wait`): whoever comes behind the entry finds dK and dV, too.

    Of a `dash.sink_gradient`, which goes too, `NAME_convert` adds the runs that `NAME_prepare` has left in the region `sink_sum`: a
    warp of the block of a head's first tile has all of the head; of a list blocks take turns with its sequences.

    Needs: `dash-outline-program`, `dash-distribute-tiles`. Leaves: the memory that the sums were allocated in. Does not: write dK
    and dV of one part, which the main kernel rounds itself.

    (* example filepath=test/Entries/lower-convert.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_ENTRIES_PASSES_TD
