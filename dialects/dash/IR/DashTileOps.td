//===- DashTileOps.td - what a task computes --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles are values: they have no thread, no buffer and no address. S and P are transposed (kv rows
// by q columns), so that they can be the left operand of the products that give dV and dK.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHTILEOPS_TD
#define DASH_IR_DASHTILEOPS_TD

include "dash/IR/DashOpBase.td"

def LoadOp : Dash_Op<"load", [InsideItems]> {
  let summary = "Read a tile";
  let description = [{
    `result[i, d] = source[sequence, head, tile * rows + i, d]` if that row is in the sequence, else
    0. A source of rank 3 gives a tile of rank 1.

    A source of rank 2 has tiles of tasks, as `dash.store_task` stores them: the tile of a q tile,
    [sequence, head, tile], with a kv tile of a kv head. What `mask` hides whole from 64 rows of q
    is 0, and nothing is read of it.

    **Preconditions**: the result has as many rows as a q or a kv tile of its `dash.items`, the
    columns of source or more, and its element type.
    **Postconditions**: rows past the end of the sequence are zero, and so are columns past those of
    source.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @load(%q: !T, %k: !T, %v: !T) {
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      }
      return
    }
    ```

    **Errors**
    - `tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32`
    - `a tile of a task needs its kv head, its kv tile and the mask: with(%kv_head, %kv_tile)
      mask(...)`, and a tile of a tensor must have none
    - `a tile of a task must be 64x128, rows of a kv tile by rows of a q tile, got 64x64`
    - `tiles of tasks have 4096 numbers each, got 'memref<?x64xbf16>'`
    - `tile must have at least as many columns as the head dim of the memref, 128, got 64`
    - `tile must have rank 2 for a memref of rank 4, got 1`
    - `tile must have elements of the memref's type, 'bf16', got 'f16'`
    - `stands inside 'dash.items' only: it works on tiles`
  }];
  let arguments = (ins
    Arg<TensorMemRef, "whole tensor", [MemRead]>:$source,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile,
    Arg<Variadic<Index>, "of a task: kv head and kv tile">:$other,
    Arg<OptionalAttr<MaskAttr>, "of a task: what may hide it">:$mask);
  let results = (outs Res<Tile, "the tile">:$result);
  let builders = [OpBuilder<(ins "Type":$result, "Value":$source, "Value":$sequence, "Value":$head,
                                 "Value":$tile),
    "build($_builder, $_state, result, source, sequence, head, tile, ValueRange(), MaskAttr());">];
  let assemblyFormat = [{
    $source `[` $sequence `,` $head `,` $tile `]` (`with` `(` $other^ `)`)?
    (`mask` `(` $mask^ `)`)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let extraClassDeclaration = [{
    MemoryRef getMemory() {
      return MemoryRef{getSource(), getSequence(), getHead(), getTile()}.with(getOther());
    }
  }];
  let hasVerifier = 1;
}

def StoreTaskOp : Dash_Op<"store_task", [InsideItems]> {
  let summary = "Keep a tile of a task";
  let description = [{
    Writes a tile of rows of a kv tile by rows of a q tile, dS, to the memory of another program:
    `dash.load` reads it there. That memory has tiles of 64 by 64 numbers, 4096 each. The first is
    zeros. Behind it are those of sequences, heads, kv tiles and q tiles, in this order, the q tiles
    of a row rounded up to a multiple of 6. Within a tile numbers lie as in slots of a channel.

    **Preconditions**: kv tiles and q tiles have 64 rows.
    **Postconditions**: tiles that the mask hides whole are not written.

    **Example**
    ```mlir
    !T = memref<?x?x?x192xbf16>
    func.func @keep(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
      %t = arith.constant dense<0.0> : tensor<64x64xbf16>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 64>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qt) {
          dash.store_task %t, %ds[%seq, %head, %qt] with(%kv_head, %kv)
            : tensor<64x64xbf16> -> memref<?x4096xbf16>
        }
      }
      return
    }
    ```

    **Errors**
    - `a tile of a task must be 64x64, rows of a kv tile by rows of a q tile, got 128x64`
    - `tiles of tasks have 4096 numbers each, got 'memref<?x64xbf16>'`
    - `tile must have elements of the memref's type, 'bf16', got 'f16'`
    - `stands inside 'dash.items' only: it works on tiles`
  }];
  let arguments = (ins
    Arg<HalfTile, "the tile">:$value,
    Arg<TaskMemRef, "tiles of tasks", [MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "q tile of the sequence">:$tile,
    Arg<Index, "kv head, absolute">:$kv_head, Arg<Index, "kv tile of the sequence">:$kv_tile);
  let assemblyFormat = [{
    $value `,` $target `[` $sequence `,` $head `,` $tile `]` `with` `(` $kv_head `,` $kv_tile `)`
    attr-dict `:` type($value) `->` type($target)
  }];
  let hasVerifier = 1;
}

def StoreOp : Dash_Op<"store", [SlotAccessOp, SyncOp, InsideItems, AttrSizedOperandSegments]> {
  let summary = "Round a tile and write it";
  let description = [{
    `target[sequence, head, tile * rows + i, d] = round(scale * value[i, d])` for rows that are in
    the sequence, to nearest even; the factor is 1 if absent.

    **Preconditions**: the value has as many rows as a q or a kv tile of its `dash.items`, and the
    columns of target or more.
    **Postconditions**: rows past the end of the sequence are not written, nor columns past those of
    target.

    In a consumer it leaves through slots of a channel that the role fills by itself, before it
    fills them: those behind its last use. A slot has a slice of it, all rows and as many columns as
    fit or are left; `ahead` says how many slots further on than the next the first slice is, and
    slices take slots in turn. `use` numbers the next one, once order is read. It may also leave
    whole through the slot of a tile that its item has loaded, in front of the release of that slot:
    products read nothing of it any more, and each warpgroup writes the rows that it has read. Then
    `use` is that of the slot.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @store(%q: !T, %k: !T, %v: !T, %dk: !T, %scale: f32) {
      %t = arith.constant dense<0.0> : tensor<128x128xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        dash.store %t, %dk[%seq, %kv_head, %kv] scale(%scale)
          : tensor<128x128xf32> -> !T
      }
      return
    }
    ```

    **Errors**
    - the two about rows and columns of `dash.load`
    - `leaves through a channel of one tile of 128 rows of 'bf16', whose columns are a multiple of
      16, got '!dash.channel<tensor<64x128xf32>>'`
    - `leaves through the slot of a loaded tile, of 128 rows of 'bf16' and at least 256 columns,
      got '!dash.channel<tensor<128x128xbf16>, tensor<128xf32>>'`
    - `leaves through a value that no 'dash.channel' makes`
    - `ahead must be at least 0, got -1`, and 0 through the slot of a loaded tile: `leaves through
      the slot of a loaded tile, which no other is ahead of, got ahead(1)`
    - `has the number of a use of no channel`, and so `slots ahead`
  }];
  let arguments = (ins
    Arg<SumTile, "the tile">:$value,
    Arg<HalfMemRef, "whole tensor", [MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile,
    Arg<Optional<F32>, "factor before rounding; 1 if absent">:$scale,
    Arg<Optional<AnyType>,
    "channel through whose slots it leaves, once releases are placed">:$through,
    Arg<DefaultValuedAttr<I64Attr, "0">, "slots in front of that of its first slice">:$ahead,
    Arg<Optional<Index>, "number of the use that comes next">:$use);
  let builders = [OpBuilder<(ins "Value":$value, "Value":$target, "Value":$sequence, "Value":$head,
                                 "Value":$tile, "Value":$scale),
    "build($_builder, $_state, value, target, sequence, head, tile, scale, Value(), 0, Value());">];
  let assemblyFormat = [{
    $value `,` $target `[` $sequence `,` $head `,` $tile `]` (`scale` `(` $scale^ `)`)?
    (`through` $through^ `:` type($through) `ahead` `(` $ahead `)`)? (`use` `(` $use^ `)`)?
    attr-dict `:` type($value) `->` type($target)
  }];
  let extraClassDeclaration = [{
    /// As how many slices the tile leaves through its channel.
    int64_t getNumSlices();
    /// How many slots behind the next one a slice takes.
    int64_t getSlotOf(int64_t slice);
    /// The same, of the last of these slots.
    int64_t getLastSlot();
    /// Whether it leaves through the slot of a loaded tile, which its role holds.
    bool isThroughLoaded();
    /// Whether a tile can leave through slots of this type: the same rows and elements, and numbers
    /// of columns of which one divides the other; in place of a loaded tile, at least as many.
    static bool canLeave(::mlir::RankedTensorType tile, ::mlir::Type element, ::mlir::Type channel,
                         bool isLoaded);
  }];
  let hasVerifier = 1;
}

def MatmulOp : Dash_StagedOp<"matmul", [SlotAccessOp, SyncOp, Pure, InsideItems]> {
  let summary = "Product of two tiles, summed in f32";
  let description = [{
    `result = accumulate + A B`, where A is `a` or its transpose and B is `b` or its transpose; the
    sum starts from zero if `accumulate` is absent.

    **Preconditions**: a and b are both bf16 or both f16; after transposing, a has as many columns
    as b has rows; the result has the rows of a and the columns of b. `split` says how warpgroups
    share the result: each has 64 of its rows. If tiles have layouts, they are ones that wgmma
    supports: sums in accumulator fragments, split as `split` says, b in a slot, a in a slot or an
    operand fragment.
    **Postconditions**: none; an `async` product is complete, and has read its factors, after the
    `dash.wgmma_wait` that takes its result.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @matmul(%q: !T, %k: !T, %v: !T) {
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.walk (%head, %qi) {
          %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
          %st = dash.matmul %kt, transpose %qt
            : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `factors must have elements of one type, got 'bf16' and 'f16'`
    - `columns of a must be rows of b, got 128x64 and 128x64 as multiplied`
    - `result must be 128x64, the product's shape, got 64x128`
    - `'accumulate' must have the type of the result, 'tensor<128x64xf32>', got ...`
    - `split #dash.split<1 x 2>: #dash.fragment<accumulator, columns by 2> needs 64 rows and a
      multiple of 16 columns, got 128x64`
    - `is split among 3 warpgroups, in a role of 2`
    - `result must be #dash.fragment<accumulator, rows by 2>, as #dash.split<2 x 1> says, got
      #dash.fragment<accumulator, columns by 2>`
    - `result must be an accumulator fragment where factors have layouts, got 'tensor<128x64xf32>'`
    - `b must lie in a slot, as #dash.swizzled, got 'tensor<64x128xbf16>'`
    - `a must be an operand fragment, or lie in a slot, as #dash.swizzled, got
      'tensor<128x128xbf16>'`
    - `a in registers cannot be transposed: put it into a slot first`
    - `a in registers must be split as the result is, #dash.fragment<accumulator, columns by 2>, got
      #dash.fragment<operand, rows by 1>`
    - `columns of a as multiplied must be a multiple of 16, got 8`
    - `a warpgroup has at most 256 columns of the result, got 512`
  }];
  let arguments = (ins
    Arg<HalfTile, "left factor">:$a,
    Arg<HalfTile, "right factor">:$b,
    Arg<Optional<SumTile>, "sums that the product is added to">:$accumulate,
    Arg<UnitAttr, "multiply by the transpose of a">:$transpose_a,
    Arg<UnitAttr, "multiply by the transpose of b">:$transpose_b,
    Arg<UnitAttr, "only issued here: complete after its `dash.wgmma_wait`">:$async,
    Arg<OptionalAttr<SplitAttr>, "how warpgroups share the result, in a kernel">:$split,
    StageArg:$stage);
  let results = (outs Res<SumTile, "the sum">:$result);
  let assemblyFormat = [{
    (`transpose` $transpose_a^)? $a `,` (`transpose` $transpose_b^)? $b
    (`accumulate` `(` $accumulate^ `)`)? (`async` $async^)? (`stage` `(` $stage^ `)`)?
    (`split` `(` $split^ `)`)? attr-dict `:` custom<Product>(
      type($a), type($b), type($result), type($accumulate), ref($accumulate))
  }];
  let hasVerifier = 1;
  let extraClassDefinition = Syncs<"Sync{SyncKind::IssueProduct}">.said;
}

def SoftcapOp : Dash_StagedOp<"softcap", [Pure, InsideItems, AllTypesMatch<["value", "result"]>]> {
  let summary = "Scores after a softcap, in units of the cap";
  let description = [{
    `result[j, i] = tanh(scale * value[j, i] / cap)`, in f32; the factor is 1 if absent. The capped
    score is cap times this, so `dash.probability` of the result has the cap as its scale.

    **Preconditions**: cap is a finite number above 0; value is kv tile rows by q tile rows, or, in
    items that own q tiles, q tile rows by kv tile rows.
    **Postconditions**: every element is from -1 to 1, or NaN if the score is.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @softcap(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>, %scale: f32) {
      %st = arith.constant dense<0.0> : tensor<128x64xf32>
      %cap = arith.constant 50.0 : f32
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qi) {
          %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
          %capped = dash.softcap %st cap(50.0) scale(%scale) : tensor<128x64xf32>
          %pt = dash.probability %capped, %l at(%seq, %kv, %qi) scale(%cap)
            : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `'value' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128`
    - `'cap' must be a finite number above 0, got 0.0`
  }];
  let arguments = (ins
    Arg<SumTile, "S, transposed (kv rows by q rows), or as it is">:$value,
    Arg<F32Attr, "cap of the scores">:$cap,
    Arg<Optional<F32>, "factor on the scores; 1 if absent">:$scale,
    StageArg:$stage);
  let results = (outs Res<SumTile, "tanh, as value lies">:$result);
  let assemblyFormat = [{
    $value `cap` `(` $cap `)` (`scale` `(` $scale^ `)`)? (`stage` `(` $stage^ `)`)? attr-dict `:`
    type($value)
  }];
  let hasVerifier = 1;
}

def DampOp : Dash_StagedOp<"damp", [Pure, InsideItems,
    AllTypesMatch<["probability", "capped", "result"]>]> {
  let summary = "P times the slope of the softcap";
  let description = [{
    `result[j, i] = probability[j, i] * (1 - capped[j, i]^2)`, in f32. A capped score below -1
    counts as -1: `dash.hide` leaves such scores. `dash.score_gradient` of the result is dS with
    respect to scores before the cap; dV uses the unchanged P.

    **Preconditions**: both lie as S does in their items; capped is the result of `dash.softcap`,
    or `dash.hide` of that.
    **Postconditions**: 0 where P is.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @damp(%q: !T, %k: !T, %v: !T) {
      %pt = arith.constant dense<0.0> : tensor<128x64xf32>
      %st = arith.constant dense<0.0> : tensor<128x64xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %capped = dash.softcap %st cap(50.0) : tensor<128x64xf32>
        %damped = dash.damp %pt, %capped : tensor<128x64xf32>
      }
      return
    }
    ```

    **Errors**
    - `'probability' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128`
  }];
  let arguments = (ins
    Arg<SumTile, "P">:$probability,
    Arg<SumTile, "tanh of the scores over the cap, as P lies">:$capped,
    StageArg:$stage);
  let results = (outs Res<SumTile, "P times 1 - tanh^2">:$result);
  let assemblyFormat = [{
    $probability `,` $capped (`stage` `(` $stage^ `)`)? attr-dict `:` type($probability)
  }];
  let hasVerifier = 1;
}

def ProbabilityOp : Dash_StagedOp<"probability", [Pure, InsideItems]> {
  let summary = "P, as S lies, from S and the log of the row sums";
  let description = [{
    `result[j, i] = exp(scale * scores[j, i] - lse[i])` if row i of the q tile sees column j of the
    kv tile, both are in the sequence and lse[i] is not -inf; 0 otherwise. Rows and columns count
    from the start of the sequence: q * (rows of a q tile) + i, kv * (rows of a kv tile) + j. The
    mask is that of the enclosing `dash.items`, band and rules; P is 0 where it hides, whatever
    scores and lse are. The factor is 1 if absent.

    **Preconditions**: scores are kv tile rows by q tile rows, or, in items that own q tiles, q tile
    rows by kv tile rows; lse has q tile rows; the result has the shape of scores.
    **Postconditions**: every element is finite where scores are, and 0 where hidden.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @probability(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>, %scale: f32) {
      %st = arith.constant dense<0.0> : tensor<128x64xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qi) {
          %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
          %pt = dash.probability %st, %l at(%seq, %kv, %qi) scale(%scale)
            : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `'scores' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128`
    - `'lse' must have 64 rows, those of a q tile, got 128`
    - `'result' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128`
  }];
  let arguments = (ins
    Arg<SumTile, "S, transposed (kv rows by q rows), or as it is">:$scores,
    Arg<RowTile, "log of the sum of exponentials of each q row">:$lse,
    Arg<Index, "sequence">:$sequence,
    Arg<Index, "kv tile of the sequence">:$kv_tile,
    Arg<Index, "q tile of the sequence">:$q_tile,
    Arg<Optional<F32>, "factor on the scores; 1 if absent">:$scale,
    StageArg:$stage);
  let results = (outs Res<SumTile, "P, as S lies">:$result);
  let assemblyFormat = [{
    $scores `,` $lse `at` `(` $sequence `,` $kv_tile `,` $q_tile `)`
    (`scale` `(` $scale^ `)`)? (`stage` `(` $stage^ `)`)? attr-dict
    `:` `(` type($scores) `,` type($lse) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def RoundOp : Dash_StagedOp<"round", [Pure, InsideItems]> {
  let summary = "Round a tile to a half-precision type";
  let description = [{
    `result[i, j] = round(scale * value[i, j])`, to nearest even; the factor is 1 if absent. Sums
    are f32, the factors of a product bf16 or f16. P is rounded only for the product that gives dV.
    dS is computed from the unrounded P, because the error of a dS from the rounded P is 1.2 times
    as large.

    **Preconditions**: the result has the shape of the value.
    **Postconditions**: none.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @round(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>) {
      %st = arith.constant dense<0.0> : tensor<128x64xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
        dash.walk (%head, %qi) {
          %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
          %pt = dash.probability %st, %l at(%seq, %kv, %qi)
            : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
          %factor = dash.round %pt : tensor<128x64xf32> to tensor<128x64xbf16>
        }
      }
      return
    }
    ```

    **Errors**
    - `result must be 128x64, the shape of the value, got 64x128`
  }];
  let arguments = (ins
    Arg<SumTile, "the tile">:$value,
    Arg<Optional<F32>, "factor before rounding; 1 if absent">:$scale,
    StageArg:$stage);
  let results = (outs Res<HalfTile, "the tile, rounded">:$result);
  let builders = [OpBuilder<(ins "Type":$type, "Value":$value),
      "build($_builder, $_state, type, value, Value(), IntegerAttr());">];
  let assemblyFormat = [{
    $value (`scale` `(` $scale^ `)`)? (`stage` `(` $stage^ `)`)? attr-dict `:` type($value) `to`
    type($result)
  }];
  let hasVerifier = 1;
}

def ScoreGradientOp : Dash_StagedOp<"score_gradient", [Pure, InsideItems]> {
  let summary = "dS, as P lies, from P, dP and delta";
  let description = [{
    `result[j, i] = round(probability[j, i] * (gradient[j, i] - delta[i]))`, in f32 before rounding
    to the result's type. A result in f32 is not rounded: `dash.round` does that later, when the
    registers of factors of products in flight are free. The factor `scale` of dS is applied later,
    once, to the sums.

    **Preconditions**: probability, gradient and result have one shape, kv tile rows by q tile rows;
    delta has q tile rows. In items that own q tiles tiles are q tile rows by kv tile rows, and the
    op says `q_rows`.
    **Postconditions**: 0 if probability is 0 and the difference is finite.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @score_gradient(%q: !T, %k: !T, %v: !T) {
      %pt = arith.constant dense<0.0> : tensor<128x64xf32>
      %dpt = arith.constant dense<0.0> : tensor<128x64xf32>
      %delta = arith.constant dense<0.0> : tensor<64xf32>
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
        %dst = dash.score_gradient %pt, %dpt, %delta
          : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
      }
      return
    }
    ```

    **Errors**
    - `'probability' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128`
    - the same about 'gradient' and 'result'
    - `'delta' must have 64 rows, those of a q tile, got 128`
    - `says 'q_rows' in items that own q tiles, and in no others`
  }];
  let arguments = (ins
    Arg<SumTile, "P, transposed (kv rows by q rows), or as it is">:$probability,
    Arg<SumTile, "dP, as P lies: V dO^T or dO V^T">:$gradient,
    Arg<RowTile, "rowsum(O * dO) of each q row">:$delta,
    Arg<UnitAttr, "rows are those of q: items own q tiles">:$q_rows, StageArg:$stage);
  let results = (outs Res<MatrixTile, "dS, as P lies">:$result);
  let assemblyFormat = [{
    $probability `,` $gradient `,` $delta (`q_rows` $q_rows^)? (`stage` `(` $stage^ `)`)? attr-dict
    `:` `(` type($probability) `,` type($gradient) `,` type($delta) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHTILEOPS_TD
