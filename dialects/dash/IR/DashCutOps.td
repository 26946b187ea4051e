//===- DashCutOps.td - a forward whose keys are cut -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each item of such a forward sees a piece of the keys. What it makes of a row is whole by itself:
// an output and an LSE. The op here puts a row's pieces together.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHCUTOPS_TD
#define DASH_IR_DASHCUTOPS_TD

include "dash/IR/DashOpBase.td"

def CombineOp : Dash_Op<"combine", [OutsideItems]> {
  let summary = "The output and the LSE of rows, from those of pieces of their keys";
  let description = [{
    For each row of each head, over the pieces p of its sequence's keys, upward, with L(p) =
    lse_pieces[p] and O(p) = o_pieces[p], in f32:

    ```
    M = the largest L(p) that is neither -inf nor NaN, or the sink; -inf if there is none
    w(p) = 2^((L(p) - M) * log2(e)), 0 if L(p) is -inf
    l = w of the sink, 1 if the sink is M, or 0 without one; then l = l + w(p)
    x[d] = 0; then x[d] = w(p) * O(p)[d] + x[d]              (a fused multiply-add)
    o[d] = round(x[d] * (1 / l) + 0), 0 if l is 0            (a fused multiply-add)
    lse = M + log2(l) * ln(2), -inf if l is 0
    ```

    A piece of which the row sees nothing has an L of -inf. It leaves M, l and x as they are,
    wherever it stands. So a row's result depends on the pieces that it sees, and on nothing else.
    If there is one such piece and no sink, o and lse are the piece's own. A sink is a score without
    a value in front of the first piece.

    The pieces are in memory that has the heads of the first piece, then those of the second, and so
    on: `piece * heads + head`. Pieces count from the start of each sequence. Those that a sequence
    does not have are not read by kernels, and hold -inf on the CPU lane.

    **Preconditions**: o and lse have the batch and the rows of the pieces, if static; heads of both
    pieces agree, and are a multiple of those of o; o_pieces may have more columns, which are never
    read. Stands outside `dash.items`.
    **Postconditions**: o and lse are written for each row of a sequence.

    **Example**
    ```mlir
    func.func @combine(%o_pieces: memref<?x?x?x128xf32>, %lse_pieces: memref<?x?x?xf32>,
                       %o: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>) {
      dash.combine %o_pieces, %lse_pieces into %o, %lse cut(2048)
        : memref<?x?x?x128xf32>, memref<?x?x?xf32> into memref<?x?x?x128xbf16>, memref<?x?x?xf32>
      return
    }

    // With a sink.
    func.func @combine_sink(%o_pieces: memref<1x32x?x64xf32>, %lse_pieces: memref<1x32x?xf32>,
                            %sink: memref<8xf32>, %o: memref<1x8x?x64xf16>,
                            %lse: memref<1x8x?xf32>) {
      dash.combine %o_pieces, %lse_pieces sink(%sink : memref<8xf32>) into %o, %lse cut(2048)
        : memref<1x32x?x64xf32>, memref<1x32x?xf32> into memref<1x8x?x64xf16>, memref<1x8x?xf32>
      return
    }
    ```

    **Errors**
    - `'o_pieces' must have the rows of 'o', 512, got 256`, and so for batch, and for lse and its
      pieces
    - `heads of 'o_pieces' must be a multiple of the heads of 'o', got 12 and 8`
    - `'o_pieces' must have the head dim of 'o', 128, or more, got 64`
    - `'sink' must have the heads of 'lse', 8, got 4`
    - `stands outside 'dash.items' only: it works on whole tensors`
  }];
  let arguments = (ins
    Arg<SumMemRef, "outputs of pieces [batch, pieces * heads, q rows, head dim of v or more]",
    [MemRead]>:$o_pieces,
    Arg<RowMemRef, "their LSE [batch, pieces * heads, q rows]", [MemRead]>:$lse_pieces,
    Arg<Optional<HeadMemRef>, "a score of each head without a value [heads]", [MemRead]>:$sink,
    Arg<HalfMemRef, "output [batch, heads, q rows, head dim of v]", [MemWrite]>:$o,
    Arg<RowMemRef, "log of the sum of exponentials [batch, heads, q rows]", [MemWrite]>:$lse,
    Arg<ConfinedAttr<I64Attr, [IntPositive]>, "kv rows of a piece">:$cut);
  let assemblyFormat = [{
    $o_pieces `,` $lse_pieces (`sink` `(` $sink^ `:` type($sink) `)`)? `into` $o `,` $lse
    `cut` `(` $cut `)` attr-dict `:` type($o_pieces) `,` type($lse_pieces) `into` type($o) `,`
    type($lse)
  }];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHCUTOPS_TD
