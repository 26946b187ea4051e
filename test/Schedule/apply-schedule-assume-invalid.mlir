// RUN: not dash-opt %s --dash-apply-schedule='kind=synthesized assume=true' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not dash-opt %s --dash-apply-schedule='kind=shift form=table assume=true sizes=q:512,batch:2' 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not dash-opt %s --dash-apply-schedule='kind=file path=%S/Inputs/order.json assume=true sizes=q:512,kv:512,batch:1' 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: not dash-opt %dash_examples/bwd-window.mlir --dash-tile --dash-apply-schedule='kind=symmetric-shift assume=true' 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: not dash-opt %dash_examples/bwd-union.mlir --dash-tile --dash-apply-schedule='kind=shift assume=true' 2>&1 | FileCheck %s --check-prefix=UNION

// A table would serve assumed sizes alone: whether a kind's order is always one, is asked for as one, or has to be.
func.func @attention_bwd(%q: memref<?x?x?x128xbf16>) {
  dash.items unscheduled over(%q, %q, %q : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// ROWS:  :{{[0-9]+}}:3: error: size 'q' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=q:4096, or take a kind with formulas for this mask: ascending, descending, shift, symmetric-shift
// KEYS:  :{{[0-9]+}}:3: error: size 'kv' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=kv:512{{$}}
// HEADS: :{{[0-9]+}}:3: error: size 'heads' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=heads:16{{$}}
// LEFT:  :{{[0-9]+}}:3: error: size 'q' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=q:4096, or take a kind with formulas for this mask: ascending, descending, shift{{$}}
// UNION: :{{[0-9]+}}:3: error: size 'q' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=q:4096, or take a kind with formulas for this mask: ascending, descending{{$}}
