//===- Passes.td - tiles in an order -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Schedule`: from a whole problem to tiles with a proven order.
//===----------------------------------------------------------------------------===//

#ifndef DASH_SCHEDULE_PASSES_TD
#define DASH_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Tile : Pass<"dash-tile"> {
  let summary = "Write attention, forward or backward, as ops on tiles, without an order";
  let description = [{
    Replaces each `dash.attention_bwd` by three steps: `dash.delta` (unless delta is given), an
    unscheduled `dash.items` whose walks add contributions to an f32 sum of dQ, and `dash.convert`,
    which scales and rounds that sum. With a softcap, a task has `dash.softcap` and `dash.damp`.
    With a sink, `dash.sink_gradient` follows delta.

    The function's arguments that are operands of the op get their roles (`dash.tensor`), and the
    function gets the order that callers use (`dash.tensors`). The op is erased, so later passes
    need these roles instead of names. An argument that is several tensors has several roles. An
    argument that already has another role from another op is an error.

    Needs: nothing. Leaves: the same gradients, still without an order. Does not: choose an order;
    see `dash-apply-schedule`.

    A problem with a tiling (`dash-choose-tiling`) says itself how many rows and columns tiles have,
    and how warpgroups split each product; the items keep the tiling. The options are for problems
    without one: orders and the CPU lane need no kernel.

    A tile must fit the instructions of kernels: a multiple of 16 rows, at most 256. The defaults
    are the tiles of the fastest known kernel for head dim 128. A tile has the columns of its
    tensor. With `widths`, all tiles have the least of these widths that has room for each tensor:
    the other columns are zero, and are not stored. (Kernels have a few widths; tensors in memory
    are never padded.)

    Sums of dQ, and delta, are in memory that is allocated before and freed after; later stages
    place it. The sum starts from zeros, because a q tile that sees no column gets no contribution.

    With `split=dv` there are two `dash.items` that own kv tiles, and one order for both: the first
    has dV, the second dK and dQ. S and P are computed twice, so a task takes 6 products instead of
    5, and the sums of a loop take half of the registers. The bits are those of `none`.

    With `split=dq` there are two `dash.items`: one without dQ, whose items own kv tiles, and one
    behind it with `own(q) walk(kv)`. The second computes S, P, dP and dS again, carries dQ of its q
    tile through the walk, and stores it scaled. Then nothing is summed across items: there is no
    sum of dQ in memory and no `dash.convert`, and dQ has the same bits on any number of workers.
    That takes 7 products a task instead of 5. Only the CPU lane runs it.

    A `dash.attention_fwd` becomes one `dash.items` with `own(q) walk(kv)`: a walk goes along kv
    tiles with an online softmax, and `dash.finish` divides. Its tiles have 128 rows of q unless
    stated. Rows of kv follow from the head dims (128 up to 64, 96 up to 96, 128 up to 128, 112 for
    192 with v at most 128, 96 for 192, 64 beyond), and not from the mask or from sizes, because the
    bits of a row depend on them. Nothing is summed across items.

    (* example filepath=test/Schedule/tile.mlir *)
  }];
  let options = [
    Option<"q", "q", "int64_t", /*default=*/"0",
           "Rows of a tile of Q, dO and dQ; 0 are the tiling's, or 64, or a forward's 128">,
    Option<"kv", "kv", "int64_t", /*default=*/"0",
           "Rows of a tile of K, V, dK and dV; 0 are the tiling's, or 128, or a forward's">,
    Option<"split", "split", "::mlir::dash::GradientSplit",
           /*default=*/"::mlir::dash::GradientSplit::None",
           "Which gradient has items of its own. `none` is the default because it computes S and "
           "dP once",
           [{::mlir::dash::splitWords()}]>,
    Option<"slack", "slack", "double", /*default=*/"8",
           "How far, in units of log 2, a score of a forward may be above its row's reference. "
           "The default loses no precision, and few tiles move the reference; 0 moves it at each "
           "larger score">,
    ListOption<"widths", "widths", "int64_t",
               "Columns that tiles may have; those of the tensors if empty">,
  ];
  let statistics = [
    Statistic<"numTiled", "num-tiled", "Number of attention ops written as ops on tiles">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ApplySchedule : Pass<"dash-apply-schedule", "::mlir::ModuleOp"> {
  let summary = "Give tiled problems an order";
  let description = [{
    Builds a schedule for each unscheduled `dash.items`, proves it, adds it to the module as a
    `dash.schedule`, and turns every `dash.reduce` into a `dash.ordered_reduce` at its turn. Only
    kind=unordered keeps `dash.reduce`: it serves comparison, and is not deterministic.

    With `parts` > 1, several items share the query heads of a kv head. Their dK and dV then have
    chains too, and are summed in f32 like dQ. If there are more parts than query heads, their
    number is a multiple of the heads, and each part has a run of the q tiles of one head.
    kind=synthesized, kind=auto and kind=file cut such runs on every mask, the fixed kinds only on
    full masks. If `parts` is not stated, kind=auto and kind=synthesized choose the number, among
    the divisors of a group, with the least predicted time of the order and the rounding of its
    sums; more than one part must be 1 % faster than one. From level batch on, each sequence makes
    this choice separately, at level machine each kv head: if lengths disagree, `parts` must be
    stated. With assumed sizes, and for all other kinds, it is one part.

    An add waits for the turn before it, unless its contribution is kept apart: in a separate place,
    to be added up after the order, in the order of turns. `apart` selects contributions (`parts`:
    those of parts, to dK and dV; `all`: those to dQ too), or leaves the choice to predicted times
    (`auto`): waiting, or writing and reading once more. Keeping apart must be 1 % faster, and take
    at most 256 MiB. An order has the same bits whatever is kept apart. A search at level run finds
    other orders when less waits; at higher levels it does not.

    Loops over the same tensors, with the same tiles, mask and level, share one `dash.schedule`.

    Needs: `dash-tile`. Leaves: tile computations untouched. Does not: place buffers or barriers.

    Sizes that the types leave open come from `sizes`, for example
    `sizes=q:3000,kv:3000,batch:4,heads:16,kv-heads:4`. `sizes=q:1000+3000,kv:1000+3000` states the
    rows of two sequences, one after the other in a batch of 1. If nothing states them, `kv` is `q`,
    `heads` is `kv-heads` and both are 1, and `batch` is 1. The order is proven for these sizes.
    Formulas serve others too; a table does not. A remark (`--remarks-filter='dash.*'`) reports what
    was ordered.

    With `assume=true`, nothing needs to be stated. The missing sizes are assumed: 4096 query rows,
    as many key rows, a batch of 1, 16 heads and as many kv heads. Another remark (analysis) reports
    them. This is for programs that serve all sizes, so an order that is a table is refused.

    A kind gives formulas if it has some for the mask. All fixed kinds have them for full masks,
    causal masks and other right bounds; `symmetric-shift` has none for windows; for unions only
    `ascending` and `descending` have them; for bitmaps none does. Otherwise the order is a table
    for the stated sizes, whatever `form` says, and a remark (missed) reports it.

    At level run, kind=auto takes the kind with the least predicted time for the stated sizes. From
    level batch on, it takes `synthesized`, which chooses for each sequence separately. With assumed
    sizes the order must serve all sizes, so it takes the best fixed kind at the assumed sizes. It
    also does so if a table would be too large. The schedule has the name of the chosen kind, and
    `dash-explain` states why.

    With kind=file, the file needs items and chains. Options with default values take the file's
    values. Options that contradict the file are refused, except costs, which replace the file's
    (missing costs come from the file of costs). If a file has several schedules, the one with the
    problem's name is taken.

    (* example filepath=test/Schedule/apply-schedule.mlir *)
  }];
  let options = [
    Option<"kind", "kind", "std::string", /*default=*/"\"ascending\"",
           "What builds the order (dash-opt lists the kinds on a wrong one), `auto` or `file`. "
           "`ascending` is the default because it is the order of unscheduled code">,
    Option<"function", "function", "std::string", /*default=*/"\"\"",
           "Order only the problem of this name: a function's, or `name#1`, `name#2` … for its "
           "later ones. The default orders all">,
    Option<"path", "path", "std::string", /*default=*/"\"\"",
           "The order, in the format of the JSON report, for kind=file">,
    Option<"workers", "workers", "int64_t", /*default=*/"0",
           "Number of lists. The default, 0, is the number of multiprocessors of the target">,
    Option<"target", "target", "std::string", /*default=*/"::mlir::dash::defaultTarget.str()",
           "The chip, by its PTX name, whose multiprocessors are the default number of workers">,
    Option<"apart", "apart", "::mlir::dash::ApartChoice",
           /*default=*/"::mlir::dash::ApartChoice::None",
           "Contributions that wait for no turn: none, parts, all or auto. `none` is the default "
           "because others take memory",
           [{::mlir::dash::apartWords()}]>,
    Option<"level", "level", "::mlir::dash::LevelChoice",
           /*default=*/"::mlir::dash::LevelChoice::Own",
           "What the bits may not depend on: run, batch or machine. The default, `own`, is the "
           "problem's; a weaker one is refused",
           [{::mlir::dash::levelWords()}]>,
    Option<"parts", "parts", "int64_t", /*default=*/"0",
           "Parts that the query heads of one kv head are split into. The default, 0, leaves the "
           "number to kind=auto and kind=synthesized, where sizes are stated; else it is 1">,
    Option<"forWorkers", "for-workers", "int64_t", /*default=*/"32",
           "Number of workers that an order of level machine is made for; other levels use "
           "`workers`. The default exists on every sm_90 device">,
    Option<"costs", "costs", "std::string", /*default=*/"\"\"",
           "A file of costs, by head dim and class of masks (dialects/dash/docs/schedules.md). The "
           "default is that of an H200, in microseconds">,
    Option<"card", "card", "std::string", /*default=*/"\"\"",
           "Instead of a file, the card whose costs are taken: h100 or h200. For levels run and "
           "batch: from machine on, orders are the same for all cards">,
    Option<"compute", "compute", "double", /*default=*/"-1",
           "Cost of a task's products; the default, -1, takes it from the file of costs, and so "
           "below">,
    Option<"reduce", "reduce", "double", /*default=*/"-1", "Cost of a task's reduction">,
    Option<"latency", "latency", "double", /*default=*/"-1",
           "Cost of a chain's hop from one worker to another">,
    Option<"boundary", "boundary", "double", /*default=*/"-1",
           "Cost of an item besides its tasks">,
    Option<"piece", "piece", "double", /*default=*/"-1",
           "Cost of adding a piece of a part's dK and dV. The default, -1, takes as many "
           "reductions as the file of costs has, and so below">,
    Option<"convert", "convert", "double", /*default=*/"-1",
           "Cost of rounding a kv tile's sums of dK and dV">,
    Option<"gather", "gather", "double", /*default=*/"-1",
           "Cost of reading a contribution that is kept apart">,
    Option<"buffers", "buffers", "int64_t", /*default=*/"2",
           "dQ tiles that a worker holds for reduction; 1 is the model of the DASH paper">,
    Option<"dqLimit", "dq-limit", "int64_t", /*default=*/"32",
           "MiB of f32 dQ of unfinished heads that a synthesized order keeps in flight; 0 is no "
           "limit. The default is what stays in the L2 of an H100 or H200, beyond which adds are "
           "half as fast">,
    Option<"sizes", "sizes", "std::string", /*default=*/"\"\"",
           "Sizes that the types leave open: q, kv, batch, heads, kv-heads">,
    Option<"assume", "assume", "bool", /*default=*/"false",
           "Assume usual values for sizes that nothing states. Off because the proof is for the "
           "sizes that the order is made for, which are better stated">,
    Option<"form", "form", "::mlir::dash::OrderForm",
           /*default=*/"::mlir::dash::OrderForm::Formulas",
           "How the order is written. `formulas` is the default because they serve every size; "
           "kind=file is always a table",
           [{::llvm::cl::values(
             clEnumValN(::mlir::dash::OrderForm::Formulas, "formulas", "functions of the sizes"),
             clEnumValN(::mlir::dash::OrderForm::Table, "table", "written out for these sizes"))}]>,
  ];
  let statistics = [
    Statistic<"numScheduled", "num-scheduled", "Number of problems given an order">,
    Statistic<"numTasks", "num-tasks", "Number of tasks ordered">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def VerifySchedule : Pass<"dash-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Read the orders back from the IR and prove them";
  let description = [{
    Proves for each `dash.schedule`: coverage (every task that the mask leaves, once), total order
    (the turns of each chain are 0 to n-1, each once), progress (lists and chains have no cycle) and
    independence (the order depends on nothing that its level excludes). An `unordered` order has no
    chains: the pass proves its coverage, and that it claims no level above run. A remark
    (`--remarks-filter='dash.*'`) reports what was proven.

    Needs: `dash.schedule` ops, from `dash-apply-schedule` or written by hand. Leaves:
    `min_workers`, the fewest workers that finish when they are resident at once, on ops that did
    not state it. An op that states another number is refused.

    (* example filepath=test/Schedule/verify-schedule.mlir *)
  }];
  let statistics = [
    Statistic<"numVerified", "num-verified", "Number of schedules proven">,
    Statistic<"numTasks", "num-tasks", "Number of tasks in them">,
  ];
}

def DealItems : Pass<"dash-deal-items", "::mlir::ModuleOp"> {
  let summary = "Let launches deal the items of lists of sequences by their work";
  let description = [{
    Formulas deal items without a look at how long they are. Sequences of a list have any lengths,
    so some workers get more than others. This pass writes `deal` to the order of such a list: each
    launch then deals items in issue order, each to the worker that is free first (`#dash.deal`).
    Prices are those of the order's cost, in eighths of a task's compute.

    An order is dealt if its kind says that items wait for none but those that are issued earlier:
    `shortest-first`, and `longest-first`, whose items wait for nothing in programs without dQ. The
    pass proves that of the order, and then the lists that are dealt for its sizes. Bits do not
    change, because visits and turns do not. Forwards are left alone, whose items workers draw
    (`dash-hand-out-items`); so are tables, several parts, and more than 1024 workers.

    Needs: `dash-apply-schedule`. Leaves: `min_workers` of the lists that it has proven. Does not:
    deal on the device; `dash-lower-deal` makes the entry that does.

    (* example filepath=test/Schedule/deal-items.mlir *)
  }];
  let statistics = [Statistic<"numDealt", "num-dealt", "Number of orders whose items are dealt">];
}

def ReportSchedule : Pass<"dash-report-schedule", "::mlir::ModuleOp"> {
  let summary = "Show the orders of a module and what they cost";
  let description = [{
    Writes one document with all schedules that a `dash.items` uses, in the module's order: the
    facts, the predicted makespan with the lower bound, and the order itself.

    - `table`: for people; steps as rows, workers as columns.
    - `json`: for programs (schema: dialects/dash/Schedule/report.schema.json); exact and complete;
      kind=file reads it.
    - `svg`: a Gantt chart of compute, reduction, waits and the critical path.
    - `trace`: the predicted run as trace events, for Perfetto or chrome://tracing. A schedule is a
      process, a worker two threads (it computes one task while it reduces another). A wait names
      its task, and an arrow starts at the turn that it waited for. A unit of cost is a microsecond;
      times are rounded to nanoseconds.

    Needs: a valid schedule; an invalid one is refused as by `dash-verify-schedule`. Changes
    nothing. A file is written whole or not at all, one for each run: under `--split-input-file`
    each part is a run. Without `output`, the report goes to standard output: send the module
    elsewhere (`-o`).

    (* example filepath=test/Schedule/report-schedule.mlir *)
  }];
  let options = [
    Option<"format", "format", "::mlir::dash::ReportFormat",
           /*default=*/"::mlir::dash::ReportFormat::Table",
           "The format of the report. `table` is the default because it needs no other program",
           [{::llvm::cl::values(
             clEnumValN(::mlir::dash::ReportFormat::Table, "table", "for a person"),
             clEnumValN(::mlir::dash::ReportFormat::Json, "json", "for programs"),
             clEnumValN(::mlir::dash::ReportFormat::Svg, "svg", "a picture"),
             clEnumValN(::mlir::dash::ReportFormat::Trace, "trace", "for a trace viewer"))}]>,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
    Option<"maxSteps", "max-steps", "int64_t", /*default=*/"64",
           "Rows of a table; 0 prints all. The default fits a few screens">,
    Option<"maxWorkers", "max-workers", "int64_t", /*default=*/"12",
           "Columns of a table; 0 prints all. The default fits a line">,
  ];
  let statistics = [
    Statistic<"numReported", "num-reported", "Number of schedules reported">,
  ];
}

def ExplainSchedule : Pass<"dash-explain", "::mlir::ModuleOp"> {
  let summary = "Explain in a few lines what an order suits and what would be faster";
  let description = [{
    Explains each schedule that a `dash.items` uses, in the module's order: the purpose of its kind,
    the workers it needs, its makespan with the lower bound, where the workers' time goes, the
    memory that the adds spread over, the cost of its determinism level, and faster kinds or numbers
    of parts. All times are predictions of the cost model.

    - **stall**: shares of workers x makespan. *Waiting for turns*: a worker neither computes nor
      reduces, because its next reduction waits for its turn. *For buffers*: it reduces, while its
      next compute waits for the buffer. *Idle at the end*: after its last reduction. The rest is
      work.
    - **dQ in flight**: a (sequence, head) pair is in flight from the start of its first reduction
      to the end of its last, and counts as q rows x head dim x 4 bytes. The figure is the largest
      sum at any time.
    - **parts**, for grouped heads: the cost of adding an item's dK and dV, and of rounding their
      sums after the order; and the number that kind=auto takes at level run.
    - **level**: the same kind at level run, for comparison. **auto**: the choice of kind=auto with
      as many parts. **faster**: other kinds and other parts; each is built and proven. Kinds that
      search are run at level run, up to 262144 tasks, and only named beyond that; past 4194304
      tasks or items nothing is built.

    Needs: a valid schedule; an invalid one is refused as by `dash-verify-schedule`. Changes
    nothing. Does not: show the order; see `dash-report-schedule`.

    (* example filepath=test/Schedule/explain-schedule.mlir *)
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
  let statistics = [
    Statistic<"numExplained", "num-explained", "Number of schedules explained">,
  ];
}

def CompareSchedule : Pass<"dash-compare", "::mlir::ModuleOp"> {
  let summary = "Compare all kinds of orders";
  let description = [{
    Builds and proves every kind for the problem of each schedule that a `dash.items` uses, in the
    module's order, with its level, workers, parts and costs. Shows them side by side, shortest
    first. Kinds that cannot serve the problem are left out, and so is `unordered` from level batch
    on. All times are predictions of the cost model.

    - `table`: for people; one kind in each row, with the shares that `dash-explain` explains.
    - `svg`: the Gantt charts of all kinds, one below the other, as `dash-report-schedule` draws
      them.

    Needs: a valid schedule; an invalid one is refused as by `dash-verify-schedule`. Changes
    nothing. Does not: choose; see kind=auto of `dash-apply-schedule`.

    (* example filepath=test/Schedule/compare-schedule.mlir *)
  }];
  let options = [
    Option<"format", "format", "::mlir::dash::ReportFormat",
           /*default=*/"::mlir::dash::ReportFormat::Table",
           "The format. `table` is the default because it needs no other program",
           [{::llvm::cl::values(
             clEnumValN(::mlir::dash::ReportFormat::Table, "table", "for a person"),
             clEnumValN(::mlir::dash::ReportFormat::Svg, "svg", "a picture"))}]>,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
  let statistics = [
    Statistic<"numCompared", "num-compared", "Number of schedules compared with other kinds">,
  ];
}

#endif // DASH_SCHEDULE_PASSES_TD
