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
    full and one that says it is empty.

    **Example**: `!dash.channel<tensor<64x128xbf16>, tensor<64xf32>>`.
    **Errors**
    - `a slot holds ranked tensors of static shape, got 'f32'`
    - `a slot holds tiles of integers or floats, got 'tensor<64x64xcomplex<f32>>'`
    - `a tile of a slot has at most 2147483647 bytes, got 'tensor<4611686018427387904x8xf32>'`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type", "tiles of one slot">:$tiles);
  let assemblyFormat = "`<` $tiles `>`";
  let extraClassDeclaration = [{
    /// Bytes of a tile of the slot.
    int64_t getTileBytes(unsigned tile) const;
  }];
  let genVerifyDecl = 1;
}

def WorkersOp : Dash_Op<"workers", [NoTerminator, OutsideItems, RecursiveMemoryEffects]> {
  let summary = "One resident block of threads a worker, its warps in roles";
  let description = [{
    What `dash.items` computes, split among the roles of each worker: who loads, who multiplies,
    who adds. The body holds channels, then roles; all roles run at once, each from start to end,
    over the same items in the same order.

    `registers` is what a thread has before roles take theirs, `shared_bytes` the shared memory of
    a worker, from byte 0 to the end of its last slot; both are absent until buffers are planned.

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
    !C = !dash.channel<tensor<128x128xbf16>>
    func.func @workers(%q: !T, %k: !T, %v: !T, %out: !T) {
      dash.workers registers(168) shared_bytes(33792) {
        %tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
        dash.role "load" warps(1) registers(24) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            %t = dash.load %k[%seq, %head, %kv] : !T -> tensor<128x128xbf16>
            dash.put %t into %tiles : tensor<128x128xbf16> into !C
          }
        }
        dash.role "compute" warps(8) registers(240) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            %t = dash.get %tiles : !C -> tensor<128x128xbf16>
            %squares = dash.matmul %t, transpose %t
              : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
            dash.release %tiles : !C
            dash.store %squares, %out[%seq, %head, %kv] : tensor<128x128xf32> -> !T
          }
        }
      }
      return
    }
    ```

    **Errors**
    - `holds channels, then roles; got 'arith.constant'`
    - `two channels are named 'k'`, and so for roles
    - `needs a role`
    - `role 'compute' must run the items of role 'load'`
    - `'registers' must be from 1 to 65536, got 0`, and `'shared_bytes'` from 0 to 2147483647
    - `'shared_bytes' is 1024, but slots of channel 'k' end at byte 33792`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "registers a thread at launch">:$registers,
    Arg<OptionalAttr<I64Attr>, "bytes of shared memory">:$shared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`registers` `(` $registers^ `)`)? (`shared_bytes` `(` $shared_bytes^ `)`)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    auto getChannels() { return getBody().getOps<ChannelOp>(); }
    auto getRoles() { return getBody().getOps<RoleOp>(); }

    /// Warps of a worker, those without a role included.
    int64_t getNumWarps();
    /// The first warp of a role.
    int64_t getFirstWarp(RoleOp role);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def ChannelOp : Dash_Op<"channel", [HasParent<"WorkersOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Slots through which roles hand tiles on";
  let description = [{
    A first-in first-out ring of `depth` slots: `dash.put` waits for an empty slot and fills it,
    `dash.get` waits for a full one, `dash.release` says that the oldest slot got is empty again.
    Tile i of slot s lies at byte `offsets[i] + s * strides[i]` of the worker's shared memory; both
    are absent until buffers are planned.

    **Preconditions**: offsets and strides have one number for each tile of a slot; slots do not
    overlap.
    **Postconditions**: every slot is empty when the worker starts, and when it ends.

    **Example**: `%tiles = dash.channel "q" depth(2) at([66560, 230400], [81920, 256]) :
    !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>`, or as in `dash.workers`.

    **Errors**
    - `depth must be from 1 to 65536, got 0`
    - `needs both offsets and strides, or neither`
    - `needs an offset and a stride for each of the 2 tiles of a slot, got 1 and 2`
    - `offsets and strides must be from 0 to 2147483647, got -1024`
    - `tile 0 has 16384 bytes, which do not fit a stride of 1024`
  }];
  let arguments = (ins
    Arg<StrAttr, "what the slots hold">:$name,
    Arg<I64Attr, "slots">:$depth,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "first byte of slot 0, of each tile">:$offsets,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "bytes from slot to slot, of each tile">:$strides);
  let results = (outs Res<ChannelType, "the channel">:$result);
  let assemblyFormat = [{
    $name `depth` `(` $depth `)` (`at` `(` $offsets^ `,` $strides `)`)? attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// The role that puts tiles into it, and the one that gets them from it: the first of each; null
    /// if there is none.
    RoleOp getPutter();
    RoleOp getGetter();
    /// The tiles are put and got in each step of a walk, not once an item.
    bool isPerStep();
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

    Ops of its walk may carry `dash.stage` and `dash.order`. A turn of the loop issues the ops in the
    order of `dash.order`, each for a step of its own: an op of stage 0 works on the next step while
    one of stage 1 works on this step and one of stage 2 on the step before.

    **Preconditions**: the body is one scheduled `dash.items`, with one `dash.walk` at most.
    **Postconditions**: none.

    **Example**: `dash.role "load" warps(1) registers(24) { ... }`, as in `dash.workers`.

    **Errors**
    - `warps must be from 1 to 65536, got 0`
    - `registers must be from 1 to 65536, got 0`
    - `holds one scheduled 'dash.items' and nothing else`
    - `has 2 'dash.walk', expected one at most`
  }];
  let arguments = (ins
    Arg<StrAttr, "what it does">:$name,
    Arg<I64Attr, "warps">:$warps,
    Arg<OptionalAttr<I64Attr>, "registers a thread">:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `(` $warps `)` (`registers` `(` $registers^ `)`)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    ItemsOp getItems();
    /// The walk over the steps of an item; null if there is none.
    WalkOp getWalk();
    /// Warpgroups that split the role's tiles; 1 for a role of fewer than four warps.
    int64_t getNumWarpgroups() { return std::max<int64_t>(1, getWarps() / 4); }
  }];
  let hasVerifier = 1;
}

def PutOp : Dash_Op<"put", [InsideItems, InsideRole]> {
  let summary = "Fill the next slot of a channel";
  let description = [{
    Waits until the slot is empty and writes the tiles into it. Tiles that come from `dash.load` are
    copied by hardware, which also says when the slot is full; others are written by the role's
    threads, and are seen only after `dash.publish`.

    **Preconditions**: the tiles are those of a slot; either all of them are loaded or none.
    **Postconditions**: the slot is the role's until it is full.

    **Example**: `dash.put %t into %tiles : tensor<128x128xbf16> into
    !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**
    - `tiles must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'`
    - `tiles must all come from 'dash.load', or none`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins
    Arg<Variadic<Tile>, "tiles of the slot">:$tiles,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = [{
    $tiles `into` $channel attr-dict `:` type($tiles) `into` type($channel)
  }];
  let extraClassDeclaration = [{
    /// Hardware copies the tiles from memory, and says when the slot is full.
    bool isLoad();
  }];
  let hasVerifier = 1;
}

