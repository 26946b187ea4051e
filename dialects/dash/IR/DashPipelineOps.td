//===- DashPipelineOps.td - workers, roles and channels ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker is a block of threads whose warps have roles. Roles share only channels.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHPIPELINEOPS_TD
#define DASH_IR_DASHPIPELINEOPS_TD

include "dash/IR/DashOpBase.td"
include "mlir/IR/OpAsmInterface.td"

/// The op works on channels, so it needs a `dash.role` whose warps run it.
def InsideRole : NativeOpTrait<"InsideRole"> {
  let cppNamespace = "::mlir::dash";
}

class Dash_Type<string name, string typeMnemonic> : TypeDef<DashDialect, name> {
  let mnemonic = typeMnemonic;
}

def ChannelType : Dash_Type<"Channel", "channel"> {
  let summary = "A ring of slots that each hold the same tiles";
  let description = [{
    The field's asynchronous reference: slots in shared memory, each with one barrier for full and
    one for empty. A slot holds tiles, and indices that say what to do with them. Once tiles have
    layouts, an element states its layout in the slot. A role puts and waits for tiles with that
    layout, without a layout (no thread holds the tile), or with one of registers: an operand or
    numbers per column, which are stored element by element. An accumulator is stored in the layout
    of its threads, so it has the slot's own layout.

    **Example**: `!dash.channel<tensor<64x128xbf16>, tensor<64xf32>, index>`.
    **Errors**
    - `a slot holds ranked tensors of static shape, then indices, got 'f32'`
    - `a slot holds tiles of integers or floats, got 'tensor<64x64xcomplex<f32>>'`
    - `a tile of a slot has at most 2147483647 bytes, got 'tensor<4611686018427387904x8xf32>'`
    - `a slot holds at most 4 indices, got 5`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type", "the content of one slot">:$elements);
  let assemblyFormat = "`<` $elements `>`";
  let extraClassDeclaration = [{
    /// The most indices of a slot: one load of 16 bytes reads all of them.
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
  let summary = "Workers: one resident block of threads each, with roles for its warps";
  let description = [{
    The computation of `dash.items`, split among the roles of each worker: some load, some multiply,
    some add. The body holds channels, then roles. All roles run at once, each from start to end,
    over the same items in the same order.

    `structure` states how consumers share the tensor core (`#dash<structure ...>`). This also
    determines which tiles share a slot, when products are issued, and how deep channels are. The
    default is `alternating`.

    `registers` is the number that a thread has before roles take theirs, `shared_bytes` the shared
    memory of a worker, from byte 0 to the end of its last slot; both are absent until buffers are
    planned. `trace` is the number of records that each lane of a trace has room for; if it is
    absent, there is no trace. The second of each `trace_every` items of a worker's list has
    records, and so has an only one. With `hands_out` no worker has a list of its own: the role that
    loads draws one item after the other from the list of all (`dash-hand-out-items`). With
    `begins_ahead` a consumer issues the first product of the next item beside the last one of this
    item (`dash-begin-items`). So each item has a step, if only of a tile behind all rows, and
    behind the last item of a list there is one more, of such tiles alone.

    Warps are numbered in the order of roles. A role of four warps or more starts at a multiple of
    four, because its warpgroups do; a worker has whole warpgroups. Warps in between have no role.

    **Preconditions**
    - Names of channels differ, and so do names of roles.
    - The `dash.items` of all roles agree in everything but their bodies.
    - Slots end within `shared_bytes`, if both are given.

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
            dash.put %t, %seq, %head, %kv into %tiles
                : tensor<128x128xbf16>, index, index, index into !C
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
    - `'registers' must be from 1 to 65536, got 0`, and `'shared_bytes'` from 0 to 2147483647,
      `'trace'` from 3 to 16777216, `'trace_every'` from 1 to 1048576
    - `items of role 'load' are loops, and those of role 'compute' are not`
    - `'shared_bytes' is 1024, but slots of channel 'k' end at byte 33792`
    - `hands out items, which one role loads and the others are told of; got producers 'load-q' and
      'load-kv'`, and so for `a reducer, 'reduce'` and `no producer`
    - `begins items ahead, which items of batches that own q tiles do; those of role 'load' are of
      others`, and `begins items ahead, and has no consumer to do so`
    - `hands out items, and a trace says what each worker's own list has, so none is traced`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<DefaultValuedAttr<WarpStructureAttr, "::mlir::dash::WarpStructure::Alternating">,
        "how consumers share the tensor core">:$structure,
    Arg<OptionalAttr<I64Attr>, "registers of a thread at launch">:$registers,
    Arg<OptionalAttr<I64Attr>, "bytes of shared memory">:$shared_bytes,
    Arg<OptionalAttr<I64Attr>, "trace records that each lane has room for">:$trace,
    Arg<DefaultValuedAttr<I64Attr, "1">, "one item in so many is traced">:$trace_every,
    Arg<UnitAttr, "items are drawn while the program runs">:$hands_out,
    Arg<UnitAttr, "an item begins beside the end of the one before">:$begins_ahead);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`structure` `(` custom<Structure>($structure)^ `)`)? (`registers` `(` $registers^ `)`)?
    (`shared_bytes` `(` $shared_bytes^ `)`)? (`trace` `(` $trace^ `)`)?
    (`trace_every` `(` $trace_every^ `)`)? (`hands_out` $hands_out^)?
    (`begins_ahead` $begins_ahead^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    auto getChannels() { return getBody().getOps<ChannelOp>(); }
    auto getRoles() { return getBody().getOps<RoleOp>(); }

    /// Warps of a worker, including those without a role.
    int64_t getNumWarps();
    /// The first warp of a role.
    int64_t getFirstWarp(RoleOp role);

    /// The names of the threads that write trace records: one thread in each warp that loads or
    /// adds, one in each warpgroup of a consumer. The first of a role has the role's name, the
    /// others have a number added.
    ::llvm::SmallVector<std::string> getLanes();
    /// The first lane of a role.
    int64_t getFirstLane(RoleOp role);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def ChannelOp : Dash_Op<"channel", [HasParent<"WorkersOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Slots through which roles pass tiles on";
  let description = [{
    A first-in first-out ring of `depth` slots: `dash.put` acquires an empty slot and fills it,
    `dash.wait` waits for a full one, and `dash.release` gives the oldest one back. Each role that
    waits gets every slot, which is empty when all have given it back. Element i of slot s is at
    byte `offsets[i] + s * strides[i]` of shared memory. The mbarrier for full of slot s is at byte
    `full + 8 * s` of `barriers(full, empty)`, that for empty at `empty + 8 * s`. All are absent
    until buffers are planned. `arrivals` is the number of threads that arrive at each of the two in
    a phase; it is absent until waits are inserted. If a channel is `held`, consumers keep its tile
    in registers for an item, as the left factor of products (`--dash-hold-factors`). Slots that no
    role fills stay empty: only results of one role leave through them (`dash.store`). A result may
    also leave through the slot of a loaded tile of its item, before its role gives that back.

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
    Arg<StrAttr, "the content of the slots">:$name,
    Arg<I64Attr, "slots">:$depth,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "first byte of slot 0, of each element">:$offsets,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "bytes from slot to slot, of each element">:$strides,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "bytes of slot 0's mbarriers, full and empty">:$barriers,
    Arg<OptionalAttr<DenseI64ArrayAttr>,
    "arrivals that complete a phase, full and empty">:$arrivals,
    Arg<UnitAttr, "consumers hold its tile in registers for an item">:$held);
  let results = (outs Res<ChannelType, "the channel">:$result);
  let assemblyFormat = [{
    $name `depth` `(` $depth `)` (`held` $held^)? (`at` `(` $offsets^ `,` $strides `)`)?
    (`barriers` `(` $barriers^ `)`)? (`arrivals` `(` $arrivals^ `)`)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// The role that puts tiles into it, and the one that gets them from it; the first one each, or
    /// null.
    RoleOp getPutter();
    RoleOp getGetter();
    /// The tiles are put and waited for in each step of a walk, not once an item.
    bool isPerStep();
    /// How often an item uses a channel of steps outside its walk, after all of its steps.
    int64_t getNumItemUses();
    /// The tiles are copied from memory by hardware, not written by threads.
    bool isLoaded();
    /// The warpgroups of one role pass tiles to each other.
    bool isExchange();
    /// No role fills its slots or waits for them: only results leave through them.
    bool isWayOut();
    /// Consumers pass what their threads hold to other consumers: no copy and no product reads it.
    bool passesRegisters();
  }];
  let hasVerifier = 1;
}

def RoleOp : Dash_Op<"role", [HasParent<"WorkersOp">, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "The program of some of a worker's warps";
  let description = [{
    Warps of a role run its body together, with two exceptions that its ops state. A role of whole
    warpgroups splits tiles among them. In a role of `warps` warps that each add tiles to memory,
    warp i has the slots i, i + warps, ... of its channel.

    A consumer never reads the order: the slots that it waits for carry its step, and what the mask
    hides there, as indices. Once a consumer has been split, `warpgroup(i of n)` names the warpgroup
    of this copy.

    **Preconditions**: the body is one scheduled `dash.items`, with at most one `dash.walk`, or,
    once items are lowered, loops over them. A consumer only uses the values that the walk carries,
    and no arguments of its items and walk.
    **Postconditions**: none.

    **Example**: `dash.role "load" producer warps(1) registers(24) { ... }`, as in `dash.workers`.

    **Errors**
    - `warps must be from 1 to 65536, got 0`
    - `registers must be from 1 to 65536, got 0`
    - `holds one scheduled 'dash.items' and nothing else, or loops`
    - `reads the order in a consumer, which is told what to do by indices in slots`, at the op that
      does
    - `has 2 'dash.walk', expected one at most`
  }];
  let arguments = (ins
    Arg<StrAttr, "its name">:$name,
    Arg<RoleKindAttr, "its kind of work">:$kind,
    Arg<I64Attr, "warps">:$warps,
    Arg<OptionalAttr<I64Attr>, "registers of a thread">:$registers,
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

def PutOp : Dash_StagedOp<"put", [SlotAccessOp, SyncOp, InsideItems, InsideRole,
    AttrSizedOperandSegments]> {
  let summary = "Fill the next slot of a channel";
  let description = [{
    Waits until the slot is empty, and writes the tiles into it. Hardware copies tiles that come
    from `dash.load`, and also signals when the slot is full. The role's threads write other tiles,
    which are visible only after `dash.commit`.

    **Preconditions**: the tiles are those of a slot; either all of them are loaded or none.
    **Postconditions**: the slot is the role's until it is full.

    **Example**: `dash.put %t into %tiles : tensor<128x128xbf16> into
    !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**
    - `elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got
      'tensor<64x128xbf16>'`
    - `tiles must all come from 'dash.load', or none`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<Variadic<SlotElement>, "the content of the slot: tiles, then indices">:$elements,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let assemblyFormat = [{
    $elements `into` $channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict
    `:` type($elements) `into` type($channel)
  }];
  let extraClassDeclaration = [{
    /// Hardware copies the tiles from memory, and signals when the slot is full.
    bool isLoad();
    /// The elements that are tiles; indices follow them.
    OperandRange getTiles() {
      return getElements().take_front(getChannel().getType().getNumTiles());
    }
    OperandRange getIndices() {
      return getElements().drop_front(getChannel().getType().getNumTiles());
    }
  }];
  let hasVerifier = 1;
}

def PieceOp : Dash_Op<"piece", [Pure, InsideRole]> {
  let summary = "A piece of a tile that is larger than a slot";
  let description = [{
    A tile of `n * r` rows leaves in n pieces of r rows, which together have all its columns. Piece
    c has the columns `[c * w, (c + 1) * w)` of the tile, where w is an n-th of them, and each r
    rows of these follow the r rows before: `result[i, b * w + j] = tile[b * r + i, c * w + j]`. So
    each warpgroup writes its own rows, from the registers that hold them, and every warpgroup
    writes a part of each piece.

    **Preconditions**: stands in a consumer.
    **Postconditions**: none.
    **Example**: `%piece = dash.piece %dk[1] : tensor<128x128xf32> to tensor<64x128xf32>`, as in
    test/Pipeline/assign-roles-parts.mlir.
    **Errors**
    - `cuts tiles by rows: 128x128 is no multiple of 96x128`
    - `piece must be from 0 to 1, got 2`
    - `each warpgroup must hold the rows of one block: #dash.fragment<accumulator, rows by 2> does
      not give #dash.fragment<accumulator, columns by 4>`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins Arg<SumTile, "the tile">:$tile, Arg<I64Attr, "which piece">:$piece);
  let results = (outs Res<SumTile, "the piece">:$result);
  let assemblyFormat = "$tile `[` $piece `]` attr-dict `:` type($tile) `to` type($result)";
  let hasVerifier = 1;
}

def CommitOp : Dash_StagedOp<"commit", [SyncOp, InsideItems, InsideRole]> {
  let summary = "Mark the slot that was put last as full";
  let description = [{
    Makes the threads' writes visible to roles that wait for the slot.

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
  let assemblyFormat =
      "$channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel)";
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
    - `elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got
      'tensor<64x128xbf16>'`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let results = (outs Res<Variadic<SlotElement>,
      "the content of the slot: tiles, then indices">:$elements);
  let assemblyFormat = [{
    $channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel) `->`
    type($elements)
  }];
  let extraClassDeclaration = [{
    /// The elements that are tiles; indices follow them.
    ResultRange getTiles() {
      return getElements().take_front(getChannel().getType().getNumTiles());
    }
    ResultRange getIndices() {
      return getElements().drop_front(getChannel().getType().getNumTiles());
    }
    /// Whether a consumer reads the tile into registers where it waits for it: rows, and what other
    /// threads held. Products read any other in its slot.
    static bool isReadByThreads(::mlir::RankedTensorType tile) {
      return tile.getRank() == 1 || tile.getElementType().isF32();
    }
  }];
  let hasVerifier = 1;
  let extraClassDefinition = Syncs<"Sync::waitFor(BarrierSide::Full, $use)">.said;
}

def ReleaseOp : Dash_StagedOp<"release", [SyncOp, InsideItems, InsideRole]> {
  let summary = "Mark the oldest slot waited for as empty again";
  let description = [{
    Waits until every op of this role that reads the slot has done so.

    **Preconditions**: the role has waited for a slot that it has not released.
    **Postconditions**: the slot is empty once all warps of the role have executed this.

    **Example**: `dash.release %tiles : !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins
    Arg<ChannelType, "the channel", [MemWrite]>:$channel,
    Arg<Optional<Index>, "number of the use, once walks are peeled">:$use,
    StageArg:$stage);
  let assemblyFormat =
      "$channel (`[` $use^ `]`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($channel)";
  let extraClassDefinition = Syncs<"Sync::arriveAt(BarrierSide::Empty, $use)">.said;
}

def TakeTensorCoreOp
    : Dash_StagedOp<"take_tensor_core", [SyncOp, InsideItems, InsideRole,
        MemoryEffects<[MemWrite]>]> {
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
    : Dash_StagedOp<"give_tensor_core", [SyncOp, InsideItems, InsideRole,
        MemoryEffects<[MemWrite]>]> {
  let summary = "Give the tensor core to the next warpgroup";
  let description = [{
    Every product of the turn has been issued.

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
