//===- DashOpBase.td - what the ops of dash share ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The base class, where an op may stand, and the types of tiles and of whole tensors.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHOPBASE_TD
#define DASH_IR_DASHOPBASE_TD

include "dash/IR/DashAccessInterfaces.td"
include "dash/IR/DashAttrs.td"
include "dash/IR/DashTensorRoles.td"
include "dash/IR/DashTilings.td"
include "dash/IR/DashInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dash_Op<string opMnemonic, list<Trait> traits = []>
    : Op<DashDialect, opMnemonic, traits>;

/// An op with a stage. `StageArg:$stage` must be its last argument.
class Dash_StagedOp<string opMnemonic, list<Trait> traits = []>
    : Dash_Op<opMnemonic, !listconcat(traits, [StagedOpInterface])>;

def StageArg : Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>,
                   "stage of the software pipeline that issues it">;

/// The op works on tiles, so it needs a `dash.items` that defines them.
def InsideItems : NativeOpTrait<"InsideItems"> {
  let cppNamespace = "::mlir::dash";
}

/// The op works on whole tensors: repeating it for every item would be wrong.
def OutsideItems : NativeOpTrait<"OutsideItems"> {
  let cppNamespace = "::mlir::dash";
}

/// A tile: a tensor of static shape, because it must fit registers and shared memory.
class TileOf<list<Type> elements, list<int> ranks>
    : ConfinedType<TensorRankOf<elements, ranks>, [HasStaticShapePred],
                   "tile: statically shaped " # TensorRankOf<elements, ranks>.summary,
                   "::mlir::RankedTensorType">;

def Tile : TileOf<[BF16, F16, F32], [1, 2]>;
def HalfTile : TileOf<[BF16, F16], [2]>;
def SumTile : TileOf<[F32], [2]>;
def MatrixTile : TileOf<[BF16, F16, F32], [2]>;
def RowTile : TileOf<[F32], [1]>;

/// The possible contents of a channel's slot.
def SlotElement : AnyTypeOf<[Tile, Index], "a tile or an index">;

/// A whole tensor in memory, or the tiles of tasks.
def TensorMemRef : MemRefRankOf<[BF16, F16, F32], [2, 3, 4]>;
def TaskMemRef : MemRefRankOf<[BF16, F16], [2]>;
def HalfMemRef : MemRefRankOf<[BF16, F16], [4]>;
def SumMemRef : MemRefRankOf<[F32], [4]>;
def RowMemRef : MemRefRankOf<[F32], [3]>;
def HeadMemRef : MemRefRankOf<[F32], [1]>;

#endif // DASH_IR_DASHOPBASE_TD
