//===- DashForwardOps.td - attention's forward pass -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward as a user states it, and what a task of it computes: an online softmax. A tile of
// scores has a row for each row of the q tile. Each op works on a row by itself, so that the bits
// of a row need not depend on the rows beside it.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHFORWARDOPS_TD
#define DASH_IR_DASHFORWARDOPS_TD

include "dash/IR/DashOpBase.td"

def AttentionFwdOp : Dash_Op<"attention_fwd", [
    AttrSizedOperandSegments, OutsideItems, DeclareOpInterfaceMethods<AttentionOpInterface>]> {
  let summary = "Attention: the output, and the log of each row's sum of exponentials";
  let description = [{
    For every sequence and query head, with P = exp(scale * Q K^T - LSE) if the mask lets row i see
    column j, P = 0 otherwise:

    ```
    LSE[i] = log(sum over visible j of exp(scale * (Q K^T)[i, j]))      O = P V
    ```

    With `softcap(c)`, scores are c * tanh(scale * Q K^T / c) before the mask applies. With `sink`,
    each query head has one more score, sink[h], for all of its rows: it is part of the sum of
    exponentials, but has no value.

    `level` states what the bits of the result must not depend on. Nothing is summed across items,
    so every level is kept. At level `row`, the verifier of `dash.items` proves in addition that the
    bits of a row follow from its own query, the keys and values that it sees, and their places in
    the sequence. So a row has the same bits alone, in a batch, in a list of sequences, as a part of
    a longer sequence, and in any chunk of a prefill. The program's kv tile, its slack and its
    arithmetic are part of those bits.

    With `cut(N)`, the keys and values of each sequence are cut into pieces of N rows, counted from
    its start. Items walk one piece each, and `dash.combine` puts the pieces of a row together, in
    their order. So few rows over many keys keep many workers busy. The pieces follow from N alone,
    never from the sizes or the workers. All levels hold among programs of one N. Other pieces, or
    none, give other bits.

    With `unrounded`, O is written a second time, in f32 as it is before it is rounded. A
    `dash.attention_bwd` that is given this O has less error in dQ and dK where a row has most of
    its probability at few columns.

    With `fold(F)`, a q tile holds rows of F query heads that share a kv head: row r of the tile is
    row r floordiv F of its rows of the sequence, of head r mod F. So an item reads K and V once for
    F heads, and few rows of many heads fill a tile. A row's bits do not depend on the fold.

    q, k, v and o are memrefs [batch, heads, rows, head dim]. Any strides are allowed as long as the
    innermost is 1. lse is [batch, heads, q rows], and sink is [heads]. `scale` is 1/sqrt(head dim
    of q) unless given. With `sequences`, the rows of all sequences are contiguous in a batch of 1;
    without it, each batch entry is a sequence.

    **Preconditions**
    - q, k, v and o are all bf16 or all f16; lse, sink and unrounded are f32.
    - Keys are not cut where there is an unrounded output, which has the sizes of o.
    - Head dims are static: that of q and k, and that of v and o, are multiples of 8 up to 256.
    - k and v have the same heads, and q a multiple of them; sizes that must agree do, if static.
    - The softcap is a finite number above 0. The rows of a piece are a multiple of the kv tile's.
    - The fold is a power of two up to 64 that divides the query heads of a kv head and the q tile's
      rows, of a mask without bitmaps and unions.
    - Stands outside `dash.items`. No output is the same value as another output or as an input, or
      overlaps one in memory.

    **Postconditions**: o, lse and unrounded are written in full. A row that sees no column has an
    LSE of -inf, with a sink that of the sink, and an O of zeros. A NaN in a score, or in a visible
    value, makes its row NaN. A key or value that no row of a walked tile sees leaves no trace. A
    value that is infinite or NaN, and is hidden from a row within a tile that the row's neighbours
    walk, makes the row NaN: 0 times it is.

    **Example**
    ```mlir
    func.func @fwd(%q: memref<2x8x512x128xbf16>, %k: memref<2x2x512x128xbf16>,
                   %v: memref<2x2x512x128xbf16>, %o: memref<2x8x512x128xbf16>,
                   %lse: memref<2x8x512xf32>) {
      dash.attention_fwd
        ins(%q, %k, %v
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
        outs(%o, %lse : memref<2x8x512x128xbf16>, memref<2x8x512xf32>)
        mask(<causal>) level(row)
      return
    }

    // Capped scores, and a sink.
    func.func @fwd_sink(%q: memref<2x8x512x128xbf16>, %k: memref<2x2x512x128xbf16>,
                        %v: memref<2x2x512x128xbf16>, %o: memref<2x8x512x128xbf16>,
                        %lse: memref<2x8x512xf32>, %sink: memref<8xf32>) {
      dash.attention_fwd
        ins(%q, %k, %v
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
        outs(%o, %lse : memref<2x8x512x128xbf16>, memref<2x8x512xf32>)
        mask(<causal>) level(row) sink(%sink : memref<8xf32>) softcap(50.0)
      return
    }

    // The output twice: rounded, and in f32.
    func.func @fwd_unrounded(%q: memref<2x8x512x128xbf16>, %k: memref<2x2x512x128xbf16>,
                             %v: memref<2x2x512x128xbf16>, %o: memref<2x8x512x128xbf16>,
                             %lse: memref<2x8x512xf32>, %unrounded: memref<2x8x512x128xf32>) {
      dash.attention_fwd
        ins(%q, %k, %v
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
        outs(%o, %lse : memref<2x8x512x128xbf16>, memref<2x8x512xf32>)
        mask(<causal>) level(row) unrounded(%unrounded : memref<2x8x512x128xf32>)
      return
    }
    ```

    **Errors**: in the words of `dash.attention_bwd`, those about ranks, elements, strides, head
    dims, sizes, heads, the softcap, the mask, sequences, and values that are operands twice; `'cut'
    must be at most 1073741824, got 2147483648`; `'unrounded' is the output of keys that are not
    cut, got a cut of 2048: leave out one of both`; `'fold' must be a power of two from 1 to 64, got
    6`; `q tiles fold 8 heads, which must divide the query heads of a kv head, got 8 heads over 2`;
    `folds heads under a mask with a bitmap or a union: only bands are served, so drop the fold`.
  }];
  let arguments = (ins
    Arg<AnyMemRef, "queries [batch, heads, q rows, head dim]", [MemRead]>:$q,
    Arg<AnyMemRef, "keys [batch, kv heads, kv rows, head dim]", [MemRead]>:$k,
    Arg<AnyMemRef, "values [batch, kv heads, kv rows, head dim of v]", [MemRead]>:$v,
    Arg<AnyMemRef, "output [batch, heads, q rows, head dim of v]", [MemWrite]>:$o,
    Arg<AnyMemRef, "log of the sum of exponentials [batch, heads, q rows]", [MemWrite]>:$lse,
    Arg<Optional<AnyMemRef>, "a score of each query head without a value [heads]", [MemRead]>:$sink,
    Arg<Optional<AnyMemRef>, "output before it is rounded [batch, heads, q rows, head dim of v]",
    [MemWrite]>:$unrounded,
    Arg<Optional<F32>, "factor on Q K^T; 1/sqrt(head dim of q) if absent">:$scale,
    Arg<MaskAttr, "which columns a row attends to">:$mask,
    Arg<DeterminismLevelAttr, "what the bits must not depend on">:$level,
    Arg<OptionalAttr<SequencesAttr>, "rows of each sequence, in a batch of 1">:$sequences,
    Arg<OptionalAttr<F32Attr>, "cap of scores: c of c * tanh(score / c)">:$softcap,
    Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>,
    "kv rows of a piece that an item walks; all if absent">:$cut,
    Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>,
    "query heads of a q tile; 1 if absent">:$fold,
    Arg<OptionalAttr<TilingAttr>, "how kernels cut it into tiles, once chosen">:$tiling);
  let assemblyFormat = [{
    `\n` ` ` ` ` ` ` ` ` `ins` `(` $q `,` $k `,` $v `:` type($q) `,` type($k) `,` type($v) `)`
    `\n` ` ` ` ` ` ` ` ` `outs` `(` $o `,` $lse `:` type($o) `,` type($lse) `)`
    `\n` ` ` ` ` ` ` ` ` `mask` `(` $mask `)` `level` `(` custom<Level>($level) `)`
    (`scale` `(` $scale^ `)`)? (`sequences` `(` $sequences^ `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)? (`softcap` `(` $softcap^ `)`)?
    (`unrounded` `(` $unrounded^ `:` type($unrounded) `)`)?
    (`cut` `(` $cut^ `)`)? (`fold` `(` $fold^ `)`)?
    (`tiling` `(` qualified($tiling)^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Types of the operands; the verifier has checked that they are memrefs.
    MemRefType typeOf(Value value) { return cast<MemRefType>(value.getType()); }

    Type getElementType() { return typeOf(getQ()).getElementType(); }
  }];
  let hasVerifier = 1;
}

/// An op of the online softmax: it computes a row of its results from that row of its operands.
class Dash_SoftmaxOp<string opMnemonic, list<Trait> traits = []>
    : Dash_Op<opMnemonic, !listconcat([Pure, InsideItems], traits)>;

/// One of a task, which a software pipeline issues. `StageArg:$stage` must be its last argument.
class Dash_StagedSoftmaxOp<string opMnemonic, list<Trait> traits = []>
    : Dash_StagedOp<opMnemonic, !listconcat([Pure, InsideItems], traits)>;

def SinkStateOp : Dash_Op<"sink_state", [InsideItems]> {
  let summary = "A softmax's state before the first task, with a sink";
  let description = [{
    `max[i] = sink[head] * log2(e)`, `sum[i] = (1, 0, 0, 0)`: the state of a row that has seen one
    score without a value. In f32. Without a sink, the state is (-inf, 0).

    **Preconditions**: max has q tile rows; sum has as many, and 4 columns.
    **Postconditions**: none.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @sink_state(%q: !T, %k: !T, %v: !T, %sink: memref<?xf32>) {
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(row) (%seq, %head, %qi) {
        %max, %sum = dash.sink_state %sink[%head]
          : memref<?xf32> -> tensor<64xf32>, tensor<64x4xf32>
      }
      return
    }
    ```

    **Errors**
    - `'max' must have 64 rows, those of a q tile, got 128`
    - `'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8`
  }];
  let arguments = (ins
    Arg<HeadMemRef, "the scores [heads]", [MemRead]>:$sink,
    Arg<Index, "head, absolute">:$head);
  let results = (outs
    Res<RowTile, "the largest score, in units of log 2">:$max,
    Res<SumTile, "sums of exponentials, 4 for each row">:$sum);
  let assemblyFormat = [{
    $sink `[` $head `]` attr-dict `:` type($sink) `->` type($max) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def VisibleOp : Dash_SoftmaxOp<"visible", [AllTypesMatch<["scores", "result"]>]> {
  let summary = "Scores that the mask lets rows see; -inf elsewhere";
  let description = [{
    `result[i, j] = scores[i, j]` if row i of the q tile sees column j of the kv tile and both are
    in the sequence; -inf otherwise, whatever the score is. Rows and columns count from the start of
    the sequence, as for `dash.probability`. The mask is that of the enclosing `dash.items`.

    **Preconditions**: scores are q tile rows by kv tile rows.
    **Postconditions**: none.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @visible(%q: !T, %k: !T, %v: !T) {
      %s = arith.constant dense<0.0> : tensor<64x128xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        dash.walk (%kv_head, %kv) {
          %y = dash.visible %s at(%seq, %kv, %qi) : tensor<64x128xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `'scores' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64`
  }];
  let arguments = (ins
    Arg<SumTile, "S: q rows by kv rows">:$scores,
    Arg<Index, "sequence">:$sequence,
    Arg<Index, "kv tile of the sequence">:$kv_tile,
    Arg<Index, "q tile of the sequence">:$q_tile);
  let results = (outs Res<SumTile, "the same, -inf where hidden">:$result);
  let assemblyFormat = [{
    $scores `at` `(` $sequence `,` $kv_tile `,` $q_tile `)` attr-dict `:` type($scores)
  }];
  let hasVerifier = 1;
}

def RunningMaxOp : Dash_StagedSoftmaxOp<"running_max", [AllTypesMatch<["max", "next", "factor"]>]> {
  let summary = "The reference of a row's exponentials, once it has seen a tile";
  let description = [{
    With x[i, j] = (scale * log2(e)) * scores[i, j], in f32, and a[i] the largest x[i, j] whose
    score is neither -inf nor NaN, or -inf if there is none:

    ```
    next[i] = a[i] if a[i] > max[i] + slack, else max[i]
    factor[i] = 2^(max[i] - next[i]), 1 if they are equal
    ```

    So the reference moves only if a score is more than `slack` above it, which few tiles do.
    Exponentials are then at most 2^slack, which bf16 and f16 hold with the precision of 1. Each
    row decides by itself: a vote among rows would make the bits of one depend on the others.

    **Preconditions**: scores are the result of `dash.visible`, q tile rows by kv tile rows; max has
    q tile rows; slack is from 0 to 15, because f16 holds 2^15.
    **Postconditions**: for a row that sees nothing of the tile, next is max and the factor 1.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @running_max(%q: !T, %k: !T, %v: !T, %scale: f32) {
      %s = arith.constant dense<0.0> : tensor<64x128xf32>
      %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        %max = dash.walk (%kv_head, %kv) init(%m0 = %lowest) : tensor<64xf32> {
          %y = dash.visible %s at(%seq, %kv, %qi) : tensor<64x128xf32>
          %m1, %factor = dash.running_max %y, %m0 scale(%scale) slack(8.0)
            : tensor<64x128xf32>, tensor<64xf32>
          dash.yield %m1 : tensor<64xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `'scores' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64`
    - `'max' must have 64 rows, those of a q tile, got 128`
    - `'slack' must be from 0 to 15, got 16`
  }];
  let arguments = (ins
    Arg<SumTile, "visible scores: q rows by kv rows">:$scores,
    Arg<RowTile, "the reference so far, in units of log 2">:$max,
    Arg<Optional<F32>, "factor on the scores; 1 if absent">:$scale,
    Arg<F32Attr, "how far a score may be above the reference">:$slack, StageArg:$stage);
  let results = (outs
    Res<RowTile, "the reference">:$next,
    Res<RowTile, "what earlier exponentials are multiplied by">:$factor);
  let assemblyFormat = [{
    $scores `,` $max (`scale` `(` $scale^ `)`)? `slack` `(` $slack `)`
    (`stage` `(` $stage^ `)`)? attr-dict `:` type($scores) `,` type($max)
  }];
  let extraClassDeclaration = [{
    /// f16 holds 2^15.
    static constexpr double mostSlack = 15;
  }];
  let hasVerifier = 1;
}

def ExponentialOp : Dash_StagedSoftmaxOp<"exponential", [AllTypesMatch<["scores", "result"]>]> {
  let summary = "Exponentials of scores, beside a reference of each row";
  let description = [{
    `result[i, j] = 2^(c * scores[i, j] - max[i])` with c = scale * log2(e), rounded to f32; the
    exponent is rounded once (a fused multiply-add). 0 if the score is -inf.

    **Preconditions**: scores are q tile rows by kv tile rows; max has q tile rows.
    **Postconditions**: 0 where hidden, whatever max is.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @exponential(%q: !T, %k: !T, %v: !T, %scale: f32) {
      %s = arith.constant dense<0.0> : tensor<64x128xf32>
      %max = arith.constant dense<0.0> : tensor<64xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        dash.walk (%kv_head, %kv) {
          %y = dash.visible %s at(%seq, %kv, %qi) : tensor<64x128xf32>
          %p = dash.exponential %y, %max scale(%scale) : tensor<64x128xf32>, tensor<64xf32>
        }
      }
      return
    }
    ```

    **Errors**: the first two of `dash.running_max`.
  }];
  let arguments = (ins
    Arg<SumTile, "visible scores: q rows by kv rows">:$scores,
    Arg<RowTile, "the reference of each row, in units of log 2">:$max,
    Arg<Optional<F32>, "factor on the scores; 1 if absent">:$scale, StageArg:$stage);
  let results = (outs Res<SumTile, "P, without its divisor">:$result);
  let assemblyFormat = [{
    $scores `,` $max (`scale` `(` $scale^ `)`)? (`stage` `(` $stage^ `)`)? attr-dict `:`
    type($scores) `,` type($max)
  }];
  let hasVerifier = 1;
}

def RunningSumOp : Dash_StagedSoftmaxOp<"running_sum", [AllTypesMatch<["sum", "result"]>]> {
  let summary = "The sums of a row's exponentials, once it has seen a tile";
  let description = [{
    A row has four sums, one for each lane of the four that hold it in a kernel. Lane c has the
    columns 8n + 2c and 8n + 2c + 1 of each tile:

    ```
    result[i, c] = sum[i, c] * factor[i] + (A + B)      (a fused multiply-add)
    A = sum over n, upward, of probability[i, 8n + 2c]
    B = sum over n, upward, of probability[i, 8n + 2c + 1]
    ```

    **Preconditions**: probability is q tile rows by kv tile rows; sum is q tile rows by 4; factor
    has q tile rows.
    **Postconditions**: for a row that sees nothing of the tile, the result is sum.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @running_sum(%q: !T, %k: !T, %v: !T) {
      %p = arith.constant dense<0.0> : tensor<64x128xf32>
      %sum = arith.constant dense<0.0> : tensor<64x4xf32>
      %factor = arith.constant dense<1.0> : tensor<64xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
        %l = dash.walk (%kv_head, %kv) init(%l0 = %sum) : tensor<64x4xf32> {
          %l1 = dash.running_sum %p, %l0 times(%factor)
            : tensor<64x128xf32>, tensor<64x4xf32>, tensor<64xf32>
          dash.yield %l1 : tensor<64x4xf32>
        }
      }
      return
    }
    ```

    **Errors**
    - `'probability' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64`
    - `'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8`
    - `'factor' must have 64 rows, those of a q tile, got 128`
  }];
  let arguments = (ins
    Arg<SumTile, "exponentials: q rows by kv rows">:$probability,
    Arg<SumTile, "the sums so far, 4 for each row">:$sum,
    Arg<RowTile, "factor of dash.running_max">:$factor, StageArg:$stage);
  let results = (outs Res<SumTile, "the sums">:$result);
  let assemblyFormat = [{
    $probability `,` $sum `times` `(` $factor `)` (`stage` `(` $stage^ `)`)? attr-dict `:`
    type($probability) `,` type($sum) `,` type($factor)
  }];
  let extraClassDeclaration = [{
    /// Sums of a row: a kernel's accumulators hold a row in as many lanes.
    static constexpr int64_t numSums = 4;
  }];
  let hasVerifier = 1;
}

def RescaleOp : Dash_StagedSoftmaxOp<"rescale", [AllTypesMatch<["value", "result"]>]> {
  let summary = "Rows of a tile, each times a factor of its own";
  let description = [{
    `result[i, d] = value[i, d] * factor[i]`, in f32.

    **Preconditions**: value has q tile rows, and so has factor.
    **Postconditions**: a factor of 1 keeps the bits.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @rescale(%q: !T, %k: !T, %v: !T) {
      %o = arith.constant dense<0.0> : tensor<64x128xf32>
      %factor = arith.constant dense<1.0> : tensor<64xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        %r = dash.rescale %o, %factor : tensor<64x128xf32>, tensor<64xf32>
      }
      return
    }
    ```

    **Errors**
    - `'value' must have 64 rows, those of a q tile, got 128`, and so for factor
  }];
  let arguments = (ins
    Arg<SumTile, "sums of the output">:$value, Arg<RowTile, "factor of dash.running_max">:$factor,
    StageArg:$stage);
  let results = (outs Res<SumTile, "the same, beside the new reference">:$result);
  let assemblyFormat = [{
    $value `,` $factor (`stage` `(` $stage^ `)`)? attr-dict `:` type($value) `,` type($factor)
  }];
  let hasVerifier = 1;
}

def FinishOp : Dash_SoftmaxOp<"finish", [AllTypesMatch<["value", "output"]>,
    AllTypesMatch<["max", "lse"]>]> {
  let summary = "The output and the LSE, once a row has seen all of its tiles";
  let description = [{
    With L[i] = (sum[i, 0] + sum[i, 1]) + (sum[i, 2] + sum[i, 3]):

    ```
    output[i, d] = value[i, d] * (1 / L[i]) + 0      (a fused multiply-add)
    lse[i] = (max[i] + log2(L[i])) * ln(2)
    ```

    each operation rounded to f32. If L is 0, the row has seen nothing: output is 0, and lse -inf.
    The added 0 gives zeros one sign. A tile of which a row sees nothing adds products with 0 to its
    sums, which can make -0 to +0, and changes nothing else.

    **Preconditions**: value has q tile rows, and so has max; sum is q tile rows by 4.
    **Postconditions**: none.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @finish(%q: !T, %k: !T, %v: !T) {
      %o = arith.constant dense<0.0> : tensor<64x128xf32>
      %max = arith.constant dense<0.0> : tensor<64xf32>
      %sum = arith.constant dense<0.0> : tensor<64x4xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        %out, %lse = dash.finish %o, %max, %sum
          : tensor<64x128xf32>, tensor<64xf32>, tensor<64x4xf32>
      }
      return
    }
    ```

    **Errors**
    - `'value' must have 64 rows, those of a q tile, got 128`, and so for max
    - `'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8`
  }];
  let arguments = (ins
    Arg<SumTile, "sums of the output">:$value,
    Arg<RowTile, "the reference, in units of log 2">:$max,
    Arg<SumTile, "sums of exponentials, 4 for each row">:$sum);
  let results = (outs Res<SumTile, "the output">:$output,
                      Res<RowTile, "log of the row's sum of exponentials">:$lse);
  let assemblyFormat = [{
    $value `,` $max `,` $sum attr-dict `:` type($value) `,` type($max) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def StoreRowOp : Dash_Op<"store_row", [InsideItems]> {
  let summary = "Write numbers of each row of a tile, in f32";
  let description = [{
    `target[sequence, head, tile * rows + i] = value[i]` for rows that are in the sequence: one
    number of each row, or as many as the target has columns; a tile may have more.

    **Preconditions**: the value has as many rows as a q or a kv tile of its `dash.items`.
    **Postconditions**: rows past the end of the sequence are not written.

    **Example**
    ```mlir
    !T = memref<?x?x?x128xbf16>
    func.func @store_row(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>) {
      %row = arith.constant dense<0.0> : tensor<64xf32>
      dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
        dash.store_row %row, %lse[%seq, %head, %qi] : tensor<64xf32> -> memref<?x?x?xf32>
      }
      return
    }
    ```

    **Errors**
    - `tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32`
    - `tile must have rank 1 for a memref of rank 3, got 2`
    - `tile must have at least as many columns as the head dim of the memref, 128, got 64`
  }];
  let arguments = (ins
    Arg<TileOf<[F32], [1, 2]>, "the numbers">:$value,
    Arg<MemRefRankOf<[F32], [3, 4]>, "whole tensor [batch, heads, rows], or with columns",
    [MemWrite]>:$target,
    Arg<Index, "sequence">:$sequence, Arg<Index, "head, absolute">:$head,
    Arg<Index, "tile of the sequence">:$tile);
  let assemblyFormat = [{
    $value `,` $target `[` $sequence `,` $head `,` $tile `]` attr-dict
    `:` type($value) `->` type($target)
  }];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHFORWARDOPS_TD
