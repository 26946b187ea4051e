//===- DashAttrs.td - masks, tiles, problems and orders ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks are in DashMasks.td. A person can read and write every attribute here, and its text reads
// back as an equal attribute.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHATTRS_TD
#define DASH_IR_DASHATTRS_TD

include "dash/IR/DashDialect.td"
include "dash/IR/DashEnums.td"
include "dash/IR/DashMasks.td"
include "dash/IR/DashLayouts.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

//===--------------------------------------------------------------------------===//
// What is computed
//===--------------------------------------------------------------------------===//

def TilesAttr : Dash_Attr<"Tiles", "tiles"> {
  let summary = "Rows of a q tile and of a kv tile";
  let description = [{
    A sequence of Sq query rows and Skv key rows has ceil(Sq / q) q tiles and ceil(Skv / kv) kv
    tiles; the last of each may be partly filled.

    With `fold = F`, a q tile holds q rows of F query heads, so it has q * F rows. Row r of the tile
    is row r floordiv F of the sequence, counted from the tile's first, of head r mod F. The heads
    are neighbours that share a kv head. The text leaves a fold of 1 out.

    **Preconditions**: the rows of each tile, q * fold and kv, are a multiple of 16 from 16 to 256;
    the fold is a power of two up to 64.
    **Postconditions**: none.
    **Example**: `#dash.tiles<q = 64, kv = 128>`; `#dash.tiles<q = 16, kv = 128, fold = 8>`, whose q
    tiles have 128 rows.
    **Errors**: `tile size 'q' must be a multiple of 16 from 16 to 256, got 60`; `'fold' must be a
    power of two from 1 to 64, got 6`; `tile size 'q' times a fold of 8 must be a multiple of 16
    from 16 to 256, got 1 times 8`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of the sequence in a q tile">:$q,
    AttrParameter<"int64_t", "rows of a kv tile">:$kv,
    DefaultValuedParameter<"int64_t", "1", "query heads in a q tile">:$fold);
  let assemblyFormat = "`<` struct(params) `>`";
  let builders = [AttrBuilder<(ins "int64_t":$q, "int64_t":$kv),
                              "return $_get($_ctxt, q, kv, /*fold=*/1);">];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A row of a tile is a row of one of the heads.
    int64_t getRowsOfQ() const { return getQ() * getFold(); }
    /// The same tiles of one head each.
    TilesAttr withoutFold() const { return get(getContext(), getRowsOfQ(), getKv()); }
  }];
}

def SequencesAttr : Dash_Attr<"Sequences", "sequences"> {
  let summary = "Query and key rows of each sequence";
  let description = [{
    A list of pairs [query rows, key rows], in the order of the sequences in memory. The text is
    run-length coded: `4 x [3000, 2000]` are four sequences of equal lengths. Any grouping is read;
    equal neighbours are printed as one run.

    `#dash.sequences<?>` is a list of any number of sequences of any lengths, including empty ones,
    which are known only when kernels run.

    **Preconditions**: 1 to 1048576 sequences, every length at least 1; or `?`.
    **Postconditions**: `getQ()` and `getKv()` have one length for each sequence; an open list has
    none.
    **Example**: `#dash.sequences<[1000, 1000], 4 x [3000, 2000]>`; `#dash.sequences<?>`.
    **Errors**: `a list of sequences may not be empty, expected lengths or '?'`; `sequence 1 must
    have at least 1 key row, got 0`; `a run must have at least 1 sequence, got 0`; `a list may have
    at most 1048576 sequences, got 2000000`; `got 2 query lengths but 1 key lengths`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "query rows of each sequence">:$q,
                        ArrayRefParameter<"int64_t", "key rows of each sequence">:$kv);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The longest list that the attribute holds; it is stored flat.
    static constexpr int64_t maxSize = int64_t(1) << 20;

    size_t size() const { return getQ().size(); }
    /// Whether lengths are known only when kernels run. The functions below need a list with known
    /// lengths.
    bool isOpen() const { return getQ().empty(); }

    /// Rows of all sequences in total, saturating at the largest int64_t.
    int64_t getTotalQ() const;
    int64_t getTotalKv() const;

    /// Rows of the longest sequence.
    int64_t getMostQ() const;
    int64_t getMostKv() const;

    /// Whether all sequences have the same two lengths, like those of a batch.
    bool isUniform() const;
  }];
}

/// The side that items own, in the text where it is q.
def DefaultOwn : EnumParameter<TensorSide> {
  let defaultValue = "::mlir::dash::TensorSide::KV";
}

