//===- DashKernelAttrs.td - attributes that describe kernels -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between Lowering, which makes kernels, and Target, which describes them to
// launchers. Each attribute is a part of the manifest and has its fields.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHKERNELATTRS_TD
#define DASH_IR_DASHKERNELATTRS_TD

include "dash/IR/DashAttrs.td"
include "dash/IR/DashTensorRoles.td"

//===--------------------------------------------------------------------------===//
// Words
//===--------------------------------------------------------------------------===//

def RegionBefore : Dash_Words<"RegionBefore",
    "what a region of the workspace holds before a launch", [
  I32EnumAttrCase<"Any", 0, "any">,
  I32EnumAttrCase<"Zero", 1, "zero">,   // once: every launch leaves zeros
  I32EnumAttrCase<"Entry", 2, "entry">, // the output of an entry
  I32EnumAttrCase<"File", 3, "file">]>; // the content of a file

def RegionAfter : Dash_Words<"RegionAfter", "what a region of the workspace holds after a launch", [
  I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Zero", 1, "zero">]>;

def OrderSource : Dash_Words<"OrderSource", "where the order buffer comes from", [
  I32EnumAttrCase<"Entry", 0, "entry">, I32EnumAttrCase<"File", 1, "file">]>;

def EntryRole : Dash_Words<"EntryRole", "what an entry is for", [
  I32EnumAttrCase<"Order", 0, "order">, I32EnumAttrCase<"Prepare", 1, "prepare">,
  I32EnumAttrCase<"Main", 2, "main">, I32EnumAttrCase<"Convert", 3, "convert">,
  I32EnumAttrCase<"Sequences", 4, "sequences">, I32EnumAttrCase<"Combine", 5, "combine">,
  I32EnumAttrCase<"Clear", 6, "clear">, I32EnumAttrCase<"Deal", 7, "deal">]>;

def EntryWhen : Dash_Words<"EntryWhen", "when an entry must be launched", [
  I32EnumAttrCase<"Always", 0, "always">,
  I32EnumAttrCase<"SizesChange", 1, "sizes_change">,
  I32EnumAttrCase<"Asked", 2, "asked">]>; // only if the host asks for what it does

//===--------------------------------------------------------------------------===//
// A program
//===--------------------------------------------------------------------------===//

def FactsAttr : Dash_Attr<"Facts", "facts"> {
  let summary = "What kernels compute, and in which order";
  let description = [{
    `min_workers` is the number of workers that must be resident at once, whatever order they start
    in: all of them, or 1 if no worker waits for another. `dash.schedule` has the number for workers
    that start in index order. Workers that draw tickets do (`dash-outline-program`); for a table,
    this is then that number. `softcap` is absent if scores have none. `apart` states which
    contributions are kept apart (`dash-keep-apart`), and `overlaps_rounding` whether sums are
    rounded while others still grow (`dash-overlap-rounding`). `own` is the side whose tiles items
    own: q in a forward, whose items add nothing to sums in memory. `cut` is the kv rows of the
    pieces that such items walk, absent if they walk all.

    **Preconditions**: every number is at least 1, `min_workers` and `width` as in `dash.schedule`.
    **Postconditions**: none.
    **Example**: `#dash.facts<element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
    tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1,
    workers = 132, width = 132, min_workers = 132>`.
    **Errors**: `'head_dim' must be at least 1, got 0`; `'min_workers' must be at most the workers,
    4, got 5`; `'element' must be bf16 or f16, got 'i32'`; `'apart' keeps contributions by their
    turns, and this program has none`; `'overlaps_rounding' wants sums that grow in turns, and this
    program has none, or keeps contributions apart`; `items that own q tiles add nothing to memory:
    they have no parts, keep nothing apart, and leave no sums to round`; `'cut' must be a multiple
    of the kv tile, 128, in items that own q tiles, got 1000`; those of `#dash.problem`
    about a fold.
  }];
  let parameters = (ins
    TypeParameter<"::mlir::Type", "type of the tensors' elements">:$element,
    AttrParameter<"int64_t", "head dim of Q and K">:$head_dim,
    AttrParameter<"int64_t", "head dim of V">:$head_dim_v,
    AttrParameter<"::mlir::dash::MaskAttr", "which columns a row attends to">:$mask,
    AttrParameter<"::mlir::dash::TilesAttr", "rows of the tiles">:$tiles,
    StringRefParameter<"builder that made the order, for messages">:$kind,
    EnumParameter<DeterminismLevel>:$level,
    AttrParameter<"bool", "whether equal inputs give equal bits">:$deterministic,
    AttrParameter<"int64_t", "parts of a kv head's group of query heads">:$parts,
    AttrParameter<"int64_t", "lists of items">:$workers,
    AttrParameter<"int64_t", "workers that the order was made for">:$width,
    AttrParameter<"int64_t", "workers that must be resident at once">:$min_workers,
    OptionalParameter<"::mlir::FloatAttr", "cap of the scores">:$softcap,
    DefaultValuedParameter<"::mlir::dash::Apart", "::mlir::dash::Apart::None",
    "contributions that are kept apart">:$apart,
    DefaultValuedParameter<"bool", "false",
    "whether sums are rounded while others still grow">:$overlaps_rounding,
    DefaultValuedParameter<"::mlir::dash::TensorSide", "::mlir::dash::TensorSide::KV",
    "the side whose tiles items own">:$own,
    DefaultValuedParameter<"int64_t", "0", "kv rows of a piece that an item walks">:$cut);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool ownsQ() const { return getOwn() == TensorSide::Q; }
  }];
}

