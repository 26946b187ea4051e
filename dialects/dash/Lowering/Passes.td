//===- Passes.td - as instructions ---------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Lowering`: from a proven order to the entries of kernels.
//===----------------------------------------------------------------------------===//

#ifndef DASH_LOWERING_PASSES_TD
#define DASH_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineProgram : Pass<"dash-outline-program", "::mlir::ModuleOp"> {
  let summary = "Make a module for the kernels of each scheduled program";
  let description = [{
    Adds `gpu.module @NAME_kernels` behind each function NAME with a scheduled problem, after checking that
    kernels cover it. The module has no kernels yet; it says what a launcher needs to know beside them, in
    the terms of the manifest, as attributes:

    - `dash.program`: the program's facts, sizes (a range, or the value that a type or a table fixes),
      constraints, derived sizes, tensors, regions of the workspace, and where the order comes from;
    - `dash.formulas`: the order, where it is formulas;
    - `dash.order`: the order buffer that the main kernel reads, where the order is a table.

    Arguments of the function get `dash.name` ("q", …, "dv", "scale"). The order is proven once more.

    **Covered**: bf16; head dim 64 or 128, the same for q and v; masks full and causal; q tiles of 64 or 128
    rows, kv tiles of 128; one part a kv head; batches of equal sequences; one problem a function; every
    tensor an argument, with its last dimension contiguous; delta and dQ's sums in memory that the function
    allocates; one scale, an argument or a constant.

    **Workers**: a table is proven for its sizes, so `min_workers` is what the proof found. Formulas serve
    all sizes: `min_workers` is all workers, or 1 where adds have no order.

    Needs: `dash-tile`, `dash-apply-schedule`. Leaves: the function as it is. Does not: make entries; the
    passes `dash-lower-*` do.

    (* example filepath=test/Lowering/outline-program.mlir *)
  }];
  let statistics = [Statistic<"numOutlined", "num-outlined", "Number of modules made">];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
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

    Needs: `dash-outline-program`. Leaves: the formulas. Does not: touch orders that are tables, which are a
    file for the launcher to copy.

    (* example filepath=test/Lowering/lower-order.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
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

def LowerPrepare : Pass<"dash-lower-prepare", "::mlir::ModuleOp"> {
  let summary = "Lower what comes before the items to the entry `NAME_prepare`";
  let description = [{
    Replaces `dash.delta`, and the `linalg.fill` of dQ's sums, by an entry of the function's kernels. One
    block has a tile of queries:

    - region `delta` gets the row sums of O * dO, in f32, 0 past the end;
    - region `lse2` gets LSE * log2(e), and +inf for rows past the end and rows whose LSE is infinite
      (they see no column): P = exp2(x - inf) is 0 there;
    - both stand tile after tile, in blocks of 64 rows in which row 8j + 2c + e is at
      ((j>>1)*4 + c)*4 + (j&1)*2 + e: what a thread of the main kernel needs is 16 bytes long;
    - region `dq_sum` gets zeros where the main kernel does not store first: in tiles that see no column,
      and in all where adds have no order;
    - region `descriptors` gets the TMA descriptors of q, k, v, do, dk and dv: five dimensions {64, rows,
      head dim / 64, heads, batch}, 128-byte swizzle, zeros past the end. One block makes them.

    Needs: `dash-outline-program`. Leaves: the memory that the sums were allocated in, for who lowers the
    items. Does not: choose tiles, or copy anything that the main kernel copies itself.

    (* example filepath=test/Lowering/lower-prepare.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerWorkers : Pass<"dash-lower-workers", "::mlir::ModuleOp"> {
  let summary = "Lower the roles of workers to the main kernel";
  let description = [{
    Makes one entry of each `dash.workers`, which runs all its roles: a block is a worker, and branches by
    warp. Roles that share a warpgroup stand in one branch, which first sets the warpgroup's registers. What a
    role does, item by item of its list and visit by visit of an item, it reads from the workspace region
    `order`, so one kernel serves all orders, whether formulas or tables.

    - **Channels**: a slot has a barrier that says full and one that says empty. One thread initialises them. Use
      number n of a channel, counted over the worker's life, has slot n mod depth and waits for phase n div depth.
    - **A role that loads**: one thread. For each slot, wait until it is empty, say how many bytes will come, start
      the copies (`cp.async.bulk.tensor` by a descriptor, `cp.async.bulk` for LSE and delta, which stand in the
      workspace as the kernel wants them). Beside the tiles it leaves words that say what to do with them.
    - **A role that multiplies**: two warpgroups, a copy of the code for each. Ops are issued in the order of
      `dash.order`; those of `dash.stage` 0 work on the next step, 1 on this one, 2 on the one before, with the first
      and the last step peeled. A product is one piece of assembly, from `wgmma.fence` to its commit, and is waited
      for where its values, or the slots that it reads, are needed. Exponentials are to base 2, of
      scale * log2(e) * s - lse2; hidden elements are zeros, in tiles that have some. Gradients are rounded once,
      and leave through rows of the slot that `dash.staging` names.
    - **A role that adds**: a thread of each warp takes every n-th step of n warps. It waits until the tile's counter
      is its turn (`ld.acquire.gpu`), then for the slot; a fence of the async proxy; a bulk store at turn 0, else a
      bulk add; once the slot is read, it is released; once the sum is complete (`wait_group` without `.read`), a
      fence, and the counter goes up (`red.release.gpu`) or, after the last turn, back to 0. Adds in no order
      are a bulk add and a release.

    Needs: `dash-check-resources`, which proves that the plan fits and that roles do not wait for ever, and
    `dash-outline-program`. Leaves: no `dash.workers`; `dash-finish-program` erases the function. Does not: fill
    `order`, or what `dash-lower-prepare` and `dash-lower-convert` lower.

    Covered: 8 warps that multiply, up to 3 that load or add in each role; anything else is an error at the op.

    (* example filepath=test/Lowering/lower-workers.mlir show=command,input *)
  }];
  let options = [
    Option<"contributions", "contributions", "bool", /*default=*/"false",
           "Keep each contribution to dQ in a region of the workspace, `contributions`: slot (q tile, "
           "turn), so that a chain's sum can be replayed. Off because it is large and slow">,
    Option<"delays", "delays", "bool", /*default=*/"false",
           "Sleep for random times wherever roles wait for each other: bits must not change. For "
           "tests">,
    Option<"threadsArrive", "threads-arrive", "bool", /*default=*/"false",
           "Every thread says for itself that it is done with a slot, not one for its warp, whose "
           "lanes go together: tools that look for races do not see that they do. For tests">,
  ];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of main kernels made">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerConvert : Pass<"dash-lower-convert", "::mlir::ModuleOp"> {
  let summary = "Lower the rounding of dQ to the entry `NAME_convert`";
  let description = [{
    Replaces `dash.convert` by an entry of the function's kernels that writes dQ = bf16(scale * sum) from
    the workspace region `dq_sum`, scaled in f32 and rounded once, to nearest even. A factor that is a
    constant stands in the kernel; one that is an argument is its parameter `scale`.

    The region holds tile after tile, each as two warpgroups of 128 threads hold it in registers. For 64
    rows they share the columns, for 128 the rows; of its 64 rows by N columns, thread t has at word i*512
    + t*4 + r*2 + e row 16*(t/32) + (t%32)/4 + 8*r, column 8*i + 2*(t%4) + e. A block has a tile; four
    lanes exchange their words, so that each writes 16 neighbouring bytes. Rows past the end are not
    written.

    Needs: `dash-outline-program`. Leaves: the memory that the sums were allocated in. Does not: write dK
    and dV, which the main kernel rounds itself.

    (* example filepath=test/Lowering/lower-convert.mlir *)
  }];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of entries made">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // DASH_LOWERING_PASSES_TD