def ProblemAttr : Dash_Attr<"Problem", "problem"> {
  let summary = "What a schedule was made and verified for";
  let description = [{
    Everything that decides which tasks exist and which item has them, and the head dims, which
    determine the sizes of the tiles' sums. Items own kv tiles and walk q tiles; with `own = q` they
    own q tiles and walk kv tiles (`#dash<own …>`). The text leaves `own = kv` out.

    `cut = N` says that items that own q tiles walk a piece of N kv rows each; the text leaves it
    out where they walk all.

    `chains = false` says that items that own kv tiles sum nothing across each other: those of a
    program without dQ. Items that own q tiles never do, and the text leaves it out there.

    **Preconditions**: every number is at least 1; `kv_heads` divides `heads`; the mask's rules fit
    the tiles and the sequences (see `#dash.blocks`), whose lengths are stated; `chains = false` is
    of items that own kv tiles; `cut` is of items that own q tiles, and a multiple of the kv tile;
    so is a fold, which divides the query heads of a kv head, of masks without rules.
    **Postconditions**: none.
    **Example**: `#dash.problem<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16,
    kv_heads = 4, head_dim = 128, head_dim_v = 128, sequences = <4 x [3000, 3000]>>`.
    **Errors**: `'heads' must be at least 1, got 0`; `'kv_heads' must divide 'heads', got 3 and 16`;
    `the lengths of 'sequences' must be stated: an order is proven for some, whatever it serves`;
    `'cut' must be a multiple of the kv tile, 128, in items that own q tiles, got 1000`; `q tiles
    fold 8 heads, which must divide the query heads of a kv head, got 12 heads over 4`; `folds heads
    into the q tiles of items that own kv tiles: only items that own q tiles do`; `folds heads
    under a mask with a bitmap or a union: only bands are served, so drop the fold`; those of the
    mask's rules.
  }];
  let parameters = (ins
    AttrParameter<"::mlir::dash::TilesAttr", "rows of the tiles">:$tiles,
    AttrParameter<"::mlir::dash::MaskAttr", "which columns a row attends to">:$mask,
    AttrParameter<"int64_t", "query heads">:$heads,
    AttrParameter<"int64_t", "key and value heads">:$kv_heads,
    AttrParameter<"int64_t", "head dim of Q and K">:$head_dim,
    AttrParameter<"int64_t", "head dim of V">:$head_dim_v,
    AttrParameter<"::mlir::dash::SequencesAttr", "rows of each sequence">:$sequences,
    DefaultOwn:$own,
    DefaultValuedParameter<"bool", "true", "kv items have sums across them">:$chains,
    DefaultValuedParameter<"int64_t", "0", "kv rows of a piece that an item walks">:$cut);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether something is summed across items.
    bool hasChains() const { return getOwn() == TensorSide::KV && getChains(); }
  }];
}

//===--------------------------------------------------------------------------===//
// In which order
//===--------------------------------------------------------------------------===//