def SizeAttr : Dash_Attr<"Size", "size"> {
  let summary = "A size of the problem, chosen when kernels are launched";
  let description = [{
    A size that a type or a table fixes has one value: `min` and `max` are equal.

    **Preconditions**: 1 to `min` to `max`.
    **Postconditions**: none.
    **Example**: `#dash.size<name = "batch", min = 1, max = 65535>`.
    **Errors**: `size 'batch' must be from at least 1 to no less, got 3 to 2`.
  }];
  let parameters = (ins StringRefParameter<"name in expressions">:$name,
                        AttrParameter<"int64_t", "the smallest">:$min,
                        AttrParameter<"int64_t", "the largest">:$max);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFixed() const { return getMin() == getMax(); }
  }];
}

def ConstraintAttr : Dash_Attr<"Constraint", "constraint"> {
  let summary = "A rule that sizes must follow together";
  let description = [{
    **Preconditions**: the expression uses the program's sizes.
    **Postconditions**: none.
    **Example**: `#dash.constraint<expression = "heads % kv_heads", equals = 0, message = "heads
    must be a multiple of kv_heads">`.
  }];
  let parameters = (ins StringRefParameter<"of sizes">:$expression,
                        AttrParameter<"int64_t", "the required value">:$equals,
                        StringRefParameter<"the launcher's message otherwise">:$message);
  let assemblyFormat = "`<` struct(params) `>`";
}

def DerivedAttr : Dash_Attr<"Derived", "derived"> {
  let summary = "A size that follows from others";
  let description = [{
    **Preconditions**: the expression uses the program's sizes.
    **Postconditions**: none.
    **Example**: `#dash.derived<name = "q_tiles", expression = "ceildiv(q_rows, 64)">`.
  }];
  let parameters = (ins StringRefParameter<"name in expressions">:$name,
                        StringRefParameter<"of sizes">:$expression);
  let assemblyFormat = "`<` struct(params) `>`";
}

def TensorAttr : Dash_Attr<"Tensor", "tensor"> {
  let summary = "A tensor that a launcher passes";
  let description = [{
    **Preconditions**: it is read or written, and is not the program's own sum; `alignment` is a
    power of two, `stride_multiple` at least 1; the shape is not empty.
    **Postconditions**: none.
    **Example**: `#dash.tensor<<"q", side = q, access = read, kind = tile, element = bf16, columns =
    128>, shape ["batch", "heads", "q_rows", "128"], alignment = 16, stride_multiple = 8>`.
    **Errors**: `alignment of 'q' must be a power of two, got 3`; `strides of 'q' must be multiples
    of at least 1, got 0`; `sums of 'dq' are in the workspace, and no launcher passes them`.
  }];
  let parameters = (ins
    AttrParameter<"::mlir::dash::TensorRoleAttr", "its role">:$role,
    ArrayRefParameter<"::mlir::StringAttr", "expressions of sizes">:$shape,
    AttrParameter<"int64_t", "bytes that the address is a multiple of">:$alignment,
    AttrParameter<"int64_t", "elements that strides are multiples of">:$stride_multiple);
  let assemblyFormat = [{
    `<` $role `,` `shape` `[` $shape `]` `,` struct($alignment, $stride_multiple) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getName() const { return getRole().getName(); }
  }];
}

