//===- DashAsyncOps.td - waits, phases and copies as ops ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms that `dash.put`, `dash.wait`, `dash.commit`, `dash.release` and `dash.store` become:
// every wait, every fence and every arrival is an op. Fences and groups of copies are ops of the
// NVVM dialect.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHASYNCOPS_TD
#define DASH_IR_DASHASYNCOPS_TD

include "dash/IR/DashPipelineOps.td"

class Dash_SlotOp<string opMnemonic, list<Trait> traits = []>
    : Dash_Op<opMnemonic, !listconcat([InsideRole], traits)>;

//===--------------------------------------------------------------------------===//
// Slots and their barriers
//===--------------------------------------------------------------------------===//

def RingOp : Dash_SlotOp<"ring", [Pure]> {
  let summary = "The slot and the phase of the n-th use of a channel";
  let description = [{
    `slot = use mod depth`, `phase = (use div depth) mod 2`: the number of earlier uses of the slot,
    modulo 2.

    **Preconditions**: use counts over the worker's whole life, from 0.
    **Postconditions**: slot is below the channel's depth; phase is 0 or 1.
    **Example**: `%slot, %phase = dash.ring %q_tiles[%use] : !dash.channel<tensor<64x128xbf16>>`, as
    in test/Steps/insert-waits.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<ChannelType, "the channel">:$channel,
      Arg<Index, "number of the use">:$use);
  let results = (outs Res<Index, "slot">:$slot, Res<Index, "phase of that use">:$phase);
  let assemblyFormat = "$channel `[` $use `]` attr-dict `:` type($channel)";
}

def MbarrierWaitOp : Dash_SlotOp<"mbarrier_wait", [SyncOp]> {
  let summary = "Wait until a slot is full, or empty";
  let description = [{
    Repeats `mbarrier.try_wait.parity` until it is true. `full` waits for the parity `phase`: the
    use has been filled. `empty` waits for the parity `1 - phase`: the previous use has been
    released; the first use of a slot passes at once. `borrows` means that the role does not fill
    the slot now: before it does, its results leave through the slot, which stays empty.

    **Preconditions**: slot and phase are those of a use (`dash.ring`) at most one ahead of the uses
    that the barrier has completed: a parity cannot distinguish more.
    **Postconditions**: writes before the arrivals are visible.
    **Example**: `dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) :
    !dash.channel<tensor<64x128xbf16>>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `a slot is borrowed while it is empty, and this waits until it is full`; `stands
    inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel,
    Arg<BarrierSideAttr, "which mbarrier of the slot">:$side,
    Arg<Index, "slot">:$slot, Arg<Index, "phase of the use">:$phase,
    Arg<UnitAttr, "results leave through the slot, and it stays empty">:$borrows);
  let assemblyFormat = [{
    $channel `` $side `[` $slot `]` `phase` `(` $phase `)` (`borrows` $borrows^)? attr-dict `:`
    type($channel)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      Syncs<"Sync::waitFor(getSide(), $slot, getPhase(), getBorrows())">.said;
}

def MbarrierArriveOp : Dash_SlotOp<"mbarrier_arrive", [SyncOp]> {
  let summary = "Arrive at a slot's barrier, for this warp or thread";
  let description = [{
    `mbarrier.arrive`. The phase completes with the last of the channel's `arrivals`.

    **Preconditions**: `by warp` and `by all` in roles whose warps run together, `by thread` in one
    thread.
    **Postconditions**: none.
    **Example**: `dash.mbarrier_arrive %q_tiles empty[%slot] by warp :
    !dash.channel<tensor<64x128xbf16>>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<BarrierSideAttr, "which mbarrier of the slot">:$side,
    Arg<Index, "slot">:$slot,
    Arg<ArriveScopeAttr, "which threads arrive">:$scope);
  let assemblyFormat = [{
    $channel `` $side `[` $slot `]` `by` `` $scope attr-dict
    `:` type($channel)
  }];
  let extraClassDefinition = Syncs<"Sync::arriveAt(getSide(), $slot, getScope())">.said;
}

def MbarrierExpectOp : Dash_SlotOp<"mbarrier_expect", [SyncOp]> {
  let summary = "Arrive at a slot's full barrier, and announce bytes";
  let description = [{
    `mbarrier.arrive.expect_tx`: the phase completes when the bytes of all tiles have arrived.

    **Preconditions**: one thread; the slot is empty.
    **Postconditions**: none.
    **Example**: `dash.mbarrier_expect %q_tiles[%slot] bytes(16640) :
    !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`; `bytes must be 16640,
    those of the tiles of a slot, got 16384`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemWrite]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "bytes of all tiles">:$bytes);
  let assemblyFormat = "$channel `[` $slot `]` `bytes` `(` $bytes `)` attr-dict `:` type($channel)";
  let hasVerifier = 1;
  let extraClassDefinition = Syncs<"Sync::expect($slot, getBytes())">.said;
}

def CopyInOp : Dash_SlotOp<"copy_in", [SlotAccessOp]> {
  let summary = "Copy a tile from memory into a slot";
  let description = [{
    `cp.async.bulk.tensor` with the tensor's descriptor for a tile of rank 2; `cp.async.bulk` for a
    row vector, which the workspace holds ready to load. A tile of a task lies in memory as in a
    slot: `cp.async.bulk` for each 64 rows of q, of zeros if the mask hides all of it. The copy
    completes at the slot's full barrier.

    **Preconditions**: one thread, after `dash.mbarrier_expect`.
    **Postconditions**: rows past the end of the tensor, and columns that it does not have, are
    zeros.
    **Example**: `dash.copy_in %q[%seq, %head, %tile] to %q_tiles[%slot] element(0) :
    memref<?x?x?x128xbf16> to !dash.channel<tensor<64x128xbf16>>`, as in
    test/Steps/insert-waits.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 0, got 1`; `tile must have at least
    as many columns as the head dim of the memref, 128, got 64`; `a tile of 'bf16' for a memref of
    'f16'`; `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<TensorMemRef, "whole tensor", [MemRead]>:$source,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile,
    Arg<Variadic<Index>, "of a task: kv head and kv tile">:$other,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element,
    Arg<OptionalAttr<MaskAttr>, "of a task: what it may hide">:$mask);
  let assemblyFormat = [{
    $source `[` $sequence `,` $head `,` $tile `]` (`with` `(` $other^ `)`)?
    (`mask` `(` $mask^ `)`)? `to` $channel `[` $slot `]` `element` `(` $element
    `)` attr-dict
    `:` type($source) `to` type($channel)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::write(AccessAgent::CopyEngine, $slot, getElement())"
      ".withMemory(MemoryRef{getSource(), getSequence(), getHead(), getTile()}.with(getOther()))">
          .said;
}

def CopyOutOp : Dash_SlotOp<"copy_out", [SlotAccessOp, SyncOp]> {
  let summary = "Copy this warpgroup's rows of a slot to memory";
  let description = [{
    One thread of the warpgroup issues a `cp.async.bulk.tensor` for each panel of its 64 rows and
    commits them as a group. If a tile has n times the columns of a slot, a slot has one slice:
    columns `[slice * w, (slice + 1) * w)`, w being those of the slot. A tile with fewer columns
    than a slot is one slice, in the slot's first columns.

    **Preconditions**: the slot is borrowed, or held, and a result lies there in place of a loaded
    tile; the warpgroup has written its rows, fenced, and synchronized.
    **Postconditions**: rows past the end of the tensor are not written. The slot is read behind a
    wait for the group, which the warpgroup meets behind.
    **Example**: `dash.copy_out %ds_tiles[%slot] element(0) to %dv[%seq, %head, %tile] slice(1) :
    !dash.channel<tensor<128x64xbf16>> to memref<?x?x?x128xbf16>`, as in
    test/Steps/insert-waits.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 0, got 1`; `leaves through slots
    whose columns are a multiple of 16, got 'tensor<128x40xbf16>'`; `a slice is of a tile that has
    columns, got one without`; `slice must be from 0 to 1, got 2`; `a tile of 'f32' for a memref of
    'bf16'`; `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element,
    Arg<HalfMemRef, "whole tensor", [MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile,
    Arg<I64Attr, "which columns of the tile">:$slice);
  let assemblyFormat = [{
    $channel `[` $slot `]` `element` `(` $element `)` `to` $target `[` $sequence `,` $head `,` $tile
    `]`
    `slice` `(` $slice `)` attr-dict `:` type($channel) `to` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::read(AccessAgent::CopyEngine, $slot, getElement())"
      ".ofOwnRows().ofSlice(getSlice())"
      ".withMemory({getTarget(), getSequence(), getHead(), getTile()})">.said #
      Syncs<"Sync{SyncKind::CommitCopies}">.said;
}

def WriteIndicesOp : Dash_SlotOp<"write_indices", [SlotAccessOp]> {
  let summary = "Write the indices of a slot";
  let description = [{
    Ordinary stores by one thread. Its arrival at the full barrier publishes them.

    **Preconditions**: one thread; the slot is empty; as many indices as a slot has.
    **Postconditions**: none.
    **Example**: `dash.write_indices %lead to %q_tiles[%slot] : !dash.channel<tensor<64x128xbf16>,
    index>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `a slot holds 1 indices, got 2`; `stands inside 'dash.role' only: channels connect
    roles`.
  }];
  let arguments = (ins
    Arg<Variadic<Index>, "the indices">:$indices,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel, Arg<Index, "slot">:$slot);
  let assemblyFormat = "$indices `to` $channel `[` $slot `]` attr-dict `:` type($channel)";
  let hasVerifier = 1;
  let extraClassDefinition = SlotAccesses<"SlotAccess::writeIndices($slot, getIndices())">.said;
}

def ReadIndicesOp : Dash_SlotOp<"read_indices", [SlotAccessOp]> {
  let summary = "Read the indices of a slot";
  let description = [{
    The values are the same in all threads of a warp, and the compiler knows it. The loads keep
    their place among waits and arrivals.

    **Preconditions**: the slot is full.
    **Postconditions**: none.
    **Example**: `%lead = dash.read_indices %q_tiles[%slot] : !dash.channel<tensor<64x128xbf16>,
    index>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `a slot holds 1 indices, got 2`; `stands inside 'dash.role' only: channels connect
    roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel, Arg<Index, "slot">:$slot);
  let results = (outs Res<Variadic<Index>, "the indices">:$indices);
  let assemblyFormat = "$channel `[` $slot `]` attr-dict `:` type($channel) `->` type($indices)";
  let hasVerifier = 1;
  let extraClassDefinition = SlotAccesses<"SlotAccess::readIndices($slot, getIndices())">.said;
}

//===--------------------------------------------------------------------------===//
// Tiles in slots and in registers
//===--------------------------------------------------------------------------===//

def SlotTileOp : Dash_SlotOp<"slot_tile", [SlotAccessOp]> {
  let summary = "A tile in place in a slot";
  let description = [{
    A name for memory: a factor of products. No instruction.

    **Preconditions**: the slot is full, and is not released before every op that reads the tile is
    complete.
    **Postconditions**: none.
    **Example**: `%k = dash.slot_tile %k_tiles[%slot] element(0) :
    !dash.channel<tensor<128x128xbf16>> -> tensor<128x128xbf16, #dash.swizzled>`, as in
    test/Steps/insert-waits.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 0, got 1`; `'result' must be element
    0 of the slot, 'tensor<64x128xbf16>', got 'tensor<64x64xbf16>'`; `stands inside 'dash.role'
    only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element);
  let results = (outs Res<HalfTile, "the tile, in shared memory">:$result);
  let assemblyFormat = [{
    $channel `[` $slot `]` `element` `(` $element `)` attr-dict `:` type($channel) `->`
    type($result)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::name($slot, getElement(), getResult())">.said;
}

def LoadRowOp : Dash_SlotOp<"load_row", [SlotAccessOp]> {
  let summary = "Load a row vector from a slot into registers";
  let description = [{
    Each thread loads the elements that belong to its columns of an accumulator, 16 bytes at a time:
    the layout of the vector makes them contiguous. The loads keep their place among waits and
    arrivals.

    **Preconditions**: the slot is full.
    **Postconditions**: none.
    **Example**: `%lse = dash.load_row %q_tiles[%slot] element(1) :
    !dash.channel<tensor<64x128xbf16>, tensor<64xf32>> -> tensor<64xf32, #dash.fragment<per_column,
    replicated by 2>>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 1, got 2`; `'result' must be element
    1 of the slot, 'tensor<64xf32>', got 'tensor<128xf32>'`; `stands inside 'dash.role' only:
    channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element);
  let results = (outs Res<RowTile, "the vector, in registers">:$result);
  let assemblyFormat = [{
    $channel `[` $slot `]` `element` `(` $element `)` attr-dict `:` type($channel) `->`
    type($result)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::read(AccessAgent::Threads, $slot, getElement(), getResult())">.said;
}

def LoadFragmentOp : Dash_SlotOp<"load_fragment", [SlotAccessOp]> {
  let summary = "Load this warpgroup's part of a tile that other threads held";
  let description = [{
    The way back of `dash.store_fragment` for an accumulator: a thread gets the registers of that
    with its number in the role that put the tile. The loads keep their place among waits and
    arrivals.

    **Preconditions**: the slot is full. Only threads use it, so arrivals have no proxy fence.
    **Postconditions**: none.
    **Example**: `%p = dash.load_fragment %p_tiles[%slot] element(0) :
    !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>> -> tensor<64x64xf32,
    #dash.fragment<accumulator, rows by 1>>`, as in test/Steps/insert-waits-passed.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 0, got 1`; `'result' must be element
    0 of the slot, 'tensor<64x64xf32>', got 'tensor<64x128xf32>'`; `threads read what threads have
    put: expected a tile of 'f32', got 'tensor<64x64xbf16>'`; `'result' must have the layout of the
    slot's tile, #dash.fragment<accumulator, rows by 1>, got #dash.fragment<accumulator, rows by
    2>`; `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element);
  let results = (outs Res<Tile, "the tile, in registers">:$result);
  let assemblyFormat = [{
    $channel `[` $slot `]` `element` `(` $element `)` attr-dict `:` type($channel) `->`
    type($result)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::read(AccessAgent::Threads, $slot, getElement(), getResult())"
                   ".ofOwnRows()">.said;
}

def LoadFactorOp : Dash_SlotOp<"load_factor", [SlotAccessOp]> {
  let summary = "Load this warpgroup's rows of a factor from a slot into registers";
  let description = [{
    The left factor of a product, if it is the same in many products: each warpgroup reads its 64
    rows once (`ldmatrix`), and products take them from registers instead of shared memory. The tile
    is a result of `dash.wait` or `dash.slot_tile`. The loads keep their place among waits and
    arrivals.

    **Preconditions**: the slot is full. The result is only used as `a` of products, not transposed.
    **Postconditions**: the slot's tile can still be read there.
    **Example**: `%k_rows = dash.load_factor %k_tile : tensor<128x64xbf16, #dash.swizzled> ->
    tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>`, as in
    test/Steps/insert-waits-factors.mlir.
    **Errors**: `result must be the tile, 128x64 of 'bf16', got 64x128 of 'bf16'`; `stands inside
    'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<HalfTile, "the tile, in shared memory", [MemRead, MemWrite]>:$tile);
  let results = (outs Res<HalfTile, "the tile, in registers">:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def StoreFragmentOp : Dash_SlotOp<"store_fragment", [SlotAccessOp]> {
  let summary = "Write this warpgroup's part of a tile to a slot";
  let description = [{
    An operand goes to its 64 rows of a swizzled tile (`stmatrix`). An accumulator goes as threads
    hold it, 16 bytes a thread, at the warpgroup's offset: `#dash.fragment`. `slice(n)` says that it
    is a result that leaves (`dash.copy_out`), of which a slot has as many columns as fit.

    **Preconditions**: the slot is empty; it is borrowed for a slice, and only for one. Or it is
    full, and a slice takes the place of a loaded tile: products of the warpgroup's threads have
    read their rows, and the threads have met behind.
    **Postconditions**: seen by other threads after an arrival, by the copy engine and the tensor
    core after a fence too.
    **Example**: `dash.store_fragment %ds to %ds_tiles[%slot] element(0) : tensor<128x64xbf16,
    #dash.fragment<operand, rows by 2>> to !dash.channel<tensor<128x64xbf16>>`, as in
    test/Steps/insert-waits.mlir.
    **Errors**: `element must be a tile of the slot, from 0 to 0, got 1`; `'value' must be element 0
    of the slot, 'tensor<128x64xbf16>', got 'tensor<64x128xf32>'`; `'value' must have the rows and
    the element type of element 0 of the slot, 'tensor<128x64xbf16>', got 'tensor<64x128xbf16>'`; `a
    slice is of a tile of rank 2, got 'tensor<128xbf16>'`; `a slice is of an operand fragment, got
    #dash.fragment<accumulator, rows by 2>`; the two of `dash.copy_out` about slices; `stands inside
    'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<Tile, "the tile, in registers">:$value,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel, Arg<Index, "slot">:$slot,
    Arg<I64Attr, "which tile of the slot">:$element,
    Arg<OptionalAttr<I64Attr>, "which columns of a tile that leaves">:$slice);
  let assemblyFormat = [{
    $value `to` $channel `[` $slot `]` `element` `(` $element `)` (`slice` `(` $slice^ `)`)?
    attr-dict
    `:` type($value) `to` type($channel)
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      SlotAccesses<"SlotAccess::write(AccessAgent::Threads, $slot, getElement(), getValue())"
                   ".ofOwnRows().ofSlice(getSlice())">.said;
}

def WgmmaWaitOp : Dash_SlotOp<"wgmma_wait",
    [SyncOp, AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait for products in flight";
  let description = [{
    `wgmma.wait_group`: waits until at most `pending` of the products issued last are incomplete.
    The results are the sums of the complete ones, and can be used like any numbers from here on.
    `factors` are the registers that those products read: nothing else may use them before.
    A `pinned` wait stays behind what stands before it. Without that, ptxas moves a wait in front of
    element-wise work, which then no longer runs beside this warpgroup's own products.

    **Preconditions**: the operands are sums of products issued before the last `pending`; `factors`
    are all of their left factors that are not tiles in slots.
    **Postconditions**: those products have read their factors.
    **Example**: `%dv = dash.wgmma_wait %sums pending(2) factors(%p : tensor<64x64xbf16>) :
    tensor<64x128xf32> -> tensor<64x128xf32>`, as in test/Steps/insert-waits.mlir.
    **Errors**: `pending must be at least 0, got -1`; `results must have the types of the operands,
    'tensor<64x128xf32>', got 'tensor<64x64xf32>'`; `stands inside 'dash.role' only: channels
    connect roles`.
  }];
  let arguments = (ins
    Arg<Variadic<SumTile>, "sums in flight">:$inputs,
    Arg<Variadic<AnyRankedTensor>, "left factors in registers">:$factors,
    Arg<I64Attr, "products that may remain in flight">:$pending,
    Arg<UnitAttr, "stays behind what stands before it">:$pinned);
  let results = (outs Res<Variadic<SumTile>, "the sums">:$outputs);
  let assemblyFormat = [{
    ($inputs^)? `pending` `(` $pending `)` (`pinned` $pinned^)?
    (`factors` `(` $factors^ `:` type($factors) `)`)?
    attr-dict
    (`:` type($inputs)^ `->` type($outputs))?
  }];
  let hasVerifier = 1;
  let extraClassDefinition =
      Syncs<"Sync::waitForGroups(SyncKind::WaitForProducts, getPending())">.said;
}

def SyncWarpgroupOp : Dash_SlotOp<"sync_warpgroup", [SyncOp, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "A barrier of this warpgroup's threads";
  let description = [{
    `bar.sync` on a barrier of the warpgroup alone.

    **Preconditions**: a consumer.
    **Postconditions**: none.
    **Example**: `dash.sync_warpgroup`, as in test/Steps/insert-waits.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat = "attr-dict";
  let extraClassDefinition = Syncs<"Sync{SyncKind::MeetWarpgroup}">.said;
}

def DelayOp : Dash_SlotOp<"delay", [MemoryEffects<[MemWrite]>]> {
  let summary = "Sleep for a random time";
  let description = [{
    Up to 4 µs, from the clock's low bits: bits must not depend on delays. For tests.

    **Preconditions**: none.
    **Postconditions**: none.
    **Example**: `dash.delay`, as in test/Steps/insert-delays.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat = "attr-dict";
}

//===--------------------------------------------------------------------------===//
// Memory of a kernel
//===--------------------------------------------------------------------------===//

def TensorOp : Dash_Op<"tensor", [Pure]> {
  let summary = "Memory of a kernel, with its role";
  let description = [{
    Replaces, in a kernel, an argument of the function that it is made from, or stands for a region
    of the workspace: the role tells which.

    **Preconditions**: none.
    **Postconditions**: none.
    **Example**: `%q = dash.tensor <"q", side = q, access = read, kind = tile, element = bf16,
    columns = 128> : memref<?x?x?x128xbf16>`, as in test/Entries/outline-workers.mlir.
    **Errors**: `'lse' must be a memref of rank 3 of f32, got 'memref<?x?x?x128xbf16>'`, and the
    same of other tensors with what they are: of a tile as many columns, too.
  }];
  let arguments = (ins Arg<TensorRoleAttr, "the role of the memory">:$role);
  let results = (outs Res<AnyTypeOf<[TensorMemRef, HeadMemRef]>, "the whole tensor">:$result);
  let assemblyFormat = "$role attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHASYNCOPS_TD
