//===- DashComputeOps.td - ops on whole tensors -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The problem as a user states it, and the two passes over memory before and after its tiled form.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHCOMPUTEOPS_TD
#define DASH_IR_DASHCOMPUTEOPS_TD

include "dash/IR/DashOpBase.td"

def AttentionBwdOp : Dash_Op<"attention_bwd", [
    AttrSizedOperandSegments, OutsideItems, DeclareOpInterfaceMethods<AttentionOpInterface>]> {
  let summary = "The gradients of attention with respect to Q, K and V";
  let description = [{
    For every sequence and query head, let P = exp(scale * Q K^T - LSE) if the mask lets row i see
    column j, P = 0 otherwise, and delta = rowsum(O * dO). Then:

    ```
    dV = P^T dO      dS = P * (dO V^T - delta)      dQ = scale * dS K      dK = scale * dS^T Q
    ```

    dK and dV of a kv head are summed over its group of query heads. `level` states what the bits of
    the result must not depend on.

    `outs` has all three gradients, dK and dV (`dk = %dk, dv = %dv`), or dQ (`dq = %dq`). A part of
    them has no sum across items: items that own kv tiles compute dK and dV, those that own q tiles
    dQ. Two such programs compute all three, with S and dP computed twice. With `ds(%ds)` they are
    computed once: the program of dK and dV keeps dS there, rounded as its products read it, and
    that of dQ, behind it on the same memory, multiplies what it finds. That needs 2 bytes for each
    score, so dQ has five products instead of seven for memory that grows with rows of q times rows
    of k. dq, dk and dv have the same bits either way.

    With `softcap(c)`, scores are c * tanh(scale * Q K^T / c) before the mask applies, and dS has
    the factor 1 - tanh^2 before dQ and dK. With `sink`, each query head has one more score,
    sink[h], for all of its rows. It is part of the sum of exponentials, which the LSE states, but
    has no value. So the formulas of dQ, dK and dV do not change, and sink has a gradient,
    separately for each sequence: dsink[b, h] = -sum over rows i of exp(sink[h] - LSE[b, h, i]) *
    delta[b, h, i]; for a list, b counts its sequences. A caller adds over them, in any order: at
    every level, the bits of an entry depend on no other sequence.

    q, k, v, d_out, dq, dk and dv are memrefs [batch, heads, rows, head dim]. Any strides are
    allowed as long as the innermost is 1, so the layouts "heads before rows" and "rows before
    heads" are one type with two strides. lse, the logarithm of each row's sum of exponentials, and
    delta are [batch, heads, q rows], sink is [heads], and dsink is [batch, heads], for a list
    [sequences, heads]. Exactly one of `o`, the forward's output, and `delta` is given. O may be
    f32, as it is before the forward rounds it: then delta lacks the error of that rounding. `scale`
    is 1/sqrt(head dim of q) unless given. With `sequences`, the rows of all sequences are
    contiguous in a batch of 1; without it, each batch entry is a sequence.

    **Preconditions**
    - q, k, v, d_out and o are all bf16 or all f16, or o is f32; dq, dk and dv are of the type of q;
      lse, delta, sink and dsink are f32.
    - Head dims are static: that of q and k, and that of v, are multiples of 8 up to 256.
    - k and v have the same heads, and q a multiple of them; sizes that must agree do, if static.
    - The softcap is a finite number above 0. A sink comes with its dsink.
    - `ds` stands beside dk and dv, or beside dq, has the elements of q, and a mask without a left
      side and without rules; sequences form no list. It holds `4096 * (1 + batch * heads *
      ceildiv(kv rows, 64) * 6 * ceildiv(q rows, 384))` numbers.
    - Stands outside `dash.items`. No output is the same value as another output or as an input, or
      overlaps one in memory.

    **Postconditions**: dq, dk, dv and dsink are written in full. A row that sees no column has an
    LSE of -inf: its dQ is zero, and it adds nothing to dK, dV and dsink. The dK and dV of a column
    that no row sees are zero. Nothing else is written.

    **Example**
    ```mlir
    func.func @bwd(%q: memref<2x8x512x128xbf16>, %k: memref<2x2x512x128xbf16>,
                   %v: memref<2x2x512x128xbf16>, %do: memref<2x8x512x128xbf16>,
                   %o: memref<2x8x512x128xbf16>, %lse: memref<2x8x512xf32>,
                   %dq: memref<2x8x512x128xbf16>, %dk: memref<2x2x512x128xbf16>,
                   %dv: memref<2x2x512x128xbf16>) {
      dash.attention_bwd
        ins(%q, %k, %v, %do, %lse, o = %o
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>,
              memref<2x8x512x128xbf16>, memref<2x8x512xf32>, memref<2x8x512x128xbf16>)
        outs(%dq, %dk, %dv
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
        mask(<causal>) level(run)
      return
    }

    // Capped scores, and a sink.
    func.func @bwd_sink(%q: memref<2x8x512x128xbf16>, %k: memref<2x2x512x128xbf16>,
                        %v: memref<2x2x512x128xbf16>, %do: memref<2x8x512x128xbf16>,
                        %o: memref<2x8x512x128xbf16>, %lse: memref<2x8x512xf32>,
                        %dq: memref<2x8x512x128xbf16>, %dk: memref<2x2x512x128xbf16>,
                        %dv: memref<2x2x512x128xbf16>, %sink: memref<8xf32>,
                        %dsink: memref<2x8xf32>) {
      dash.attention_bwd
        ins(%q, %k, %v, %do, %lse, o = %o
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>,
              memref<2x8x512x128xbf16>, memref<2x8x512xf32>, memref<2x8x512x128xbf16>)
        outs(%dq, %dk, %dv
            : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
        mask(<causal>) level(run) sink(%sink, %dsink : memref<8xf32>, memref<2x8xf32>)
        softcap(50.0)
      return
    }

    // dQ alone, in one kernel that adds nothing in memory.
    func.func @bwd_dq(%q: memref<2x8x512x256xbf16>, %k: memref<2x2x512x256xbf16>,
                      %v: memref<2x2x512x256xbf16>, %do: memref<2x8x512x256xbf16>,
                      %o: memref<2x8x512x256xbf16>, %lse: memref<2x8x512xf32>,
                      %dq: memref<2x8x512x256xbf16>) {
      dash.attention_bwd
        ins(%q, %k, %v, %do, %lse, o = %o
            : memref<2x8x512x256xbf16>, memref<2x2x512x256xbf16>, memref<2x2x512x256xbf16>,
              memref<2x8x512x256xbf16>, memref<2x8x512xf32>, memref<2x8x512x256xbf16>)
        outs(dq = %dq : memref<2x8x512x256xbf16>)
        mask(<causal>) level(run)
      return
    }
    ```

    **Errors**
    - `'q' must be a memref of rank 4 [batch, heads, rows, head dim], got 'memref<8x128xbf16>'`
    - `expected all gradients, dk and dv, or dq`
    - `'sink' has its gradient beside dk and dv: a program of dq has none`
    - `'ds' goes from a program of dk and dv to one of dq: a program of all gradients has none`
    - `'ds' must be tiles of 4096 numbers, as 'memref<?x4096xbf16>', got 'memref<?x64xbf16>'`
    - `'ds' goes with a mask that has no left side and no rules, and with no list of sequences`
    - `'q' must have bf16 or f16 elements, got 'f32'`
    - `'k' must have elements of the type of 'q', 'bf16', got 'f16'`, and so for o, unless it is f32
    - `'lse' must have f32 elements, got 'bf16'`
    - `'q' must have a strided layout, got ...`
    - `'q' must have an innermost stride of 1, got 2`
    - `'q' must have a static head dim`
    - `head dim of 'q' must be a multiple of 8 up to 256, got 84`
    - `head dim of 'v' must be a multiple of 8 up to 256, got 264`
    - `'dk' must have the heads of 'k', 2, got 8`, and so for batch, rows and head dim
    - `heads of 'q' must be a multiple of the heads of 'k', got 8 and 3`
    - `rows of 'q' must be at least 1, got 0`, and so for every static size
    - `needs exactly one of 'o' and 'delta', got both`
    - `level 'row' is of a forward only: dK and dV are sums over rows of q; expected run, batch,
      machine or world`
    - `'sequences' needs a batch of 1, got 2`
    - `'sink' must be a memref of rank 1 [heads], got 'memref<1x8xf32>'`, and so for dsink, `[batch,
      heads]`
    - `'sink' must have the heads of 'q', 8, got 4`
    - `'sink' and 'dsink' come together, got 'sink' alone`
    - `'dsink' must have a row for each of the 2 sequences, got 1`
    - `'softcap' must be a finite number above 0, got -1.0`
    - those of the mask's rules, `'bits' must have 8 rows (kv blocks), for the longest sequence's
      1000 key rows, got 4` for one, where types or `sequences` say how long sequences are
    - `rows of 'q' must be the sum of the sequences' query rows, 3000, got 2000`
    - `output 'dk' must not be the same value as 'k'`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<AnyMemRef, "queries [batch, heads, q rows, head dim]", [MemRead]>:$q,
    Arg<AnyMemRef, "keys [batch, kv heads, kv rows, head dim]", [MemRead]>:$k,
    Arg<AnyMemRef, "values [batch, kv heads, kv rows, head dim of v]", [MemRead]>:$v,
    Arg<AnyMemRef, "gradient of o [batch, heads, q rows, head dim of v]", [MemRead]>:$d_out,
    Arg<AnyMemRef, "log of the sum of exponentials [batch, heads, q rows]", [MemRead]>:$lse,
    Arg<Optional<AnyMemRef>, "output [batch, heads, q rows, head dim of v]", [MemRead]>:$o,
    Arg<Optional<AnyMemRef>, "rowsum(O * dO) [batch, heads, q rows]", [MemRead]>:$delta,
    Arg<Optional<AnyMemRef>, "gradient of q, shaped as q", [MemWrite]>:$dq,
    Arg<Optional<AnyMemRef>, "gradient of k, shaped as k", [MemWrite]>:$dk,
    Arg<Optional<AnyMemRef>, "gradient of v, shaped as v", [MemWrite]>:$dv,
    Arg<Optional<AnyMemRef>, "a score of each query head without a value [heads]", [MemRead]>:$sink,
    Arg<Optional<AnyMemRef>, "gradient of sink, of each sequence [batch, heads]",
    [MemWrite]>:$dsink,
    Arg<Optional<F32>, "factor on Q K^T; 1/sqrt(head dim of q) if absent">:$scale,
    Arg<Optional<AnyMemRef>, "dS, from the program of dk and dv to that of dq [tiles, 4096]",
    [MemRead, MemWrite]>:$ds,
    Arg<MaskAttr, "which columns a row attends to">:$mask,
    Arg<DeterminismLevelAttr, "what the bits must not depend on">:$level,
    Arg<OptionalAttr<SequencesAttr>, "rows of each sequence, in a batch of 1">:$sequences,
    Arg<OptionalAttr<F32Attr>, "cap of scores: c of c * tanh(score / c)">:$softcap,
    Arg<OptionalAttr<TilingAttr>, "how kernels cut it into tiles, once chosen">:$tiling);
  let assemblyFormat = [{
    `\n` ` ` ` ` ` ` ` ` `ins` `(`
      custom<Inputs>($q, $k, $v, $d_out, $lse, $o, $delta, type($q), type($k), type($v),
                     type($d_out), type($lse), type($o), type($delta)) `)`
    `\n` ` ` ` ` ` ` ` ` `outs` `(`
      custom<Outputs>($dq, $dk, $dv, type($dq), type($dk), type($dv)) `)`
    `\n` ` ` ` ` ` ` ` ` `mask` `(` $mask `)`
    `level` `(` custom<Level>($level) `)`
    (`scale` `(` $scale^ `)`)? (`sequences` `(` $sequences^ `)`)?
    (`sink` `(` $sink^ `,` $dsink `:` type($sink) `,` type($dsink) `)`)?
    (`softcap` `(` $softcap^ `)`)? (`ds` `(` $ds^ `:` type($ds) `)`)?
    (`tiling` `(` qualified($tiling)^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Types of the operands; the verifier has checked that they are memrefs.
    MemRefType typeOf(Value value) { return cast<MemRefType>(value.getType()); }

    Type getElementType() { return typeOf(getQ()).getElementType(); }

    /// Whether items that own q tiles compute it: dQ alone.
    bool ownsQ() { return !getDk(); }
    /// Whether it computes dQ alone, or dK and dV alone.
    bool isPart() { return !getDq() || !getDk(); }
  }];
  let hasVerifier = 1;
}

def DeltaOp : Dash_Op<"delta", [OutsideItems]> {
  let summary = "Row sums of O * dO";
  let description = [{
    `delta[b, h, i] = sum over d of o[b, h, i, d] * d_out[b, h, i, d]`, in f32, for whole tensors.

    **Preconditions**: o and d_out have one shape, if static. d_out is bf16 or f16, and o of the
    same type or f32. delta has their first three sizes, in f32. Stands outside `dash.items`.
    **Postconditions**: delta is written in full.

    **Example**
    ```mlir
    func.func @delta(%o: memref<?x?x?x128xbf16>, %do: memref<?x?x?x128xbf16>,
                     %delta: memref<?x?x?xf32>) {
      dash.delta ins(%o, %do : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
                 outs(%delta : memref<?x?x?xf32>)
      return
    }

    // Of an output that is not rounded.
    func.func @delta_unrounded(%o: memref<?x?x?x128xf32>, %do: memref<?x?x?x128xbf16>,
                               %delta: memref<?x?x?xf32>) {
      dash.delta ins(%o, %do : memref<?x?x?x128xf32>, memref<?x?x?x128xbf16>)
                 outs(%delta : memref<?x?x?xf32>)
      return
    }
    ```

    **Errors**
    - `'d_out' must have elements of the type of 'o', 'bf16', got 'f16'`
    - `'d_out' must have the head dim of 'o', 128, got 64`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<MemRefRankOf<[BF16, F16, F32], [4]>,
    "output of the forward [batch, heads, q rows, head dim]", [MemRead]>:$o,
    Arg<HalfMemRef, "its gradient, shaped as o", [MemRead]>:$d_out,
    Arg<RowMemRef, "the sums [batch, heads, q rows]", [MemWrite]>:$delta);
  let extraClassDeclaration = [{
    /// The role of the sums: that of a given delta.
    TensorRoleAttr getRole();
  }];
  let assemblyFormat = [{
    `ins` `(` $o `,` $d_out `:` type($o) `,` type($d_out) `)`
    `outs` `(` $delta `:` type($delta) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def SinkGradientOp : Dash_Op<"sink_gradient", [OutsideItems]> {
  let summary = "The gradient of an attention sink for each sequence";
  let description = [{
    `dsink[b, h] = -sum over i of exp(sink[h] - lse[b, h, i]) * delta[b, h, i]`, in f32, for whole
    tensors. A row whose lse is infinite counts as 0. With `sequences` (those of the `dash.items`
    that read delta), b counts these sequences, whose rows are contiguous in a batch of 1. The sum
    has one order, at any level, which depends only on the sequence's rows:

    - rows are taken in runs of 32, from the sequence's first; rows missing in the last run are +0.
      A run is added in pairs: rows 2i and 2i + 1, then those sums in pairs, down to one;
    - run r is added to sum r mod 32 of 32 sums, each starting from +0 and in the order of runs;
      these sums are added in pairs, like rows.

    **Preconditions**: lse and delta have one shape; sink has their heads; dsink has their batch, or
    one row for each sequence, and their heads, if static. All are f32. Stands outside `dash.items`.
    **Postconditions**: dsink is written in full; for an empty sequence it is a sum without runs.

    **Example**
    ```mlir
    func.func @sink_gradient(%sink: memref<?xf32>, %lse: memref<?x?x?xf32>,
                             %delta: memref<?x?x?xf32>, %dsink: memref<?x?xf32>) {
      dash.sink_gradient ins(%sink, %lse, %delta
                             : memref<?xf32>, memref<?x?x?xf32>, memref<?x?x?xf32>)
                         outs(%dsink : memref<?x?xf32>)
      return
    }

    // For sequences whose lengths come with each launch.
    func.func @sinks_of_list(%sink: memref<8xf32>, %lse: memref<1x8x?xf32>,
                             %delta: memref<1x8x?xf32>, %dsink: memref<?x8xf32>) {
      dash.sink_gradient ins(%sink, %lse, %delta
                             : memref<8xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>)
                         outs(%dsink : memref<?x8xf32>) sequences(<?>)
      return
    }
    ```

    **Errors**
    - `'delta' must have the rows of 'lse', 512, got 256`, and so for batch and heads, and those of
      dsink
    - `'sink' must have the heads of 'lse', 8, got 4`
    - `'sequences' needs a batch of 1, got 2`; `'dsink' must have a row for each of the 2 sequences,
      got 1`
    - `must have the sequences of the 'dash.items' that read its delta`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<MemRefRankOf<[F32], [1]>, "the scores [heads]", [MemRead]>:$sink,
    Arg<RowMemRef, "log of the sum of exponentials, the sink's too [batch, heads, q rows]",
    [MemRead]>:$lse,
    Arg<RowMemRef, "rowsum(O * dO), shaped as lse", [MemRead]>:$delta,
    Arg<MemRefRankOf<[F32], [2]>, "the gradient [batch, heads], or [sequences, heads]",
    [MemWrite]>:$dsink,
    Arg<OptionalAttr<SequencesAttr>, "rows of each sequence, in a batch of 1">:$sequences);
  let assemblyFormat = [{
    `ins` `(` $sink `,` $lse `,` $delta `:` type($sink) `,` type($lse) `,` type($delta) `)`
    `outs` `(` $dsink `:` type($dsink) `)` (`sequences` `(` $sequences^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The rows of a run that is added in pairs, and the number of sums of such runs. A warp has as
    /// many lanes.
    static constexpr int64_t rowsOfRun = 32;
  }];
  let hasVerifier = 1;
}

def ConvertOp : Dash_Op<"convert", [OutsideItems]> {
  let summary = "Round f32 sums to the gradient's type";
  let description = [{
    `target = round(scale * source)` for whole tensors, to nearest even; the factor is 1 if absent.
    With `layout`, the source holds tile after tile of a kernel's sums, each in memory as the
    warpgroups that added it hold it in registers: the attribute is the encoding of what they add.
    With `pieces`, each tile of the target was added in so many pieces, which lie one behind the
    other: `dash.piece` says what is in them. With `apart`, contributions to the source were kept in
    places of their own: they are added up first, in the order of their turns, as
    `dash.ordered_reduce` adds. With `awaits_completion`, each tile is rounded once the last turn of
    its chain has signalled that its sum is complete (`signals_completion` there), while others are
    still added to.

    **Preconditions**: source and target have one shape if static; source may have more columns,
    which are never read. Stands outside `dash.items`.
    **Postconditions**: target is written in full.

    **Example**
    ```mlir
    func.func @convert(%sum: memref<?x?x?x128xf32>, %dq: memref<?x?x?x128xbf16>, %scale: f32) {
      dash.convert %sum to %dq scale(%scale) : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
      return
    }
    ```

    **Errors**
    - `'source' must have the head dim of 'target', 128, or more, got 64`
    - `'layout' must be an accumulator's, got #dash.fragment<per_column, replicated by 2>`
    - `'pieces' must be at least 2, got 1`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<SumMemRef, "f32 sums [batch, heads, rows, head dim or more]", [MemRead]>:$source,
    Arg<HalfMemRef, "gradient, shaped as the source", [MemWrite]>:$target,
    Arg<Optional<F32>, "factor before rounding; 1 if absent">:$scale,
    Arg<OptionalAttr<FragmentAttr>,
    "how a tile of the source lies in memory, once tiles have layouts">:$layout,
    Arg<OptionalAttr<I64Attr>, "in how many pieces tiles were added; 1 if absent">:$pieces,
    Arg<UnitAttr, "contributions are still to be added up">:$apart,
    Arg<UnitAttr, "for each sum until it is complete">:$awaits_completion);
  let builders = [OpBuilder<(ins "Value":$source, "Value":$target, "Value":$scale),
    "build($_builder, $_state, source, target, scale, FragmentAttr(), IntegerAttr(), UnitAttr(), "
        "UnitAttr());">];
  let assemblyFormat = [{
    $source `to` $target (`scale` `(` $scale^ `)`)? (`layout` `(` $layout^ `)`)?
    (`pieces` `(` $pieces^ `)`)? (`apart` $apart^)? (`awaits_completion` $awaits_completion^)?
    attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHCOMPUTEOPS_TD