def CostAttr : Dash_Attr<"Cost", "cost"> {
  let summary = "The cost model that a schedule was chosen and judged by";
  let description = [{
    C(k) and R(k) are the ends of compute and reduction of a worker's k-th task: `C(k) = max(C(k-1),
    R(k-b)) + c + (boundary if the task is the first of its item)` and `R(k) = max(C(k), R(k-1),
    R(pred) + (latency if pred ran on another worker)) + r`. Here `pred` is the previous turn of the
    chain, c is `compute`, r is `reduce` and b is `buffers`.

    With several parts and a `piece` above 0, an item also adds its sums of dK and dV, in pieces the
    size of a dQ tile, each in `piece`; the next part may begin when the first piece is there. While
    they leave, the next item begins, so its boundary needs no buffer. `convert` is the time in
    which a worker rounds the sums of a kv tile after the order, and `gather` the time in which it
    reads a contribution that is kept apart. They count when a number of parts, or what is kept
    apart, is chosen. The text omits a `boundary`, `piece`, `convert` or `gather` of 0.

    **Preconditions**: at most 1e100; `compute` above 0, `reduce`, `latency`, `boundary`,
    `piece`, `convert` and `gather` at least 0, `buffers` at least 1.
    **Postconditions**: the text is the shortest decimal that reads back as the same numbers.
    **Example**: `#dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary =
    5.5, piece = 1.6, convert = 7.5, gather = 1.0>`.
    **Errors**: `'compute' must be above 0 and at most 1e100, got -1.0`; `'latency' must be from 0
    to 1e100, got -0.5`, and so for boundary, piece, convert and gather; `'buffers' must be at least
    1, got 0`; `expected boundary, piece, convert or gather, each at most once and in this order`.
  }];
  let parameters = (ins APFloatParameter<"time of a task's compute">:$compute,
                        APFloatParameter<"time of a task's reduction">:$reduce,
                        APFloatParameter<"time of a hop to another worker">:$latency,
                        AttrParameter<"int64_t", "dQ buffers of a worker">:$buffers,
                        APFloatParameter<"time of an item besides its tasks">:$boundary,
                        APFloatParameter<"time of adding a piece of a part's sums">:$piece,
                        APFloatParameter<"time of rounding the sums of a kv tile">:$convert,
                        APFloatParameter<"time of reading a contribution kept apart">:$gather);
  let builders = [AttrBuilder<(ins "double":$compute, "double":$reduce, "double":$latency,
                                   "int64_t":$buffers, "double":$boundary, "double":$piece,
                                   "double":$convert, "double":$gather), [{
    return $_get($_ctxt, ::llvm::APFloat(compute), ::llvm::APFloat(reduce),
                 ::llvm::APFloat(latency), buffers, ::llvm::APFloat(boundary),
                 ::llvm::APFloat(piece), ::llvm::APFloat(convert),
                 ::llvm::APFloat(gather));
  }]>];
  let genAccessors = 0;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    double getCompute() const;
    double getReduce() const;
    double getLatency() const;
    int64_t getBuffers() const;
    double getBoundary() const;
    double getPiece() const;
    double getConvert() const;
    double getGather() const;
  }];
}

def DealAttr : Dash_Attr<"Deal", "deal"> {
  let summary = "Lists that a launch deals by work, and at which prices";
  let description = [{
    Items of a list of sequences are dealt in their issue order, each to the worker that is free
    first, of equal ones to the first. A worker is busy for `boundary`, and `task` for each task of
    the item. Prices are whole numbers, so a device and a host make the same lists. An item counts
    as no more than 524287. Sequences with more walked rows are issued first, of equal ones the
    first; within a sequence, its formula `item` says the order, and units have no meaning.

    **Preconditions**: `task` is from 1 to 524287, `boundary` from 0 to 524287.
    **Postconditions**: none.
    **Example**: `#dash.deal<task = 8, boundary = 25>`.
    **Errors**: `'task' must be from 1 to 524287, got 0`; `'boundary' must be from 0 to 524287, got
    -1`.
  }];
  let parameters = (ins AttrParameter<"int64_t", "price of a task">:$task,
                        AttrParameter<"int64_t", "price of an item besides its tasks">:$boundary);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Beyond it, items count alike: the entry that deals keeps times and workers in one word.
    static constexpr int64_t maxPrice = (int64_t(1) << 19) - 1;
    /// The most workers that an entry deals to.
    static constexpr int64_t maxWorkers = 1024;
  }];
}

