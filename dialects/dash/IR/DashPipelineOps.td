//===- DashPipelineOps.td - who does what, through which buffers -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker is a block of threads whose warps have roles. Roles share nothing but channels.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHPIPELINEOPS_TD
#define DASH_IR_DASHPIPELINEOPS_TD

include "dash/IR/DashOpBase.td"
include "mlir/IR/OpAsmInterface.td"

class Dash_Type<string name, string typeMnemonic> : TypeDef<DashDialect, name> {
  let mnemonic = typeMnemonic;
}

def ChannelType : Dash_Type<"Channel", "channel"> {
  let summary = "A ring of slots that each hold the same tiles";
  let description = [{
    The field's asynchronous reference: slots in shared memory, each with a barrier that says it is
    full and one that says it is empty.

    **Example**: `!dash.channel<tensor<64x128xbf16>, tensor<64xf32>>`.
    **Errors**: `a slot holds ranked tensors of static shape, got 'f32'`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type", "tiles of one slot">:$tiles);
  let assemblyFormat = "`<` $tiles `>`";
  let genVerifyDecl = 1;
}

def WorkersOp : Dash_Op<"workers", [NoTerminator, OutsideItems, RecursiveMemoryEffects]> {
  let summary = "One resident block of threads a worker, its warps in roles";
  let description = [{
    What `dash.items` computes, split among the roles of each worker: who loads, who multiplies,
    who adds. The body holds channels, then roles; every role runs at once, each from start to end,
    over the same items in the same order.

    `registers` is what a thread has before roles take theirs, `shared_bytes` the shared memory of
    all channels; both are absent until buffers are planned.
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "registers a thread at launch">:$registers,
    Arg<OptionalAttr<I64Attr>, "bytes of shared memory">:$shared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`registers` `(` $registers^ `)`)? (`shared_bytes` `(` $shared_bytes^ `)`)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def ChannelOp : Dash_Op<"channel", [HasParent<"WorkersOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Slots through which roles hand tiles on";
  let description = [{
    A first-in first-out ring of `depth` slots: `dash.put` waits for an empty slot and fills it,
    `dash.get` waits for a full one, `dash.release` says that the oldest slot got is empty again.
    Tile i of slot s lies at byte `offsets[i] + s * strides[i]` of the worker's shared memory; both are
    absent until buffers are planned.
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
  let hasVerifier = 1;
}

def RoleOp : Dash_Op<"role", [HasParent<"WorkersOp">, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "What some of a worker's warps do";
  let description = [{
    Warps of a role run its body together, with two exceptions that its ops say: tiles of a role of
    whole warpgroups are split among them, and a role of `warps` warps that each add tiles to memory
    gives warp i the slots i, i + warps, … of its channel.
  }];
  let arguments = (ins
    Arg<StrAttr, "what it does">:$name,
    Arg<I64Attr, "warps">:$warps,
    Arg<OptionalAttr<I64Attr>, "registers a thread">:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `(` $warps `)` (`registers` `(` $registers^ `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def PutOp : Dash_Op<"put", [InsideItems]> {
  let summary = "Fill the next slot of a channel";
  let description = [{
    Waits until the slot is empty and writes the tiles into it. Tiles that come from `dash.load` are
    copied by hardware, which also says when the slot is full; others are written by the role's
    threads, and are seen only after `dash.publish`.
  }];
  let arguments = (ins
    Arg<Variadic<Tile>, "tiles of the slot">:$tiles,
    Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = [{
    $tiles `into` $channel attr-dict `:` type($tiles) `into` type($channel)
  }];
  let hasVerifier = 1;
}

def PublishOp : Dash_Op<"publish", [InsideItems]> {
  let summary = "Say that the slot that was put last is full";
  let description = [{ Makes what threads have written visible to whoever gets the slot. }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def GetOp : Dash_Op<"get", [InsideItems]> {
  let summary = "Wait for the next full slot of a channel";
  let description = [{ The tiles may be used until `dash.release`. }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemRead, MemWrite]>:$channel);
  let results = (outs Res<Variadic<Tile>, "tiles of the slot">:$tiles);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($tiles)";
  let hasVerifier = 1;
}

def ReleaseOp : Dash_Op<"release", [InsideItems]> {
  let summary = "Say that the oldest slot got is empty again";
  let description = [{ Waits until everything that reads the slot has done so. }];
  let arguments = (ins Arg<ChannelType, "the channel", [MemWrite]>:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def TakeTensorCoreOp : Dash_Op<"take_tensor_core", [InsideItems, MemoryEffects<[MemWrite]>]> {
  let summary = "Wait for this warpgroup's turn on the tensor core";
  let description = [{
    Warpgroups of a role alternate: one multiplies while the other does element-wise work.
  }];
  let assemblyFormat = "attr-dict";
}

def GiveTensorCoreOp : Dash_Op<"give_tensor_core", [InsideItems, MemoryEffects<[MemWrite]>]> {
  let summary = "Give the tensor core to the next warpgroup";
  let description = [{ Everything meant to run in the turn has been issued. }];
  let assemblyFormat = "attr-dict";
}

#endif // DASH_IR_DASHPIPELINEOPS_TD
