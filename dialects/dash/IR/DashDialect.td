//===- DashDialect.td - name, namespace and purpose of dash ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The root of the specification: every other .td file of the dialect includes this one.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHDIALECT_TD
#define DASH_IR_DASHDIALECT_TD

include "mlir/IR/OpBase.td"

def DashDialect : Dialect {
  let name = "dash";
  let cppNamespace = "::mlir::dash";
  let summary = "Deterministic attention backward passes and their orders";
  let description = [{
    `dash` describes *what* an attention backward computes on tiles and *in which order* its partial
    gradients are added. It has six forms, from the outside in:

    1. whole problem: one `dash.attention_bwd` on memrefs, without tiles and without an order;
    2. unscheduled: `dash.items unscheduled` around `dash.walk`, with the computation of one task as
       ops on tiles; `dash.reduce` adds contributions to dQ in any order;
    3. scheduled: `dash.items order(@name)`, where `@name` is a `dash.schedule`;
       `dash.ordered_reduce` adds each contribution at its turn;
    4. split: `dash.workers`, whose roles run the scheduled items at once and pass tiles to each
       other through channels; the walk of a consumer is a software pipeline, in which each op has a
       stage;
    5. loops: the same roles, with loops of scf in place of items and walks. The software pipeline
       is a prologue, a steady state and an epilogue; uses of channels are counted; tiles have
       layouts;
    6. waits: every wait, fence and arrival is an op, with its slot and phase, and a product is in
       flight until an op waits for it.

    Terms. A *tile* is a block of rows of Q, dO, dQ (q tile) or of K, V, dK, dV (kv tile). A *task*
    is the work on one pair (kv tile, q tile). A *sequence* is a set of rows that attend to each
    other; the tile grid restarts at each. An *item* is all tasks of one (sequence, kv head, kv
    tile, part), where a *part* is a run of the query heads of one kv head. A *chain* is the total
    order of the contributions to one tile, and a *turn* is a position in it.

    Ops of other dialects may have a few `dash.*` attributes, each with a fixed type and place
    (`dash.program` on a `gpu.module`, `dash.tensor` on an argument of a function). Any other
    `dash.*` is an error.

    Values are tiles, as static ranked tensors; whole tensors are memrefs of rank 4,
    [batch, heads, rows, head dim], or of rank 3, [batch, heads, rows].
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    void registerBytecode();
    void registerAliases();
  }];
}

#endif // DASH_IR_DASHDIALECT_TD
