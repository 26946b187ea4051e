//===- DashPipelineOps.td - who does what, through which buffers -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker is a block of threads whose warps have roles. Roles share nothing but channels.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHPIPELINEOPS_TD
#define DASH_IR_DASHPIPELINEOPS_TD

include "dash/IR/DashOpBase.td"
include "mlir/IR/OpAsmInterface.td"

/// The op works on channels, so it needs the `dash.role` whose warps run it.
def InsideRole : NativeOpTrait<"InsideRole"> {
  let cppNamespace = "::mlir::dash";
}

class Dash_Type<string name, string typeMnemonic> : TypeDef<DashDialect, name> {
  let mnemonic = typeMnemonic;
}

def ChannelType : Dash_Type<"Channel", "channel"> {
  let summary = "A ring of slots that each hold the same tiles";
  let description = [{
    The field's asynchronous reference: slots in shared memory, each with a barrier that says it is
    full and one that says it is empty. A slot holds tiles, and indices that say what to do with them.
    Once tiles have layouts, an element says how it lies in the slot. What a role puts or waits for has that
    layout, none (nobody holds it), or one of registers: an operand or a row, which is stored element by
    element. An accumulator lies as threads hold it, so it has the slot's own layout.

    **Example**: `!dash.channel<tensor<64x128xbf16>, tensor<64xf32>, index>`.
    **Errors**
    - `a slot holds ranked tensors of static shape, then indices, got 'f32'`
    - `a slot holds tiles of integers or floats, got 'tensor<64x64xcomplex<f32>>'`
    - `a tile of a slot has at most 2147483647 bytes, got 'tensor<4611686018427387904x8xf32>'`
    - `a slot holds at most 4 indices, got 5`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type", "what one slot holds">:$elements);
  let assemblyFormat = "`<` $elements `>`";
  let extraClassDeclaration = [{
    /// Indices of a slot at most: one load of 16 bytes brings all of them.
    static constexpr unsigned maxIndices = 4;

    /// Bytes of an element of the slot; an index has 4.
    int64_t getElementBytes(unsigned element) const;
    /// The elements that are tiles; the others, indices, follow them.
    unsigned getNumTiles() const;
    unsigned getNumIndices() const { return getElements().size() - getNumTiles(); }
    ArrayRef<Type> getTiles() const { return getElements().take_front(getNumTiles()); }
    /// Bytes of all tiles of a slot.
    int64_t getTilesBytes() const;
  }];
  let genVerifyDecl = 1;
}

def WorkersOp : Dash_Op<"workers", [NoTerminator, OutsideItems, RecursiveMemoryEffects]> {
  let summary = "One resident block of threads a worker, its warps in roles";
  let description = [{
    What `dash.items` computes, split among the roles of each worker: who loads, who multiplies,
    who adds. The body holds channels, then roles; all roles run at once, each from start to end,
    over the same items in the same order.

    `structure` says how consumers share the tensor core (`#dash<structure ...>`), and with that which tiles share a slot,
    when products are issued, and how deep channels are; `alternating` if it is not said.

    `registers` is what a thread has before roles take theirs, `shared_bytes` the shared memory of
    a worker, from byte 0 to the end of its last slot; both are absent until buffers are planned. `trace` is how many records each lane
    of a trace has room for; where it is absent, no trace is kept.

    Warps are numbered in the order of roles. A role of four warps or more starts at a multiple of
    four, because its warpgroups do; a worker has whole warpgroups. Warps in between have no role.

    **Preconditions**
    - Names of channels differ, and so do names of roles.
    - The `dash.items` of all roles agree in everything but their bodies.
    - Slots end within `shared_bytes`, where both are given.

    **Postconditions**: those of the `dash.items` that it was made from.

    **Example**
    ```mlir
    dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
               head_dim_v = 128, sequences = <[128, 256]>>)
      cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
      order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                           worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>)
    !T = memref<?x?x?x128xbf16>
    !C = !dash.channel<tensor<128x128xbf16>, index, index, index>
    func.func @workers(%q: !T, %k: !T, %v: !T, %out: !T) {
      dash.workers registers(168) shared_bytes(33792) {
        %tiles = dash.channel "k" depth(1) at([1024, 16, 20, 24], [32768, 16, 16, 16]) : !C
        dash.role "load" producer warps(1) registers(24) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            %t = dash.load %k[%seq, %head, %kv] : !T -> tensor<128x128xbf16>
            dash.put %t, %seq, %head, %kv into %tiles : tensor<128x128xbf16>, index, index, index into !C
          }
        }
        dash.role "compute" consumer warps(8) registers(240) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            %t, %s, %h, %tile = dash.wait %tiles : !C -> tensor<128x128xbf16>, index, index, index
            %squares = dash.matmul %t, transpose %t
              : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
            dash.release %tiles : !C
            dash.store %squares, %out[%s, %h, %tile] : tensor<128x128xf32> -> !T
          }
        }
      }
      return
    }
    ```

    **Errors**
    - `holds channels, then roles; got 'arith.constant'`
    - `expected a structure (alternating or overlapping), got 'twisted'`
    - `two channels are named 'k'`, and so for roles
    - `needs a role`
    - `role 'compute' must run the items of role 'load'`
    - `'registers' must be from 1 to 65536, got 0`, and `'shared_bytes'` from 0 to 2147483647, `'trace'` from 3 to 16777216
    - `items of role 'load' are loops, and those of role 'compute' are not`
    - `'shared_bytes' is 1024, but slots of channel 'k' end at byte 33792`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<DefaultValuedAttr<WarpStructureAttr, "::mlir::dash::WarpStructure::Alternating">,
        "how consumers share the tensor core">:$structure,
    Arg<OptionalAttr<I64Attr>, "registers a thread at launch">:$registers,
    Arg<OptionalAttr<I64Attr>, "bytes of shared memory">:$shared_bytes,
    Arg<OptionalAttr<I64Attr>, "records of a trace that each lane has room for">:$trace);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`structure` `(` custom<Structure>($structure)^ `)`)? (`registers` `(` $registers^ `)`)?
    (`shared_bytes` `(` $shared_bytes^ `)`)? (`trace` `(` $trace^ `)`)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    auto getChannels() { return getBody().getOps<ChannelOp>(); }
    auto getRoles() { return getBody().getOps<RoleOp>(); }

    /// Warps of a worker, those without a role included.
    int64_t getNumWarps();
    /// The first warp of a role.
    int64_t getFirstWarp(RoleOp role);

    /// What a trace calls the threads that leave records: one in each warp that loads or adds, one in each warpgroup of a consumer. The
    /// first of a role has its name, the others a number behind it.
    ::llvm::SmallVector<std::string> getLanes();
    /// The first lane of a role.
    int64_t getFirstLane(RoleOp role);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def ChannelOp : Dash_Op<"channel", [HasParent<"WorkersOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Slots through which roles hand tiles on";
  let description = [{
    A first-in first-out ring of `depth` slots: `dash.put` acquires an empty slot and fills it,
    `dash.wait` waits for a full one, `dash.release` says that the oldest slot waited for is empty again.
    Element i of slot s lies at byte `offsets[i] + s * strides[i]` of the worker's shared memory. The
    mbarrier that says that slot s is full lies at byte `full + 8 * s` of `barriers(full, empty)`, the one
    that says it is empty at `empty + 8 * s`. All are absent until buffers are planned. `arrivals` says how
    many threads arrive at each of the two in a phase; it is absent until waits are inserted.

    **Preconditions**: offsets and strides have one number for each element of a slot; slots do not
    overlap.
    **Postconditions**: every slot is empty when the worker starts, and when it ends.

    **Example**: `%tiles = dash.channel "q" depth(2) at([66560, 230400], [81920, 256]) :
    !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>`, or as in `dash.workers`.

    **Errors**
    - `depth must be from 1 to 65536, got 0`
    - `needs both offsets and strides, or neither`
    - `needs an offset and a stride for each of the 2 elements of a slot, got 1 and 2`
    - `offsets and strides must be from 0 to 2147483647, got -1024`
    - `element 0 has 16384 bytes, which do not fit a stride of 1024`
    - `needs two barriers, full and empty, got 1`
    - `needs two numbers of arrivals, full and empty, each at least 1, got array<i64: 0, 1>`
  }];
  let arguments = (ins
    Arg<StrAttr, "what the slots hold">:$name,
    Arg<I64Attr, "slots">:$depth,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "first byte of slot 0, of each element">:$offsets,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "bytes from slot to slot, of each element">:$strides,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "bytes of slot 0's mbarriers, full and empty">:$barriers,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "arrivals that complete a phase, full and empty">:$arrivals);
  let results = (outs Res<ChannelType, "the channel">:$result);
  let assemblyFormat = [{
    $name `depth` `(` $depth `)` (`at` `(` $offsets^ `,` $strides `)`)?
    (`barriers` `(` $barriers^ `)`)? (`arrivals` `(` $arrivals^ `)`)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// The role that puts tiles into it, and the one that gets them from it: the first of each; null
    /// if there is none.
    RoleOp getPutter();
    RoleOp getGetter();
    /// The tiles are put and waited for in each step of a walk, not once an item.
    bool isPerStep();
    /// How often an item uses a channel of steps outside of its walk, behind all of its steps.
    int64_t getNumItemUses();
    /// The tiles are copied from memory by hardware, not written by threads.
    bool isLoaded();
    /// The warpgroups of one role hand tiles to each other.
    bool isExchange();
  }];
  let hasVerifier = 1;
}

def RoleOp : Dash_Op<"role", [HasParent<"WorkersOp">, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "What some of a worker's warps do";
  let description = [{
    Warps of a role run its body together, with two exceptions that its ops say: tiles of a role of
    whole warpgroups are split among them by rows, and a role of `warps` warps that each add tiles
    to memory gives warp i the slots i, i + warps, ... of its channel.

    A consumer never reads the order: which step it is at, and what the mask hides there, stand as
    indices in the slots that it waits for. Once a consumer has been split, `warpgroup(i of n)` says whose
    copy it is.

    **Preconditions**: the body is one scheduled `dash.items`, with one `dash.walk` at most, or, once items
    are lowered, loops over them. A consumer uses no argument of its items and walk but what the walk
    carries.
    **Postconditions**: none.

    **Example**: `dash.role "load" producer warps(1) registers(24) { ... }`, as in `dash.workers`.

    **Errors**
    - `warps must be from 1 to 65536, got 0`
    - `registers must be from 1 to 65536, got 0`
    - `holds one scheduled 'dash.items' and nothing else, or loops`
    - `reads the order in a consumer, which is told what to do by indices in slots`, at the op that does
    - `has 2 'dash.walk', expected one at most`
  }];
  let arguments = (ins
    Arg<StrAttr, "its name">:$name,
    Arg<RoleKindAttr, "what it does">:$kind,
    Arg<I64Attr, "warps">:$warps,
    Arg<OptionalAttr<I64Attr>, "registers a thread">:$registers,
    Arg<OptionalAttr<I64Attr>, "the warpgroup of a consumer that runs this copy">:$warpgroup,
    Arg<OptionalAttr<I64Attr>, "of how many">:$warpgroups);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `` $kind `warps` `(` $warps `)` (`registers` `(` $registers^ `)`)?
    (`warpgroup` `(` $warpgroup^ `of` $warpgroups `)`)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    bool isProducer() { return getKind() == RoleKind::Producer; }
    bool isConsumer() { return getKind() == RoleKind::Consumer; }
    bool isReducer() { return getKind() == RoleKind::Reducer; }

    /// The items that it runs; null once they are lowered to loops.
    ItemsOp getItems();
    /// The walk over the steps of an item; null if there is none.
    WalkOp getWalk();
    /// Warpgroups that split the role's tiles; 1 for a role of fewer than four warps.
    int64_t getNumWarpgroups() { return std::max<int64_t>(1, getWarps() / 4); }
  }];
  let hasVerifier = 1;
}

def PutOp : Dash_StagedOp<"put", [SlotAccessOp, SyncOp, InsideItems, InsideRole, AttrSizedOperandSegments]> {
  let summary = "Fill the next slot of a channel";
  let description = [{
    Waits until the slot is empty and writes the tiles into it. Tiles that come from `dash.load` are
    copied by hardware, which also says when the slot is full; others are written by the role's
    threads, and are seen only after `dash.commit`.

    **Preconditions**: the tiles are those of a slot; either all of them are loaded or none.
    **Postconditions**: the slot is the role's until it is full.

    **Example**: `dash.put %t into %tiles : tensor<128x128xbf16> into
    !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**
    - `elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'`
    - `tiles must all come from 'dash.load', or none`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<Variadic<SlotElement>, "what the slot holds: tiles, then indices">:$elements,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let assemblyFormat = [{
    $elements `into` $channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict
    `:` type($elements) `into` type($channel)
  }];
  let extraClassDeclaration = [{
    /// Hardware copies the tiles from memory, and says when the slot is full.
    bool isLoad();
    /// The elements that are tiles; indices follow them.
    OperandRange getTiles() { return getElements().take_front(getChannel().getType().getNumTiles()); }
    OperandRange getIndices() { return getElements().drop_front(getChannel().getType().getNumTiles()); }
  }];
  let hasVerifier = 1;
}

def PieceOp : Dash_Op<"piece", [Pure, InsideRole]> {
  let summary = "A piece of a tile that is larger than a slot";
  let description = [{
    A tile of `n * r` rows leaves in n pieces of r rows, which have all its columns: piece c has the columns
    `[c * w, (c + 1) * w)` of the tile, w being an n-th of them, and each r rows of these lie beside those before:
    `result[i, b * w + j] = tile[b * r + i, c * w + j]`. So each warpgroup writes the rows that it holds, in the registers in
    which it holds them, and all of them write a part of each piece.

    **Preconditions**: stands in a consumer.
    **Postconditions**: none.
    **Example**: `%piece = dash.piece %dk[1] : tensor<128x128xf32> to tensor<64x128xf32>`, as in
    test/Pipeline/assign-roles-parts.mlir.
    **Errors**
    - `cuts tiles by rows: 128x128 is no multiple of 96x128`
    - `piece must be from 0 to 1, got 2`
    - `each warpgroup must hold the rows of one block: #dash.fragment<accumulator, rows by 2> does not give
      #dash.fragment<accumulator, columns by 4>`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins Arg<SumTile, "the tile">:$tile, Arg<I64Attr, "which piece">:$piece);
  let results = (outs Res<SumTile, "the piece">:$result);
  let assemblyFormat = "$tile `[` $piece `]` attr-dict `:` type($tile) `to` type($result)";
  let hasVerifier = 1;
}

def CommitOp : Dash_StagedOp<"commit", [SyncOp, InsideItems, InsideRole]> {
  let summary = "Say that the slot that was put last is full";
  let description = [{
    Makes what threads have written visible to whoever waits for the slot.

    **Preconditions**: the role has put a slot that it has not committed.
    **Postconditions**: the slot is full.

    **Example**
    ```mlir
    dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
               head_dim_v = 128, sequences = <[128, 256]>>)
      cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
      order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                           worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>)
    !T = memref<?x?x?x128xbf16>
    !C = !dash.channel<tensor<64x128xf32>>
    func.func @commit(%q: !T, %k: !T, %v: !T) {
      %t = arith.constant dense<1.0> : tensor<64x128xf32>
      dash.workers {
        %tiles = dash.channel "ones" depth(2) : !C
        dash.role "compute" consumer warps(8) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            dash.put %t into %tiles : tensor<64x128xf32> into !C
            dash.commit %tiles : !C
          }
        }
      }
      return
    }
    ```

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let assemblyFormat = "$channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel)";
  let extraClassDefinition = Syncs<"Sync::arriveAt(BarrierSide::Full, $use)">.said;
}

def WaitOp : Dash_StagedOp<"wait", [SlotAccessOp, SyncOp, InsideItems, InsideRole,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Wait for the next full slot of a channel";
  let description = [{
    The tiles of the oldest full slot that this role has not waited for yet.

    **Preconditions**: the results are the tiles of a slot.
    **Postconditions**: the tiles may be used until `dash.release`.

    **Example**: `%t = dash.wait %tiles : !dash.channel<tensor<128x128xbf16>> ->
    tensor<128x128xbf16>`, as in `dash.workers`.

    **Errors**
    - `elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let results = (outs Res<Variadic<SlotElement>, "what the slot holds: tiles, then indices">:$elements);
  let assemblyFormat = [{
    $channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel) `->` type($elements)
  }];
  let extraClassDeclaration = [{
    /// The elements that are tiles; indices follow them.
    ResultRange getTiles() { return getElements().take_front(getChannel().getType().getNumTiles()); }
    ResultRange getIndices() { return getElements().drop_front(getChannel().getType().getNumTiles()); }
  }];
  let hasVerifier = 1;
  let extraClassDefinition = Syncs<"Sync::waitFor(BarrierSide::Full, $use)">.said;
}

def ReleaseOp : Dash_StagedOp<"release", [SyncOp, InsideItems, InsideRole]> {
  let summary = "Say that the oldest slot waited for is empty again";
  let description = [{
    Waits until everything of this role that reads the slot has done so.

    **Preconditions**: the role has waited for a slot that it has not released.
    **Postconditions**: the slot is empty once all warps of the role have come here.

    **Example**: `dash.release %tiles : !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let assemblyFormat = "$channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel)";
  let extraClassDefinition = Syncs<"Sync::arriveAt(BarrierSide::Empty, $use)">.said;
}

def TakeTensorCoreOp
    : Dash_StagedOp<"take_tensor_core", [SyncOp, InsideItems, InsideRole, MemoryEffects<[MemWrite]>]> {
  let summary = "Wait for this warpgroup's turn on the tensor core";
  let description = [{
    Warpgroups of a role alternate, from the first to the last and round again: one multiplies while
    the others do element-wise work. A role of one warpgroup never waits.

    **Preconditions**: the warpgroup does not have the turn.
    **Postconditions**: it does.

    **Example**
    ```mlir
    dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
               head_dim_v = 128, sequences = <[128, 256]>>)
      cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
      order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                           worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>)
    !T = memref<?x?x?x128xbf16>
    func.func @take_turns(%q: !T, %k: !T, %v: !T) {
      dash.workers {
        dash.role "compute" consumer warps(8) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            dash.walk (%q_head, %qi, %turn) {
              dash.take_tensor_core
              dash.give_tensor_core
            }
          }
        }
      }
      return
    }
    ```

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins StageArg:$stage);
  let assemblyFormat = "(`stage` `(` $stage^ `)`)? attr-dict";
  let extraClassDefinition = Syncs<"Sync{SyncKind::TakeTensorCore}">.said;
}

def GiveTensorCoreOp
    : Dash_StagedOp<"give_tensor_core", [SyncOp, InsideItems, InsideRole, MemoryEffects<[MemWrite]>]> {
  let summary = "Give the tensor core to the next warpgroup";
  let description = [{
    Everything meant to run in the turn has been issued.

    **Preconditions**: the warpgroup has the turn.
    **Postconditions**: the next one has it.

    **Example**: `dash.give_tensor_core`, as in `dash.take_tensor_core`.

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins StageArg:$stage);
  let assemblyFormat = "(`stage` `(` $stage^ `)`)? attr-dict";
  let extraClassDefinition = Syncs<"Sync{SyncKind::GiveTensorCore}">.said;
}

#endif // DASH_IR_DASHPIPELINEOPS_TD
