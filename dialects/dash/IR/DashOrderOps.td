//===- DashOrderOps.td - loops over tasks and their order -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only dash.items names the order; the ops below it do not know how it was made.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHORDEROPS_TD
#define DASH_IR_DASHORDEROPS_TD

include "dash/IR/DashOpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def ScheduleOp : Dash_Op<"schedule", [Symbol]> {
  let summary = "An order of the tasks: lists, visit orders and chains";
  let description = [{
    States, for one problem, which worker has which items and in which order, the order in which an
    item walks its q tiles, and the turn at which each contribution to a dQ tile is added. The order
    is given by formulas, which serve any size, or by tables, which serve the problem's sizes only.

    If items own q tiles (`own = q` of the problem), an item walks its kv tiles, and nothing is
    summed across items; nor is it where the problem says `chains = false`. There are no chains and
    no turns, so nothing waits, one resident worker is enough, and the bits depend on no worker.

    `kind` names the builder, for messages. `unordered` leaves the order of adds to the hardware:
    all turns are 0, and the bits may differ even from run to run. `workers` is the number of lists.
    `width` is the number of workers that visit orders and chains were made for: it equals
    `workers`, unless `level` states that the bits must not depend on that.

    `apart` selects contributions that wait for no turn, but are kept in separate places and added
    up after the order (`#dash<apart …>`). Predicted times depend on it, bits do not.

    `search` exists if the order was searched for, and records how (`#dash.search`).

    `deal` exists if each launch deals the items of a list of sequences by their work
    (`#dash.deal`). The formula `worker` then has no meaning. Bits do not depend on it.

    The verifier checks the shape only. A pass proves coverage, total order, progress and
    independence, and records its result for the problem's sizes: `min_workers`, the fewest workers
    that finish when they are resident at once and start in index order.

    **Preconditions**
    - `parts` divides the query heads of a kv head, or is a multiple of them; `workers` and `width`
      are from 1 to 16384.
    - `width` is `workers` unless the level is `machine` or `world`.
    - `min_workers` is from 1 to `workers`.
    - `deal` needs formulas and one part, and at most 1024 workers.
    - `apart` needs an order that is not `unordered`; `apart(parts)` needs more than one part.
    - A table is in the text (not elided), and has a row for each item: N = sum over sequences of
      kv_heads * parts * ceil(kv rows / rows of a kv tile). If items own q tiles, N = sum of heads *
      pieces * ceil(q rows / rows of a q tile), over the fold. It has at most 67108864 rows.
    - Sequences have at most 2147483647 rows.
    - Without chains there is one part, adds are not `unordered` and nothing is kept apart, because
      there are no adds; `min_workers` is 1, and formulas have no `turn`. Formulas own what the
      problem owns.
    - `kind` is UTF-8, because reports and manifests are.

    **Postconditions**: none; the op computes nothing.

    **Example**
    ```mlir
    dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
               head_dim_v = 128, sequences = <[128, 256]>>)
      cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
      order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                           worker(unit) = unit mod workers,
                           visit(kv, step) = step,
                           turn(kv, q) = kv>)
    ```

    **Errors**
    - `parts must be at least 1, got 0`
    - `workers must be from 1 to 16384, got 0`, and so for width
    - `kind must be UTF-8, got 'x'`
    - `parts must divide the 4 query heads of a kv head or be a multiple of them, got 3`
    - `width must be workers, 132, at level 'run', got 32`
    - `min_workers must be from 1 to workers, 132, got 133`
    - `apart(all) keeps contributions by their turns, and adds that are unordered have none`
    - `apart(parts) keeps what parts add to dK and dV, and there is one part: state more, or
      apart(all)`
    - `expected what is kept apart (none, parts or all), got 'some'`
    - `deals lists in each launch, which needs formulas, but its order is a table`
    - `deals lists of items in 1 part, got 2`
    - `deals lists to at most 1024 workers, got 1025`
    - `table 'items' is not in the text (dense_resource '__elided__'): print the module again
      without --mlir-elide-elementsattrs-if-larger`
    - `items that own q tiles sum nothing across items, so they are in 1 part, got 2`; in the same
      words `so adds cannot be unordered` and `so nothing can be kept apart, got 'all'`
    - `formulas are of items that own q, but the problem's own kv`
    - `sequences may have at most 2147483647 rows, got 2147483648`
    - `table 'visits' may have at most 67108864 rows, got 1000000000`
    - `table 'items' must have a row for each of the problem's 4 items, got 3`
    - `'bits' are not in the text (dense_resource '__elided__'): print the module again without
      --mlir-elide-elementsattrs-if-larger`, about the mask
    - `attribute 'order' failed to satisfy constraint: #dash.formulas<...> or #dash.table<...>`
  }];
  let arguments = (ins
    Arg<SymbolNameAttr, "name that dash.items refers to">:$sym_name,
    Arg<StrAttr, "builder that made the order">:$kind,
    Arg<DeterminismLevelAttr, "what the bits do not depend on">:$level,
    Arg<I64Attr, "parts of a kv head's group of query heads">:$parts,
    Arg<I64Attr, "lists of items">:$workers,
    Arg<I64Attr, "workers that the order was made for">:$width,
    Arg<OptionalAttr<I64Attr>, "workers that must be resident at once, once proven">:$min_workers,
    Arg<UnitAttr, "adds have no order, so bits may differ">:$unordered,
    Arg<DefaultValuedAttr<ApartAttr, "::mlir::dash::Apart::None">,
        "contributions that wait for no turn">:$apart,
    Arg<ProblemAttr, "what the order was made for">:$problem,
    Arg<CostAttr, "cost model that it was judged by">:$cost,
    Arg<OptionalAttr<SearchAttr>, "how it was searched for">:$search,
    Arg<OptionalAttr<DealAttr>, "how a launch deals its items">:$deal,
    Arg<AnyAttrOf<[FormulasAttr, TableAttr], "#dash.formulas<...> or #dash.table<...>">,
        "the order">:$order);
  let assemblyFormat = [{
    $sym_name `kind` `(` $kind `)` `level` `(` custom<Level>($level) `)`
    `parts` `(` $parts `)` `workers` `(` $workers `)` `width` `(` $width `)`
    (`min_workers` `(` $min_workers^ `)`)? (`unordered` $unordered^)? (`apart` `(`
    custom<Apart>($apart)^ `)`)?
    `\n` ` ` ` ` ` ` ` ` `problem` `(` $problem `)`
    `\n` ` ` ` ` ` ` ` ` `cost` `(` $cost `)` (`search` `(` $search^ `)`)?
    (`deal` `(` $deal^ `)`)?
    `\n` ` ` ` ` ` ` ` ` `order` `(` $order `)` attr-dict
  }];
  let extraClassDeclaration = [{
    /// Items of the problem, saturating at the largest int64_t.
    int64_t getNumItems();

    /// Whether adds wait for turns.
    bool isOrdered() { return !getUnordered(); }
    /// Whether something is summed across items.
    bool hasChains() { return getProblem().hasChains(); }

    /// The order in one of its two forms; null for the other.
    FormulasAttr getFormulas() { return dyn_cast<FormulasAttr>(getOrder()); }
    TableAttr getTable() { return dyn_cast<TableAttr>(getOrder()); }
  }];
  let hasVerifier = 1;
}