def RegionAttr : Dash_Attr<"Region", "region"> {
  let summary = "A part of the workspace that kernels share";
  let description = [{
    `before` is the required content when kernels are first launched, `after` the content that they
    leave.

    **Preconditions**: `alignment` is a power of two.
    **Postconditions**: none.
    **Example**: `#dash.region<name = "turns", bytes = "4*batch*heads*q_tiles", alignment = 16,
    before = zero, after = zero>`.
    **Errors**: `alignment of 'turns' must be a power of two, got 0`.
  }];
  let parameters = (ins StringRefParameter<"name of its parameter, after `workspace.`">:$name,
                        StringRefParameter<"expression of sizes">:$bytes,
                        AttrParameter<"int64_t",
                        "bytes that the address is a multiple of">:$alignment,
                        EnumParameter<RegionBefore>:$before,
                        EnumParameter<RegionAfter>:$after);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def OrderSourceAttr : Dash_Attr<"OrderSource", "order_source"> {
  let summary = "The source of the workspace region `order`";
  let description = [{
    An entry, by its symbol, if the order is formulas. A file if it is a table, which serves one
    choice of sizes: then the text is the command that makes the table for other sizes. If the table
    was searched for, `search` and `cost` record how, for the certificate.

    **Preconditions**: the text is not empty; `search` and `cost` stand together, at a file.
    **Postconditions**: none.
    **Example**: `#dash.order_source<entry = "attention_bwd_order">`.
    **Errors**: `the order's entry must have a name`; `the order's file must have a command that
    makes it`; `an order that was searched for is a file, and has both a search and its costs`.
  }];
  let parameters = (ins EnumParameter<OrderSource>:$source,
                        StringRefParameter<"the entry, or the command">:$text,
                        OptionalParameter<"::mlir::dash::SearchAttr",
                        "how a table was searched for">:$search,
                        OptionalParameter<"::mlir::dash::CostAttr", "by which costs">:$cost);
  let assemblyFormat = "`<` $source `=` $text (`,` `search` $search^)? (`,` `cost` $cost^)? `>`";
  let genVerifyDecl = 1;
}

def TraceLevel : Dash_Words<"TraceLevel", "what a trace has records of", [
  I32EnumAttrCase<"None", 0, "none">,   // nothing: no trace is kept
  I32EnumAttrCase<"Items", 1, "items">, // where each role begins an item
  I32EnumAttrCase<"Turns", 2, "turns">, // and which turns reducers take and give
  I32EnumAttrCase<"All", 3, "all">]>;   // and what else roles wait for and do

def TraceAttr : Dash_Attr<"Trace", "trace"> {
  let summary = "The records of kernels in the workspace region `trace`";
  let description = [{
    `level` states the kinds of records. The second of each `every` items of a worker's list has
    records, and so has an only one. A worker has `records` records of 16 bytes for each lane, lane
    after lane, worker after worker. `lanes` are the writers of records. `names` are what records
    refer to by number: channels and products.

    **Preconditions**: none.
    **Postconditions**: none.
    **Example**: `#dash.trace<level = all, every = 32, records = 16384, lanes = ["load-q",
    "compute"], names = ["q"]>`.
    **Errors**: `a lane of a trace has from 3 to 16777216 records, got 2`; `a trace has one item in
    1 to 1048576, got one in 0`; `a trace has from 1 to 255 lanes, got 0`, and up to 255 names.
  }];
  let parameters = (ins EnumParameter<TraceLevel>:$level,
                        AttrParameter<"int64_t", "one item in so many has records">:$every,
                        AttrParameter<"int64_t", "records that a lane has room for">:$records,
                        ArrayRefParameter<"::mlir::StringAttr", "the writers of records">:$lanes,
                        OptionalArrayRefParameter<"::mlir::StringAttr",
                        "names that records refer to">:$names);
  let assemblyFormat =
      "`<` `level` `=` $level `,` `every` `=` $every `,` `records` `=` $records `,` "
      "`lanes` `=` `[` $lanes `]` (`,` `names` `=` `[` $names^ `]`)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A lane's first records state when it began and ended, and how many records it left; a
    /// record's bytes.
    static constexpr int64_t headRecords = 2, recordBytes = 16;
    static constexpr int64_t maxRecords = int64_t(1) << 24;
    static constexpr int64_t maxEvery = int64_t(1) << 20;
    /// The start record of a lane has the worker's number in these bits, and the multiprocessor's
    /// above.
    static constexpr int64_t workerBits = 20;
    /// A byte numbers all of a worker's lanes, and all names.
    static constexpr int64_t maxNames = 255;
    /// The bytes of the region, as an expression.
    std::string getBytes() const;
  }];
}