def SearchAttr : Dash_Attr<"Search", "search"> {
  let summary = "How an order was searched for";
  let description = [{
    A searched order follows from its problem, its workers, its costs, and this: the version of the
    search, the number of tasks that it may simulate, and the bytes of f32 dQ of unfinished heads
    that it keeps in flight (0 is no limit). So the same search always finds the same order
    everywhere.

    **Preconditions**: `version` and `budget` at least 1, `dq_limit` at least 0.
    **Postconditions**: none.
    **Example**: `#dash.search<version = 4, budget = 131072, dq_limit = 33554432>`.
    **Errors**: `'version' must be at least 1, got 0`, and so for budget; `'dq_limit' must be at
    least 0, got -1`.
  }];
  let parameters = (ins AttrParameter<"int64_t", "version of the search">:$version,
                        AttrParameter<"int64_t", "tasks that it may simulate">:$budget,
                        AttrParameter<"int64_t", "bytes of dQ in flight">:$dq_limit);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def FormulasAttr : Dash_Attr<"Formulas", "formulas"> {
  let summary = "An order as piecewise quasi-affine functions";
  let description = [{
    Four functions that together give every task its worker, its position and its turn for any
    problem size; three, without `turn`, if nothing is summed across items. `//` is `floordiv`;
    divisors and factors may be symbols.

    | member | sizes it may use | gives |
    |---|---|---|
    | `item(i)` | `q_tiles kv_tiles groups width workers` | (group, kv tile, unit) of item i |
    | `worker(unit)` | `workers` | the worker that has the unit |
    | `visit(kv, step)` | `q_tiles kv_tiles width first last offset` | q tile of kv at step |
    | `turn(kv, q)` | `q_tiles kv_tiles width first last offset` | turn of kv at q |

    A function is an expression, or `if condition then expression else ...` with any number of
    cases; the first case whose condition holds applies. A condition is a conjunction (`and`) of
    comparisons by `ge` (at least), `le` (at most) and `eq`. These are words because the text of an
    attribute must not contain an unpaired `<` or `>`. Expressions that occur more than once in a
    function are named first: `let t0 = expression, t1 = expression in`; the names exist only in the
    text. In the stored maps and sets, a member's inputs and then its sizes are the symbols s0, s1,
    ..., in the order of the table. Every map and every set has all of them, and no dims: MLIR only
    lets symbols be multiplied and divided by each other.

    `item` describes a run of sequences of equal lengths. A group is one (sequence, kv head, part)
    of it, with parts fastest; `groups` is their number. Items of one unit go to the same worker;
    units of later runs follow those of earlier ones. `width` is the number of workers that the
    order is made for. `first` and `last` are the active tiles at the ends of the line: q tiles of
    `kv` in `visit`, kv tiles of `q` in `turn`. `offset` is kv rows minus q rows. All heads of a
    part are walked one after the other, in the same order.

    If items own q tiles, `item(i)` gives (group, q tile, unit) with groups of (sequence, query
    head), the third function is `visit(q, step)`, the kv tile of q at step, with the first and last
    active kv tiles, and there is no `turn`. Where keys are cut, a group is a (sequence, piece,
    query head), with heads fastest. `visit` is that of the whole q tile, and upward: an item has
    the visits that are in its piece.

    **Preconditions**: every case except the last has a condition, the last has none; each value has
    as many results as its member; constant divisors are positive; no expression is a tree of more
    than 16384 nodes, because MLIR walks trees even if parts are shared.
    **Postconditions**: the text reads back as the same functions.

    **Example**:
    ```
    #dash.formulas<
      item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
      worker(unit) = unit mod workers,
      visit(kv, step) = step + first,
      turn(kv, q) = if q ge kv and kv eq 3 then q - kv else kv - first
    >
    ```
    Items that own q tiles have `#dash.formulas<item(i) = (i floordiv q_tiles, i mod q_tiles, i),
    worker(unit) = unit mod workers, visit(q, step) = step + first>`.

    **Errors**: `expected 'ge', 'le' or 'eq' in a condition of 'turn'`; `'q' already has a meaning
    in 'turn', choose another name`; `'worker' divides by 0, a constant that is not positive`; `an
    expression of 'visit' may have at most 16384 terms and operations once names are replaced by
    what they stand for, got 16385`. From C++ only: `every case of 'turn' but the last needs a
    condition, and the last may have none`; `every map and set of 'visit' must have no dims and 8
    symbols, and every map 1 results`; `'turn' is of items that own kv tiles: nothing is summed
    across those that own q tiles`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::dash::FormulaPiece", "issue order">:$item,
                        ArrayRefParameter<"::mlir::dash::FormulaPiece", "unit to worker">:$worker,
                        ArrayRefParameter<"::mlir::dash::FormulaPiece", "visit order">:$visit,
                        ArrayRefParameter<"::mlir::dash::FormulaPiece",
                        "chains; none without them">:$turn,
                        DefaultOwn:$own);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether a value or a condition of a member depends on the size called `size` ("width", …).
    bool dependsOn(::llvm::StringRef size) const;
  }];
}

def TableAttr : Dash_Attr<"Table", "table"> {
  let summary = "An order as two tables, for stated sizes";
  let description = [{
    `items` has a row for each item in issue order: (worker, sequence, kv head, part, kv tile, part
    turn), where part turn is the item's position in the chain of its dK and dV. `visits` has a row
    for each task: (head, q tile, turn). The rows of all items follow each other in issue order, and
    each item has as many rows as the mask leaves tasks. If items own q tiles, they have a query
    head and a q tile, visits have a kv head and a kv tile, and all turns are 0. Where keys are cut,
    part and part turn are the item's piece.

    The tables are dense elements, so `--mlir-elide-elementsattrs-if-larger` shortens them in print.
    Its output can be read again, but no op accepts it.

    **Preconditions**: `items` is a tensor<Nx6xi32>, `visits` a tensor<Tx3xi32>; N and T may be 0.
    **Postconditions**: none.
    **Example**: `#dash.table<items = dense<[[0, 0, 0, 0, 0, 0]]> : tensor<1x6xi32>,
    visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>`.
    **Errors**: `table 'items' must be dense elements of type tensor<Nx6xi32>, got
    'tensor<2x5xi32>'`.
  }];
  let parameters = (ins
    AttrParameter<"::mlir::ElementsAttr", "one row an item, in issue order">:$items,
    AttrParameter<"::mlir::ElementsAttr", "one row a task, item after item">:$visits);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // DASH_IR_DASHATTRS_TD