def ItemsOp : Dash_Op<"items", [
    NoTerminator, OutsideItems, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A loop over the items of a tiled problem";
  let description = [{
    Runs its body once for each item (sequence, kv head, kv tile, part) of the problem that `over`,
    `tiles`, `mask` and `sequences` describe. With `own(q) walk(kv)` an item is (sequence, query
    head, q tile), and its walks go along kv tiles. There are two phases:

    - `unscheduled`: bodies run in any order, with one part for each kv head; the body has arguments
      (sequence, kv head, kv tile).
    - `order(@name)`: workers run the items that the `dash.schedule` gives them, in its order; the
      body has a fourth argument, the item's turn in the chain of its dK and dV over the parts.
      Items that own q tiles have no such turn: their body has three arguments in both phases.

    With `cut(N)`, an item that owns a q tile walks the kv tiles of one piece of N kv rows, counted
    from its sequence's start: (sequence, head, q tile, piece). What it makes goes to memory that
    has the heads of the first piece, then those of the second, and so on (`dash.combine`). So the
    body has a fourth argument in both phases, the head there: piece * heads + head.

    With `fold = F` in `tiles`, an item is of F query heads: (sequence, heads of q, q tile), where
    the heads of q count in groups of F. Tiles of q have a row for each row of the sequence and each
    of the F heads (`#dash.tiles`). `dash.load`, `dash.store`, `dash.store_row`, `dash.visible` and
    `dash.sink_state` take each row of such a tile to its own row and head. At a head h of the items
    that is head h * F + r mod F of a tensor, and so among the heads of pieces.

    `over(%q, %k, %v)` only gives the sizes: batch, heads, q rows and head dim from q, kv heads and
    kv rows from k, head dim from v. A kv tile without a task is an item too: its walks are empty,
    and it writes zeros to its dK and dV. A q tile without a task gets no add, and keeps the initial
    value of dQ's sums.

    At level `row`, a row of q has bits of its own. The verifier proves that no op mixes rows of q,
    and that a walk carries only what a tile leaves as it is if a row sees nothing of it: which
    tiles an item walks depends on all of its rows. Visits of the schedule go upward.

    Arguments are indices: sequences count from 0 in the batch or in `sequences`, heads are
    absolute, tiles count from their sequence's start.

    **Preconditions**
    - Over memrefs of rank 4 of one element type, whose sizes fit if static; heads are a multiple of
      kv heads.
    - With `cut(N)`: `own(q)`, N is a multiple of the kv tile, stores are at the fourth argument.
    - With a fold: `own(q)`, a mask without rules; it divides the query heads of a kv head.
    - With `own(q)`: no add inside, neither `dash.reduce` nor `dash.ordered_reduce`.
    - At level `row`: `own(q)`; factors come from outside of the items, tiles from outside are
      constants of one number; tiles are read and written by the block arguments.
    - Unscheduled: no `dash.ordered_reduce` inside. Scheduled: every walk gives turns; adds are
      `dash.ordered_reduce`, or all `dash.reduce` if the schedule is `unordered`.
    - Not inside another `dash.items`.
    - The schedule is a `dash.schedule` in the nearest symbol table, and its tiles, mask, level,
      cut, sizes and sequences are those of this op wherever static.

    **Postconditions**: every task that the mask leaves active has run once.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @items(%q: !T, %k: !T, %v: !T) {
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qi) {
          %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
        }
      }
      return
    }
    ```

    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @own_q(%q: !T, %k: !T, %v: !T, %dq: !T) {
      %zero = arith.constant dense<0.0> : tensor<64x128xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
        %sum = dash.walk (%kv_head, %kv) init(%sum0 = %zero) : tensor<64x128xf32> {
          %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
          dash.yield %sum0 : tensor<64x128xf32>
        }
        dash.store %sum, %dq[%seq, %head, %qi] : tensor<64x128xf32> -> !T
      }
      return
    }
    ```

    **Errors**
    - `unscheduled takes 3 block arguments (sequence, kv head, kv tile), got 4`
    - `of items that own q tiles takes 3 block arguments (sequence, head, q tile), got 4`; with a
      cut, `takes 4 block arguments (sequence, head, q tile, head among the pieces), got 3`
    - `cuts keys for items that own kv tiles: only items that own q tiles walk keys`
    - `cuts keys into pieces of 1000 rows, expected a multiple of the kv tile, 128`
    - `folds heads into the q tiles of items that own kv tiles: only items that own q tiles do`
    - `folds heads under a mask with a bitmap or a union: only bands are served, so drop the fold`
    - `q tiles fold 8 heads, which must divide the query heads of a kv head, got 12 heads over 4`
    - `is written by each piece of the keys, one over the other: write at the head among the pieces,
      the last block argument of 'dash.items'`, at a store
    - `has items that own q tiles, but schedule '@order' was made for items that own kv tiles`
    - `expected the side that items own (q or kv), got 'o'`; `items that own q walk kv, got 'q'`
    - `scheduled takes 4 block arguments (sequence, kv head, kv tile, turn), got 3`
    - `block argument 1 must be of type 'index', got 'i32'`
    - `'k' must have elements of the type of 'q', 'bf16', got 'f16'`
    - `'v' must have the rows of 'k', 512, got 500`, and so for batch and heads
    - `'@order' is not a 'dash.schedule' in the nearest symbol table`
    - `tiles are #dash.tiles<q = 128, kv = 128>, but schedule '@order' was made for #dash.tiles<q =
      64, kv = 128>`, and so for mask, level, cut, heads, kv heads, head dim, sequences and rows
    - `stands outside 'dash.items' only: it works on whole tensors`
    - `block size 'q' must be a multiple of the q tile, 64, got 96`, and what else the mask's rules
      ask, as in `#dash.blocks`
    - `has a tiling of #dash.tiles<q = 128, kv = 128>, but its tiles are #dash.tiles<q = 64, kv =
      128>`
    - `needs 'sequences': schedule '@order' was made for sequences of different lengths`
    - at level `row`: `of level 'row' must own q tiles: others add up over rows of q`
    - there, at an op inside: `is not known to keep rows of q apart`; `must keep rows of q apart: a
      must have them as its rows, and b none`; `must take scores from 'dash.visible': a row must not
      read those that the mask hides from it`; `takes a tile from outside whose rows may differ,
      expected a constant of one number`; `takes a tile whose rows are not those of q: only a
      product may`; `takes a number that may differ between items, expected one from outside of
      them`; `must read the tile of its item or of its task, by the block arguments of 'dash.items'
      or 'dash.walk'`, and so about what it writes, the place of `dash.visible` and the head of
      `dash.sink_state`; `must write behind the walk: inside, values depend on how far it is`
    - there, at a `dash.yield`: `carries value 0, which a tile could change for a row that sees
      nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of
      rounded 'dash.exponential' added to it`
  }];
  let arguments = (ins
    Arg<OptionalAttr<FlatSymbolRefAttr>, "the order; unscheduled if absent">:$order,
    Arg<OptionalAttr<TensorSideAttr>, "the side that an item owns; kv if absent">:$own,
    Arg<HalfMemRef, "queries, for the sizes">:$q,
    Arg<HalfMemRef, "keys, for the sizes">:$k,
    Arg<HalfMemRef, "values, for the sizes">:$v,
    Arg<TilesAttr, "rows of the tiles">:$tiles,
    Arg<MaskAttr, "which columns a row attends to">:$mask,
    Arg<DeterminismLevelAttr, "what the bits must not depend on">:$level,
    Arg<OptionalAttr<SequencesAttr>, "rows of each sequence, in a batch of 1">:$sequences,
    Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>,
    "kv rows of a piece that an item walks; all if absent">:$cut,
    Arg<OptionalAttr<TilingAttr>, "its tiling, until roles follow it">:$tiling);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // Makes the body's block with its arguments; scheduled iff `order` is not null.
    OpBuilder<(ins "FlatSymbolRefAttr":$order, "Value":$q, "Value":$k, "Value":$v,
                   "TilesAttr":$tiles, "MaskAttr":$mask, "DeterminismLevel":$level,
                   CArg<"SequencesAttr", "{}">:$sequences,
                   CArg<"TensorSide", "TensorSide::KV">:$own,
                   CArg<"IntegerAttr", "{}">:$cut)>];
  let assemblyFormat = [{
    custom<Phase>($order, $own) `over` `(` $q `,` $k `,` $v `:` type($q) `,` type($k) `,` type($v)
    `)`
    `\n` ` ` ` ` ` ` ` ` `tiles` `(` $tiles `)` `mask` `(` $mask `)`
    `level` `(` custom<Level>($level) `)`
    (`sequences` `(` $sequences^ `)`)? (`cut` `(` $cut^ `)`)?
    (`tiling` `(` qualified($tiling)^ `)`)?
    attr-dict-with-keyword custom<ItemsBody>($body)
  }];
  let extraClassDeclaration = [{
    bool isScheduled() { return getOrderAttr() != nullptr; }

    /// The side that an item owns; its walks go along the other.
    TensorSide getSide() { return getOwn().value_or(TensorSide::KV); }
    bool ownsQ() { return getSide() == TensorSide::Q; }
    /// Whether items and walks are given turns.
    bool givesTurns() { return isScheduled() && !ownsQ(); }

    BlockArgument getSequence() { return getBody().getArgument(0); }
    /// The head and the tile that the item owns: of keys and values, or of queries.
    BlockArgument getHead() { return getBody().getArgument(1); }
    BlockArgument getTile() { return getBody().getArgument(2); }
    /// The item's turn in the chain of its dK and dV; null where it has none.
    BlockArgument getTurn() { return givesTurns() ? getBody().getArgument(3) : BlockArgument(); }
    /// The item's head among those of all pieces; null where keys are not cut.
    BlockArgument getPieceHead() { return getCut() ? getBody().getArgument(3) : BlockArgument(); }
    /// The head of memory that the item writes.
    BlockArgument getWrittenHead() { return getCut() ? getPieceHead() : getHead(); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def WalkOp : Dash_Op<"walk", [
    HasParent<"ItemsOp">, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    AttrSizedOperandSegments, RegionKindInterface, HasOnlyGraphRegion,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A loop over the tasks of an item, in its visit order";
  let description = [{
    Runs its body for each (head, q tile) of the item that the mask leaves active, one after the
    other, and carries values from each to the next: `x(n+1) = yield of body(x(n))`, x(0) = init.
    Results are the values after the last task; the init values if there is none. In scheduled items
    the body's third argument is the turn of the task's contribution in the chain of its q tile.
    In items that own q tiles the body runs for each (kv head, kv tile), and is given no turn.

    With `stages(n)` the walk is a software pipeline. An iteration of the loop issues the ops in
    textual order, each for its own step: an op of stage s for the step before that of an op of
    stage s - 1. So an op may stand before an op that it depends on, if its stage is higher.
    `steps(%n)` is the number of tasks, for a role that does not read it from the order.

    **Preconditions**: stands in `dash.items`; init, yielded values and results have the same types;
    in the order of issue, each op follows the ops that it depends on; with stages, every op has
    one.
    **Postconditions**: each task of the item has run once, in the schedule's visit order if there
    is a schedule.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @walk(%q: !T, %k: !T, %v: !T) {
      %zero = arith.constant dense<0.0> : tensor<64x128xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %sum = dash.walk (%head, %qi) init(%sum0 = %zero) : tensor<64x128xf32> {
          dash.yield %sum0 : tensor<64x128xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `in unscheduled 'dash.items' takes 2 indices (head, q tile) and 1 carried values, got 4 block
      arguments`; `in 'dash.items' that own q tiles takes 2 indices (kv head, kv tile) and 0 carried
      values, got 3 block arguments`
    - `block argument 2 must have type 'tensor<64x128xf32>', got 'tensor<64x64xf32>'`
    - `needs 2 results, one for each init value, got 1`
    - `result 0 must have the type of its init value, 'tensor<64x128xf32>', got ...`
    - `is issued before what it needs`, at the op, with a note at what it needs
    - `needs a stage from 0 to 2, got none`; `has a stage, but its 'dash.walk' has none`
  }];
  let arguments = (ins
    Arg<Variadic<Tile>, "values before the first task">:$inits,
    Arg<Optional<Index>, "number of tasks, for a role that does not read it">:$num_steps,
    Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>,
    "stages of the software pipeline">:$stages);
  let results = (outs Res<Variadic<Tile>, "values after the last task">:$results);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // Makes the body's block with its arguments. Without inits the body ends in an empty
    // dash.yield; with inits the caller adds the dash.yield.
    OpBuilder<(ins "bool":$hasTurn, "ValueRange":$inits)>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Indices (head, walked tile[, turn]) come first among the body's arguments.
    unsigned getNumIndices() {
      unsigned arguments = getBody().getNumArguments(), carried = getInits().size();
      return arguments - std::min(arguments, carried);
    }
    bool hasTurn() { return getNumIndices() == 3; }

    BlockArgument getHead() { return getBody().getArgument(0); }
    /// The tile of the side that the item does not own.
    BlockArgument getTile() { return getBody().getArgument(1); }
    /// The turn of the task's contribution to dQ; null where nothing has turns.
    BlockArgument getTurn() { return hasTurn() ? getBody().getArgument(2) : BlockArgument(); }
    Block::BlockArgListType getCarried() {
      return getBody().getArguments().drop_front(getNumIndices());
    }
    YieldOp getYield();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def YieldOp : Dash_Op<"yield", [Pure, Terminator, HasParent<"WalkOp">]> {
  let summary = "Values that a walk carries to the next task";
  let description = [{
    `x(n+1)` of the enclosing `dash.walk`.

    **Preconditions**: last op of a `dash.walk`; the types are those of the walk's results.
    **Postconditions**: none.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @yield(%q: !T, %k: !T, %v: !T) {
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %dk, %dv = dash.walk (%head, %qi) init(%dk0 = %zero, %dv0 = %zero)
            : tensor<128x128xf32>, tensor<128x128xf32> {
          dash.yield %dv0, %dk0 : tensor<128x128xf32>, tensor<128x128xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `yields 1 values, but its 'dash.walk' has 2 results`
    - `value 0 must have the type of the result, 'tensor<64x128xf32>', got ...`
  }];
  let arguments = (ins Arg<Variadic<Tile>, "values for the next task">:$values);
  let builders = [OpBuilder<(ins), "/* nothing is carried */">];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def ReduceOp : Dash_Op<"reduce", [SumAccessOp, InsideItems]> {
  let summary = "Add a contribution, in no particular order";
  let description = [{
    `target[sequence, head, tile] += value`, in f32. Adds to one tile may happen in any order, so
    the bits of the sum may differ from run to run; target must hold zeros before the first add.

    **Preconditions**: the tile has as many rows as a q or a kv tile, and as many columns as target.
    Stands in unscheduled `dash.items`, or in items whose schedule is `unordered`.
    **Postconditions**: rows past the end of the sequence are not written.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @reduce(%q: !T, %k: !T, %v: !T, %dq: memref<?x?x?x128xf32>) {
      %t = arith.constant dense<1.0> : tensor<64x128xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qi) {
          dash.reduce %t into %dq[%seq, %head, %qi]
            : tensor<64x128xf32> into memref<?x?x?x128xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32`
    - `tile must have as many columns as the head dim of the memref, 128, got 64`
    - `adds in no order, but schedule '@order' of kind 'shift' orders every add: use
      'dash.ordered_reduce'`
    - `adds across items, but items that own q tiles finish their sums: carry it through the walk
      and use 'dash.store'`
  }];
  let arguments = (ins
    Arg<SumTile, "the contribution">:$value,
    Arg<SumMemRef, "sums [batch, heads, rows, head dim]", [MemRead, MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile);
  let assemblyFormat = [{
    $value `into` $target `[` $sequence `,` $head `,` $tile `]` attr-dict
    `:` type($value) `into` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SumAccesses<"SumAccess{SumAction::Add, "
                  "{getTarget(), getSequence(), getHead(), getTile()}}">.said;
}

def OrderedReduceOp : Dash_Op<"ordered_reduce", [SumAccessOp, InsideItems]> {
  let summary = "Add a contribution at its turn";
  let description = [{
    Waits until turns 0 to `turn` - 1 of this tile's chain are in memory, then
    `target[sequence, head, tile] = value` at turn 0, `+= value` at every later turn.

    The sum of a chain is one definite f32 number for each element, on any hardware: contributions
    are added one at a time from the first turn to the last. Each add rounds to nearest, ties to
    even, and replaces subnormal inputs and results by zeros of the same sign. The first
    contribution is stored as it is, not added to a zero.

    If a tile is larger than a slot, roles pass it on in pieces (`dash.piece`): `piece(1 of 2)` adds
    piece 1 of the tile. Each piece has a separate chain, with the turns of the tile's.

    `apart` is another way to the same sum: the contribution goes to a separate place, selected by
    its turn, and does not wait. `dash.convert` adds the contributions up in the order of turns
    (`dash-keep-apart`).

    With `signals_completion`, the last turn of a chain signals that the sum is complete, and
    `dash.convert` awaits that (`dash-overlap-rounding`).

    **Preconditions**: as `dash.reduce`, but stands in scheduled `dash.items`; the turns of a chain
    are 0 to n-1, each once (proven on the schedule, not here). Target needs no initial value.
    **Postconditions**: the tile's next turn sees the sum; rows past the end are not written.

    **Example**
    ```mlir
    dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
               head_dim_v = 128, sequences = <[128, 256]>>)
      cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
      order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                           worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>)
    !Q = memref<1x1x128x128xbf16>
    !KV = memref<1x1x256x128xbf16>
    func.func @ordered_reduce(%q: !Q, %k: !KV, %v: !KV, %dq: memref<1x1x128x128xf32>) {
      %t = arith.constant dense<1.0> : tensor<64x128xf32>
      dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          dash.ordered_reduce %t into %dq[%seq, %head, %qi] turn(%turn)
            : tensor<64x128xf32> into memref<1x1x128x128xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `needs a turn, which unscheduled 'dash.items' does not give: use 'dash.reduce'`
    - `waits for a turn, but schedule '@order' of kind 'unordered' gives none: use 'dash.reduce'`
    - `must add to the tile and at the turn of the enclosing 'dash.walk', which its order is proven
      for: use its arguments as they are`
    - `adds piece 2 of 2, expected a piece from 0 to 1 of at least 2`
    - `is kept apart, but 'dash.convert' does not add contributions up`
    - `adds to a sum, but 'dash.convert' adds contributions up that are kept apart`
    - `signals that a sum is complete, but 'dash.convert' does not await it`
    - `does not tell when a sum is complete, but 'dash.convert' waits for it`
    - `is kept apart, so there is no sum that it could tell of`
    - the two about rows and columns of `dash.reduce`
  }];
  let arguments = (ins
    Arg<SumTile, "the contribution">:$value,
    Arg<SumMemRef, "sums [batch, heads, rows, head dim]", [MemRead, MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile, Arg<Index, "position in the tile's chain">:$turn,
    Arg<Optional<Index>, "1 if the turn is the chain's last, once items are lowered">:$is_last,
    Arg<OptionalAttr<I64Attr>, "which piece of the tile; all of it if absent">:$piece,
    Arg<OptionalAttr<I64Attr>, "of how many pieces">:$pieces,
    Arg<UnitAttr, "kept in a place of its own">:$apart,
    Arg<UnitAttr, "the last turn signals that the sum is complete">:$signals_completion);
  let assemblyFormat = [{
    $value `into` $target `[` $sequence `,` $head `,` $tile `]` (`piece` `(` $piece^ `of` $pieces
    `)`)?
    `turn` `(` $turn `)` (`last` `(` $is_last^ `)`)? (`apart` $apart^)? (`signals_completion`
    $signals_completion^)? attr-dict `:` type($value) `into` type($target)
  }];
  let builders = [OpBuilder<(ins "Value":$value, "Value":$target, "Value":$sequence, "Value":$head,
                                 "Value":$tile, "Value":$turn),
    "build($_builder, $_state, value, target, sequence, head, tile, turn, Value(), IntegerAttr(), "
        "IntegerAttr(), UnitAttr(), UnitAttr());">];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHORDEROPS_TD
