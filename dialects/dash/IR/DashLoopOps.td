//===- DashLoopOps.td - reads of the order in roles --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of roles once items and walks are loops: reads of the order buffer, and numbers derived from
// it.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHLOOPOPS_TD
#define DASH_IR_DASHLOOPOPS_TD

include "dash/IR/DashPipelineOps.td"

def NumStepsOp : Dash_Op<"num_steps", [Pure, InsideItems, InsideRole]> {
  let summary = "Number of tasks of the item";
  let description = [{
    The number of times that the walks of the enclosing item run their body. A producer passes it to
    a consumer, which does not read the order.

    **Preconditions**: none.
    **Postconditions**: at least 0.
    **Example**: `%steps = dash.num_steps`, as in test/Pipeline/assign-roles.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let results = (outs Res<Index, "tasks">:$result);
  let assemblyFormat = "attr-dict";
}

def BandLeadOp : Dash_Op<"band_lead", [Pure, InsideItems, InsideRole]> {
  let summary = "The position of the mask's edge in a tile";
  let description = [{
    Row i of the q tile sees column j of the kv tile iff `j - i <= lead` and, if the mask has a left
    bound, `lead - width <= j - i` (dash/IR/Band.h). Its edges are `width` apart everywhere, so one
    number gives both. A mask with only a left bound has its right edge 2^29 columns out; a full
    mask has a lead of 2^30. The first columns of a union have another lead, which is larger by a
    number that the mask states. Where q tiles fold F heads, rows of the q tile are those of the
    sequence here: row r of its values is row r floordiv F.

    **Preconditions**: sequences have at most 2^28 rows; a bound of 2^29 or more is none.
    **Postconditions**: a tile has no hidden element if its lead is at least its kv rows - 1, and at
    most the width - (its q rows - 1).
    **Example**: `%lead = dash.band_lead at(%seq, %kv, %q) mask(<causal>) tiles(<q = 64, kv =
    128>)`, as in test/Pipeline/assign-roles.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<Index, "sequence">:$sequence, Arg<Index, "kv tile">:$kv_tile, Arg<Index, "q tile">:$q_tile,
    Arg<MaskAttr, "the mask">:$mask, Arg<TilesAttr, "rows of the tiles">:$tiles);
  let results = (outs Res<Index, "the lead">:$result);
  let assemblyFormat = [{
    `at` `(` $sequence `,` $kv_tile `,` $q_tile `)` `mask` `(` $mask `)` `tiles` `(` $tiles `)`
    attr-dict
  }];
}

def VisibleStepsOp : Dash_Op<"visible_steps", [Pure, InsideRole]> {
  let summary = "Steps of an item whose tiles a warpgroup's rows see";
  let description = [{
    The number of steps of an item without those at its end whose kv tile the mask hides from all
    rows of this warpgroup. It follows from the lead of the first step's tile: the lead of a step is
    smaller by the rows of a kv tile than that of the step before. At least one step counts as seen,
    and at most `hidden` do not. The rows of the q tile are dealt to the warpgroups of the role, so
    each of them has a number of its own.

    **Preconditions**: the item owns its q tile and walks kv tiles upward, without gaps; the lead is
    that of the item's first step; the mask is a band.
    **Postconditions**: from 1 to the number of steps, if that is at least 1; the mask hides each
    step that does not count from all rows of the warpgroup.
    **Example**: `%seen = dash.visible_steps %steps lead(%lead) tiles(<q = 192, kv = 128>)
    hidden(1)`, as in test/Steps/skip-hidden-steps.mlir.
    **Errors**
    - `deals 80 rows of a q tile to 3 warpgroups, expected a multiple`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<Index, "steps of the item">:$steps, Arg<Index, "lead of the first step's tile">:$lead,
    Arg<TilesAttr, "rows of the tiles">:$tiles,
    Arg<ConfinedAttr<I64Attr, [IntPositive]>, "the most steps that do not count">:$hidden);
  let results = (outs Res<Index, "steps that count">:$result);
  let assemblyFormat = [{
    $steps `lead` `(` $lead `)` `tiles` `(` $tiles `)` `hidden` `(` $hidden `)` attr-dict
  }];
  let extraClassDeclaration = [{
    /// Rows of the q tile that a warpgroup has.
    int64_t getRowsOfWarpgroup();
  }];
  let hasVerifier = 1;
}

class Dash_ElementwiseOp<string opMnemonic, list<Trait> traits = []>
    : Dash_StagedOp<opMnemonic, !listconcat([Pure, InsideRole], traits)>;

def LogProbabilityOp : Dash_ElementwiseOp<"log_probability", [AllTypesMatch<["scores", "result"]>]>
    {
  let summary = "Log of P of tiles that nothing hides";
  let description = [{
    `result[j, i] = (scale * scores[j, i] - lse[i]) * log2(e)`; the factor is 1 if absent. This is
    the logarithm to base 2 of the result of `dash.probability`. A consumer computes P in three
    steps, this op, `dash.hide` and `dash.exp2`, so that the mask is one of them. Scores after a
    `dash.softcap` are hidden first: this hides the slope of the cap too.

    **Preconditions**: scores are kv tile rows by q tile rows, with `q_rows` the reverse; lse has as
    many elements as scores have columns, with `q_rows` rows.
    **Postconditions**: -inf where lse is infinite and the score is not: those rows see nothing.
    **Example**: `%x = dash.log_probability %s, %lse scale(%scale) : tensor<128x64xf32>,
    tensor<64xf32>`, as in test/Pipeline/assign-roles.mlir.
    **Errors**
    - `'lse' must have 64 elements, one for each column of the scores, got 128`, and so for each row
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<SumTile, "S, transposed (kv rows by q rows), or as it is">:$scores,
    Arg<RowTile, "log of the sum of exponentials of each q row">:$lse,
    Arg<Optional<F32>, "factor on the scores; 1 if absent">:$scale,
    Arg<UnitAttr, "rows are those of q, not columns">:$q_rows, StageArg:$stage);
  let results = (outs Res<SumTile, "log2 of P, as scores lie">:$result);
  let assemblyFormat = [{
    $scores `,` $lse (`scale` `(` $scale^ `)`)? (`q_rows` $q_rows^)? (`stage` `(` $stage^ `)`)?
    attr-dict `:` type($scores) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def HideOp : Dash_StagedOp<"hide", [SlotAccessOp, InsideRole, AttrSizedOperandSegments,
    AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "A logarithm of P, or a capped score, after the mask";
  let description = [{
    -inf if the mask hides an element, so that P is 0 there whatever scores and lse are; otherwise
    the value. A consumer does not know its task, but receives a number: row j of the tile (a key)
    is hidden from column i (a query) iff `i + lead < j`, and from all queries past the end of the
    sequence's kv rows. In a forward, queries are the rows and keys the columns (`q_rows`). All
    sequences of a batch have the same end; for a list, the op names the sequence. A mask with a
    left bound or with a union is an attribute: it states the width, so that a key is also hidden
    iff `j < i + lead - width`, and how much further out the edges of a union's first columns are.

    The op precedes the exponentials. Few tiles have hidden elements, and the others branch around
    it. The code after the branch is one block, in which exponentials and the arithmetic of dS are
    interleaved.

    Only tiles that an edge cuts need their position, so no register keeps it for the others. With
    `again`, which `--dash-insert-waits` adds, the kv tile and the sequence are read again from the
    slot that carried them, as its indices with these numbers. Without `again` the op has no effect.
    With it, the op reads the channel, so nothing moves it after the arrival that releases the slot.

    **Preconditions**: the value is kv tile rows by q tile rows, with `q_rows` the reverse; the slot
    of `again` is full, and its indices are the op's kv tile and sequence.
    **Postconditions**: none.
    **Example**: `%y = dash.hide %x band(%lead, %kv) : tensor<128x64xf32>`, as in
    test/Pipeline/assign-roles.mlir; `%y = dash.hide %x band(%lead, %kv) mask(<window = [512, 0]>) :
    tensor<128x64xf32>`, as in test/Pipeline/assign-roles-window.mlir; `%y = dash.hide %x
    band(%lead, %kv) of(%seq) : tensor<128x64xf32>`, as in
    test/Pipeline/assign-roles-sequences.mlir; `%y = dash.hide %x band(%lead, %kv)
    again(%k_tiles[%slot] indices([3]) : !dash.channel<tensor<128x128xbf16>, index, index, index,
    index>) : tensor<128x64xf32>`, as in test/Steps/insert-waits.mlir.
    **Errors**
    - `reads 2 numbers again, the kv tile and the sequence, got 1 of their indices`; without a
      sequence `1 number again, the kv tile`
    - `index must be from 0 to 3, those of the slot, got 4`
    - `needs a channel, its slot and indices to read again, or none of them`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<SumTile, "log of P or capped scores, transposed: kv rows by q rows">:$value,
    Arg<Index, "the tile's lead: dash.band_lead">:$lead,
    Arg<Index, "kv tile of the sequence">:$kv_tile,
    Arg<Optional<Index>, "sequence of a list, for its kv rows">:$sequence,
    Arg<OptionalAttr<MaskAttr>, "the mask, if it has more than one edge">:$mask,
    Arg<UnitAttr, "rows are queries, and columns keys">:$q_rows,
    Arg<Optional<ChannelType>, "the channel whose slot carried the kv tile and the sequence",
    [MemRead]>:$channel,
    Arg<Optional<Index>, "that slot">:$slot,
    Arg<OptionalAttr<DenseI64ArrayAttr>,
    "numbers of its indices that are the kv tile and the sequence">:$indices,
    StageArg:$stage);
  let results = (outs Res<SumTile, "the same, -inf where hidden">:$result);
  let assemblyFormat = [{
    $value `band` `(` $lead `,` $kv_tile `)` (`of` `(` $sequence^ `)`)? (`mask` `(` $mask^ `)`)?
    (`q_rows` $q_rows^)?
    (`again` `(` $channel^ `[` $slot `]` `indices` `(` $indices `)` `:` type($channel) `)`)?
    (`stage` `(` $stage^ `)`)? attr-dict `:` type($value)
  }];
  let extraClassDeclaration = [{
    /// The slot's indices that are read again: the kv tile's, and the sequence's of a list.
    int64_t getKvTileIndex() { return getIndices()->front(); }
    int64_t getSequenceIndex() { return getIndices()->back(); }
  }];
  let hasVerifier = 1;
}

def Exp2Op : Dash_ElementwiseOp<"exp2", [AllTypesMatch<["value", "result"]>]> {
  let summary = "Exponentials to base 2";
  let description = [{
    `result[j, i] = 2^value[j, i]`, with the machine's approximation; 0 for -inf.

    **Preconditions**: none.
    **Postconditions**: none.
    **Example**: `%p = dash.exp2 %y : tensor<128x64xf32>`, as in test/Pipeline/assign-roles.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<SumTile, "exponents">:$value, StageArg:$stage);
  let results = (outs Res<SumTile, "the powers">:$result);
  let assemblyFormat = "$value (`stage` `(` $stage^ `)`)? attr-dict `:` type($value)";
}

def HeldOp : Dash_Op<"held", [SlotAccessOp, InsideRole]> {
  let summary = "The tiles of a slot that is held: waited for and not released";
  let description = [{
    For a slot that a role waits for in one iteration of a loop and reads in the next: there is no
    second wait, and no register carries the tile around the loop.

    **Preconditions**: the role has waited for this use of the channel, and has not released it.
    **Postconditions**: none.
    **Example**: `%q_tile = dash.held %q_tiles[%step] : !dash.channel<tensor<64x128xbf16>> ->
    tensor<64x128xbf16>`, as in test/Steps/peel-walks.mlir.
    **Errors**
    - `tiles must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "number of the use">:$use);
  let results = (outs Res<Variadic<Tile>, "the slot's tiles">:$tiles);
  let assemblyFormat = "$channel `[` $use `]` attr-dict `:` type($channel) `->` type($tiles)";
  let hasVerifier = 1;
}

def NumItemsOp : Dash_Op<"num_items", [InsideRole]> {
  let summary = "Length of this worker's list";
  let description = [{
    Read from the order buffer. Where workers hand out items, all of them have one list.

    **Preconditions**: none.
    **Postconditions**: at least 0.
    **Example**: `%items = dash.num_items`, as in test/Steps/read-order.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let results = (outs Res<Index, "items">:$result);
  let assemblyFormat = "attr-dict";
}

def DrawItemOp : Dash_Op<"draw_item", [InsideRole, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The place of an item that no other worker has drawn";
  let description = [{
    Adds 1 to the word `drawn` of the workspace, which `NAME_prepare` has set to 0. `first` draws
    none: it is the worker's number, since as many items as there are workers are taken by these.

    **Preconditions**: one thread of a worker draws; `first` comes first, and once.
    **Postconditions**: no two draws of a launch give one place, and places of a worker ascend. A
    place at or past `dash.num_items` says that no item is left.
    **Example**: `%place = dash.draw_item first`, `%next = dash.draw_item`, as in
    test/Main/hand-out-items.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<UnitAttr, "the worker's number">:$first);
  let results = (outs Res<Index, "position in the list of all">:$place);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}

def ReadItemOp : Dash_Op<"read_item", [InsideRole]> {
  let summary = "An item of this worker's list";
  let description = [{
    Read from the order buffer: the item's indices, the address of its visits, and the number of
    rounds over them, each one head further.

    **Preconditions**: place is below `dash.num_items`.
    **Postconditions**: the item has `visits * rounds` tasks.
    **Example**: `%seq, %kv_head, %kv, %first_head, %first_visit, %visits, %rounds =
    dash.read_item[%place]`, as in test/Steps/read-order.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<Index, "position in the list">:$place);
  let results = (outs
    Res<Index, "sequence">:$sequence, Res<Index, "kv head">:$kv_head,
    Res<Index, "kv tile">:$kv_tile,
    Res<Index, "first query head">:$first_head, Res<I64, "address of the first visit">:$first_visit,
    Res<Index, "visits of a round">:$visits, Res<Index, "rounds">:$rounds);
  let assemblyFormat = "`[` $place `]` attr-dict";
}

def ReadVisitOp : Dash_Op<"read_visit", [InsideRole]> {
  let summary = "A task of an item";
  let description = [{
    Read from the order buffer: visit `visit` of the item, on the head of round `round`.

    **Preconditions**: visit and round are below those of the item.
    **Postconditions**: none.
    **Example**: `%head, %q, %turn, %is_last = dash.read_visit %first_visit[%visit]
    heads(%first_head, %round)`, as in test/Steps/read-order.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<I64, "address of the item's first visit">:$first_visit,
    Arg<Index, "visit of the round">:$visit,
    Arg<Index, "the item's first head">:$first_head, Arg<Index, "round">:$round);
  let results = (outs
    Res<Index, "query head">:$head, Res<Index, "q tile">:$q_tile,
    Res<Index, "turn in the q tile's chain">:$turn,
    Res<Index, "1 if it is the chain's last">:$is_last);
  let assemblyFormat = [{
    $first_visit `[` $visit `]` `heads` `(` $first_head `,` $round `)` attr-dict
  }];
}

def ReadPartOp : Dash_Op<"read_part", [InsideRole]> {
  let summary = "The turn of an item among the parts of its kv tile";
  let description = [{
    Read from the order buffer: an item's position in the chain of its dK and dV over the parts. It
    is read after the walk, where it is needed: a role that adds has no registers to keep it. If
    an item walks a piece of the keys, this is its head among those of all pieces.

    **Preconditions**: place is below `dash.num_items`.
    **Postconditions**: none.
    **Example**: `%turn, %is_last = dash.read_part[%place]`, as in test/Steps/read-order-parts.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<Index, "position in the list">:$place);
  let results = (outs Res<Index, "turn in the kv tile's chain">:$turn,
      Res<Index, "1 if it is the chain's last">:$is_last);
  let assemblyFormat = "`[` $place `]` attr-dict";
}

def WarpOfRoleOp : Dash_Op<"warp_of_role", [Pure, InsideRole]> {
  let summary = "Which warp of its role this is";
  let description = [{
    From 0 to the role's warps - 1.

    **Preconditions**: none.
    **Postconditions**: the same in all lanes of a warp.
    **Example**: `%warp = dash.warp_of_role`, as in test/Steps/read-order.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let results = (outs Res<Index, "the warp">:$result);
  let assemblyFormat = "attr-dict";
}

#endif // DASH_IR_DASHLOOPOPS_TD
