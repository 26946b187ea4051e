// What docs/forward.md shows.
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=longest-first workers=8 sizes=q:300,kv:300,heads:4' -o forward.mlir && \
// RUN:   dash-run forward.mlir --seed=1 --out=forward
// RUN: ls forward | FileCheck %s

// O and the LSE, and the inputs that the seed made.
// CHECK:      k.npy
// CHECK-NEXT: lse.npy
// CHECK-NEXT: o.npy
// CHECK-NEXT: q.npy
// CHECK-NEXT: scale.npy
// CHECK-NEXT: v.npy
// CHECK-NOT:  {{.}}
