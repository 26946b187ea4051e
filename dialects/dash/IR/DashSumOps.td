//===- DashSumOps.td - the ordered add through a semaphore -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `dash.ordered_reduce` becomes: turns of a tile of sums, and copies that add to it.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHSUMOPS_TD
#define DASH_IR_DASHSUMOPS_TD

include "dash/IR/DashAsyncOps.td"

class Dash_SumOp<string opMnemonic, dag more, list<Trait> traits = []>
    : Dash_SlotOp<opMnemonic, !listconcat(traits, [SumAccessOp])> {
  let arguments = !con((ins
    Arg<SumMemRef, "sums of the whole tensor", [MemRead, MemWrite]>:$sums,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile), more);
  let extraClassDeclaration = [{
    /// The tile of the sums.
    MemoryRef getSum() { return {getSums(), getSequence(), getHead(), getTile()}; }
  }];
}

def AcquireTurnOp : Dash_SumOp<"acquire_turn", (ins Arg<Index, "the turn">:$turn)> {
  let summary = "Wait until a tile's counter is a turn";
  let description = [{
    One lane polls the tile's counter with `ld.acquire.gpu`: writes released by the previous turn
    are visible from here on.

    **Preconditions**: one thread, which has no unreleased add.
    **Postconditions**: the turn is this thread's.
    **Example**: `dash.acquire_turn %dq[%seq, %head, %tile] turn(%turn) : memref<?x?x?x128xf32>`, as
    in test/Steps/lower-ordered-reduce.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat =
      "$sums `[` $sequence `,` $head `,` $tile `]` `turn` `(` $turn `)` attr-dict `:` type($sums)";
  let extraClassDefinition = SumAccesses<"SumAccess{SumAction::Take, getSum(), getTurn()}">.said;
}

def ReleaseTurnOp : Dash_SumOp<"release_turn", (ins
    Arg<Index, "1 if the turn is the chain's last">:$is_last,
    Arg<UnitAttr, "the last turn signals that the sum is complete">:$signals_completion)> {
  let summary = "Give a tile's next turn on";
  let description = [{
    `red.release.gpu` adds 1 to the counter. The chain's last turn sets it to -1 instead, by a
    relaxed store, so that a complete chain differs from one that has not begun. With
    `signals_completion`, that store is `st.release.gpu`: a thread that acquires it sees the
    complete sum. `NAME_prepare` of the next launch begins the counter anew.

    **Preconditions**: the thread's add is complete (not only read), and fenced.
    **Postconditions**: the acquire of the next turn sees the sum.
    **Example**: `dash.release_turn %dq[%seq, %head, %tile] last(%is_last) : memref<?x?x?x128xf32>`,
    as in test/Steps/lower-ordered-reduce.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat = [{
    $sums `[` $sequence `,` $head `,` $tile `]` `last` `(` $is_last `)` (`signals_completion`
    $signals_completion^)? attr-dict `:` type($sums)
  }];
  let extraClassDefinition =
      SumAccesses<"SumAccess{SumAction::Give, getSum(), Value(), getIsLast(), "
                  "getSignalsCompletion()}">.said;
}

def CountTurnsOp : Dash_SumOp<"count_turns", (ins
    Arg<Index, "the turn">:$turn, Arg<Index, "1 if the turn is the chain's last">:$is_last)> {
  let summary = "Record the number of a tile's contributions, at the last one";
  let description = [{
    If contributions are kept apart, the last turn of a chain stores their number in the tile's
    counter: `dash.convert` adds up as many. Nothing waits for the counter.

    **Preconditions**: one thread.
    **Postconditions**: after the kernel, the counter of a tile with contributions is their number.
    **Example**: `dash.count_turns %dq[%seq, %head, %tile] turn(%turn) last(%is_last) :
    memref<?x?x?x128xf32>`, as in test/Steps/lower-ordered-reduce-apart.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat = [{
    $sums `[` $sequence `,` $head `,` $tile `]` `turn` `(` $turn `)` `last` `(` $is_last `)`
    attr-dict `:` type($sums)
  }];
  let extraClassDefinition =
      SumAccesses<"SumAccess{SumAction::Count, getSum(), getTurn(), getIsLast()}">.said;
}

def BulkAddOp : Dash_SumOp<"bulk_add", (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "slot">:$slot,
    Arg<UnitAttr, "whether L2 evicts the tile last">:$evict_last), [SlotAccessOp]> {
  let summary = "Add a slot's tile to memory";
  let description = [{
    `cp.reduce.async.bulk.add.f32`: each element is added in L2, rounded to nearest even, with
    subnormals flushed. With `evict_last`, the tile stays in L2 as long as possible
    (`L2::evict_last`): more is added to it, and then it is read.

    **Preconditions**: one thread; the slot is full and fenced.
    **Postconditions**: part of the group that is committed next.
    **Example**: `dash.bulk_add %dq_tiles[%slot] into %dq[%seq, %head, %tile] evict_last :
    !dash.channel<tensor<64x128xf32>> into memref<?x?x?x128xf32>`, as in
    test/Steps/lower-ordered-reduce.mlir.
    **Errors**: `tile must have as many columns as the head dim of the memref, 128, got 64`; `a slot
    must be one tile of 'f32', got '!dash.channel<tensor<64x128xbf16>>'`; `stands inside 'dash.role'
    only: channels connect roles`.
  }];
  let assemblyFormat = [{
    $channel `[` $slot `]` `into` $sums `[` $sequence `,` $head `,` $tile `]` (`evict_last`
    $evict_last^)? attr-dict
    `:` type($channel) `into` type($sums)
  }];
  let hasVerifier = 1;
  let extraClassDefinition = SumAccesses<"SumAccess{SumAction::Add, getSum()}">.said #
      SlotAccesses<"SlotAccess::read(AccessAgent::CopyEngine, $slot, 0).withMemory(getSum())">.said;
}

def BulkStoreOp : Dash_SumOp<"bulk_store", (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "slot">:$slot,
    Arg<Optional<Index>, "keep it as the contribution of this turn">:$turn,
    Arg<UnitAttr, "whether L2 evicts the tile last">:$evict_last), [SlotAccessOp]> {
  let summary = "Store a slot's tile to memory";
  let description = [{
    `cp.async.bulk.global.shared`: the first turn of a chain assigns, so nothing must be zeroed
    before. With `turn`, the tile goes to the slot of that turn in the workspace region
    `contributions` (for dK and dV, `dk_contributions` and `dv_contributions`). That serves
    contributions that are kept apart, and tests that replay chains. With `evict_last`, the tile
    stays in L2 as long as possible: more is added to it next.

    **Preconditions**: one thread; the slot is full and fenced.
    **Postconditions**: part of the group that is committed next.
    **Example**: `dash.bulk_store %dq_tiles[%slot] into %dq[%seq, %head, %tile] evict_last :
    !dash.channel<tensor<64x128xf32>> into memref<?x?x?x128xf32>`, as in
    test/Steps/lower-ordered-reduce.mlir.
    **Errors**: `tile must have as many columns as the head dim of the memref, 128, got 64`; `a slot
    must be one tile of 'f32', got '!dash.channel<tensor<64x128xbf16>>'`; `stands inside 'dash.role'
    only: channels connect roles`.
  }];
  let assemblyFormat = [{
    $channel `[` $slot `]` `into` $sums `[` $sequence `,` $head `,` $tile `]` (`keep` `(` $turn^
    `)`)?
    (`evict_last` $evict_last^)? attr-dict
    `:` type($channel) `into` type($sums)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SumAccesses<"SumAccess{getTurn() ? SumAction::Keep : SumAction::Store, getSum(), "
                  "getTurn()}">.said #
      SlotAccesses<"SlotAccess::read(AccessAgent::CopyEngine, $slot, 0).withMemory(getSum())">.said;
}

def CopyTaskOutOp : Dash_SlotOp<"copy_task_out", [SlotAccessOp, SumAccessOp]> {
  let summary = "Copy a tile of a task from a slot to memory";
  let description = [{
    `cp.async.bulk.global.shared`: the tile lies in memory as in the slot (`dash.store_task`).

    **Preconditions**: one thread; the slot is full and fenced.
    **Postconditions**: part of the group that is committed next.
    **Example**: `dash.copy_task_out %ds_tiles[%slot] to %ds[%seq, %head, %q] with(%kv_head, %kv) :
    !dash.channel<tensor<64x64xbf16>> to memref<?x4096xbf16>`, as in
    test/Steps/lower-ordered-reduce-tasks.mlir.
    **Errors**: `a slot must be one tile of 4096 numbers of 'bf16', got
    '!dash.channel<tensor<64x64xf32>>'`; `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "slot">:$slot,
    Arg<TaskMemRef, "tiles of tasks", [MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "q tile of the sequence">:$tile,
    Arg<Index, "kv head, absolute">:$kv_head, Arg<Index, "kv tile of the sequence">:$kv_tile);
  let assemblyFormat = [{
    $channel `[` $slot `]` `to` $target `[` $sequence `,` $head `,` $tile `]` `with` `(` $kv_head
    `,` $kv_tile `)` attr-dict `:` type($channel) `to` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MemoryRef getMemory() {
      return MemoryRef{getTarget(), getSequence(), getHead(), getTile()}.with(
          {getKvHead(), getKvTile()});
    }
  }];
  let extraClassDefinition =
      SumAccesses<"SumAccess{SumAction::Keep, getMemory(), getKvTile()}">.said #
      SlotAccesses<"SlotAccess::read(AccessAgent::CopyEngine, $slot, 0).withMemory(getMemory())">
          .said;
}

#endif // DASH_IR_DASHSUMOPS_TD