def ProgramAttr : Dash_Attr<"Program", "program"> {
  let summary = "The description of a module of kernels";
  let description = [{
    Stands on a `gpu.module` as `dash.program`: everything besides the entries that a launcher must
    know. Expressions use sizes, derived sizes and `workers`. Entries' parameters (`dash.parameter`)
    are named after it. A derived size called `sequences` marks a program for a list of sequences.
    `maps` are the tensors that the main kernel copies by descriptors, in the order of the region
    `descriptors`.

    | name | value |
    |---|---|
    | of a size, a derived size, `workers`, `width` | the number |
    | of a tensor | its address |
    | of a tensor with `.stride.batch`, `.stride.head` or `.stride.row` | that stride, in elements |
    | of a region behind `workspace.` | its address |
    | `scale` | the factor on scores |

    The name is the function's. Entries are called `NAME_role`, with NAME in the form that PTX
    allows: letters, digits and `_` stay, any other byte becomes `$` and its two hexadecimal digits,
    and so does a leading digit (`@"a.1"` has `a$2e1_main`).

    **Preconditions**: names of sizes and derived sizes differ, and those of tensors, and of
    regions; texts are UTF-8.
    **Postconditions**: none.

    **Example**
    ```mlir
    gpu.module @copy_kernels attributes {
      dash.program = #dash.program<"copy"
        facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>,
               tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
               parts = 1, workers = 132, width = 132, min_workers = 132>
        sizes[<name = "batch", min = 1, max = 65535>, <name = "q_rows", min = 64, max = 64>]
        constraints[<expression = "q_rows % 64", equals = 0,
                     message = "q_rows must be a multiple of 64">]
        derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
        tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>,
                 shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
        maps[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>,
              rows = 64, panels = 1>]
        workspace[<name = "turns", bytes = "4*batch", alignment = 16, before = zero, after = zero>]
        order <entry = "copy_order">>} {
    }
    ```

    **Errors**: `two sizes are called 'batch'`, and so for tensors and regions; `a program must have
    a name`; `texts must be UTF-8, which a manifest is written in, got 'x'`, and so for an entry.
  }];
  let parameters = (ins
    StringRefParameter<"of the function, as the IR has it">:$name,
    AttrParameter<"::mlir::dash::FactsAttr", "what is computed">:$facts,
    OptionalArrayRefParameter<"::mlir::dash::SizeAttr", "chosen at a launch">:$sizes,
    OptionalArrayRefParameter<"::mlir::dash::ConstraintAttr", "on sizes">:$constraints,
    OptionalArrayRefParameter<"::mlir::dash::DerivedAttr", "sizes that follow">:$derived,
    OptionalArrayRefParameter<"::mlir::dash::TensorAttr", "the launcher's tensors">:$tensors,
    OptionalArrayRefParameter<"::mlir::dash::TensorMapAttr",
    "tensors that the main kernel copies by descriptors">:$maps,
    OptionalArrayRefParameter<"::mlir::dash::RegionAttr", "of the workspace">:$workspace,
    AttrParameter<"::mlir::dash::OrderSourceAttr", "source of the order buffer">:$order,
    OptionalParameter<"::mlir::dash::TraceAttr",
    "records in the region `trace`, if there is one">:$trace);
  let assemblyFormat = [{
    `<` $name `facts` $facts (`sizes` `[` $sizes^ `]`)? (`constraints` `[` $constraints^ `]`)?
        (`derived` `[` $derived^ `]`)? (`tensors` `[` $tensors^ `]`)? (`maps` `[` $maps^ `]`)?
        (`workspace` `[` $workspace^ `]`)?
        `order` $order (`trace` $trace^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether an entry's parameter may have this name.
    bool isParameterName(::llvm::StringRef name) const;
    /// Whether sequences are a list with different lengths, in a batch of 1.
    bool isList() const;
    /// The only tensor of a kind; null if there is none.
    TensorRoleAttr findTensor(TensorKind kind) const;
    /// Rows of a tile of a tensor's side.
    int64_t rowsOfTile(TensorRoleAttr tensor) const;
    /// Whether contributions to a sum, or to what it becomes, are kept apart.
    bool isApart(TensorRoleAttr tensor) const;
    /// Tensors that are summed in memory, over items: those of queries, and with parts those of
    /// keys.
    ::llvm::SmallVector<TensorRoleAttr> getSummed() const;
    /// The number of a tensor's descriptor; empty if it has none.
    ::std::optional<int64_t> findMap(TensorRoleAttr tensor) const;
    /// The program with one more region at the end of its workspace.
    ProgramAttr withRegion(RegionAttr region) const;
    /// The program with other maps, of the same tensors.
    ProgramAttr withMaps(ArrayRef<TensorMapAttr> maps) const;
    /// The program with a trace, and its region at the end of the workspace.
    ProgramAttr withTrace(TraceAttr trace) const;
  }];
}

//===--------------------------------------------------------------------------===//
// An entry
//===--------------------------------------------------------------------------===//

def EntryAttr : Dash_Attr<"Entry", "entry"> {
  let summary = "How a function is launched";
  let description = [{
    Stands on a function of a `gpu.module` as `dash.entry`. The grid is three expressions of the
    program's sizes. An entry that is launched only when it is `asked` for does what some hosts can
    do without (`dash-lower-clear`). `cooperative` means that all blocks must be resident at once.
    `overlaps` means that the entry may begin before the entry before it has ended: it waits for
    what it reads.

    **Preconditions**: blocks and clusters have three extents of at least 1; `shared_bytes` is at
    least 0.
    **Postconditions**: none.
    **Example**: `#dash.entry<main, always, grid ["workers", "1", "1"], block [384, 1, 1], cluster
    [1, 1, 1], shared_bytes = 231424, cooperative = true>`.
    **Errors**: `a grid must have three expressions, got 1`; `'block' must be three numbers of at
    least 1, got [0, 1, 1]`; `'shared_bytes' must be at least 0, got -1`.
  }];
  let parameters = (ins
    EnumParameter<EntryRole>:$role,
    EnumParameter<EntryWhen>:$when,
    ArrayRefParameter<"::mlir::StringAttr", "expressions of sizes">:$grid,
    ArrayRefParameter<"int32_t", "threads of a block">:$block,
    ArrayRefParameter<"int32_t", "blocks of a cluster">:$cluster,
    AttrParameter<"int64_t", "dynamic shared memory of a block">:$shared_bytes,
    AttrParameter<"bool", "all blocks at once">:$cooperative,
    DefaultValuedParameter<"bool", "false",
    "may begin before the entry before it has ended">:$overlaps);
  let assemblyFormat = [{
    `<` $role `,` $when `,` `grid` `[` $grid `]` `,` `block` `[` $block `]` `,`
        `cluster` `[` $cluster `]` `,` struct($shared_bytes, $cooperative, $overlaps) `>`
  }];
  let genVerifyDecl = 1;
}

#endif // DASH_IR_DASHKERNELATTRS_TD
