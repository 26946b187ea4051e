// RUN: rm -rf %t && mkdir %t
// RUN: dash-opt %s --dash-tile='q=16 kv=16' --dash-apply-schedule='kind=shift workers=2' -o %t/scheduled.mlir
// RUN: dash-run %t/scheduled.mlir --seed=1 --out=%t/first --function=bwd
// RUN: ls %t/first | FileCheck %s --check-prefix=FILES

// Inputs from the seed are outputs too, so that a run can be repeated: from the seed, from the files, and from the program that
// --dash-lower-to-loops makes.
// FILES:      delta.npy
// FILES-NEXT: dk.npy
// FILES-NEXT: do.npy
// FILES-NEXT: dq.npy
// FILES-NEXT: dv.npy
// FILES-NEXT: k.npy
// FILES-NEXT: lse.npy
// FILES-NEXT: q.npy
// FILES-NEXT: v.npy
// FILES-NOT:  {{.}}

// RUN: dash-run %t/scheduled.mlir --seed=1 --out=%t/again --function=bwd
// RUN: diff -r %t/first %t/again
// RUN: dash-run %t/scheduled.mlir --args=%t/first --out=%t/files --function=bwd --dump-contributions
// RUN: ls %t/files | FileCheck %s --check-prefix=OUTPUTS
// RUN: cmp %t/first/dq.npy %t/files/dq.npy
// RUN: cmp %t/first/dk.npy %t/files/dk.npy
// RUN: cmp %t/first/dv.npy %t/files/dv.npy
// RUN: dash-opt %t/scheduled.mlir --dash-lower-to-loops --canonicalize -o %t/lowered.mlir
// RUN: dash-run %t/lowered.mlir --seed=1 --out=%t/lowered --function=bwd
// RUN: diff -r %t/first %t/lowered

// OUTPUTS:      contributions-dq.npy
// OUTPUTS-NEXT: dk.npy
// OUTPUTS-NEXT: dq.npy
// OUTPUTS-NEXT: dv.npy
// OUTPUTS-NOT:  {{.}}

// Other numbers from another seed.
// RUN: dash-run %t/scheduled.mlir --seed=2 --out=%t/other --function=bwd
// RUN: not cmp %t/first/q.npy %t/other/q.npy
// RUN: not cmp %t/first/dq.npy %t/other/dq.npy

// The host module around it may hold anything.
func.func private @host(%x: i32) -> i32
func.func @unrelated() {
  return
}

!T = memref<1x2x40x64xf16>
!R = memref<1x2x40xf32>
func.func @bwd(%lse: !R, %delta: !R, %dq: !T, %dk: !T, %dv: !T, %q: !T, %k: !T, %v: !T, %do: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, delta = %delta : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<causal>) level(run)
  return
}