def PublishOp : Dash_Op<"publish", [InsideItems, InsideRole]> {
  let summary = "Say that the slot that was put last is full";
  let description = [{
    Makes what threads have written visible to whoever gets the slot.

    **Preconditions**: the role has put a slot that it has not published.
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
    func.func @publish(%q: !T, %k: !T, %v: !T) {
      %t = arith.constant dense<1.0> : tensor<64x128xf32>
      dash.workers {
        %tiles = dash.channel "ones" depth(2) : !C
        dash.role "compute" warps(8) {
          dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
              tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
            dash.put %t into %tiles : tensor<64x128xf32> into !C
            dash.publish %tiles : !C
          }
        }
      }
      return
    }
    ```

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def GetOp : Dash_Op<"get", [InsideItems, InsideRole,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Wait for the next full slot of a channel";
  let description = [{
    The tiles of the oldest full slot that this role has not got yet.

    **Preconditions**: the results are the tiles of a slot.
    **Postconditions**: the tiles may be used until `dash.release`.

    **Example**: `%t = dash.get %tiles : !dash.channel<tensor<128x128xbf16>> ->
    tensor<128x128xbf16>`, as in `dash.workers`.

    **Errors**
    - `tiles must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'`
    - `stands inside 'dash.role' only: channels connect roles`
  }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel);
  let results = (outs Res<Variadic<Tile>, "tiles of the slot">:$tiles);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($tiles)";
  let hasVerifier = 1;
}

def ReleaseOp : Dash_Op<"release", [InsideItems, InsideRole]> {
  let summary = "Say that the oldest slot got is empty again";
  let description = [{
    Waits until everything of this role that reads the slot has done so.

    **Preconditions**: the role has got a slot that it has not released.
    **Postconditions**: the slot is empty once all warps of the role have come here.

    **Example**: `dash.release %tiles : !dash.channel<tensor<128x128xbf16>>`, as in `dash.workers`.

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def TakeTensorCoreOp
    : Dash_Op<"take_tensor_core", [InsideItems, InsideRole, MemoryEffects<[MemWrite]>]> {
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
        dash.role "compute" warps(8) {
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
  let assemblyFormat = "attr-dict";
}

def GiveTensorCoreOp
    : Dash_Op<"give_tensor_core", [InsideItems, InsideRole, MemoryEffects<[MemWrite]>]> {
  let summary = "Give the tensor core to the next warpgroup";
  let description = [{
    Everything meant to run in the turn has been issued.

    **Preconditions**: the warpgroup has the turn.
    **Postconditions**: the next one has it.

    **Example**: `dash.give_tensor_core`, as in `dash.take_tensor_core`.

    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let assemblyFormat = "attr-dict";
}

#endif // DASH_IR_DASHPIPELINEOPS_TD
