// Tiles that are wider than their tensors: the columns that a tensor does not have are zeros, which no bit of a gradient sees.
// RUN: rm -rf %t && mkdir %t
// RUN: dash-opt %s --dash-tile='q=16 kv=32' --dash-apply-schedule='kind=shift workers=3' -o %t/own.mlir
// RUN: dash-opt %s --dash-tile='q=16 kv=32 widths=64,96,128' --dash-apply-schedule='kind=shift workers=3' -o %t/wide.mlir
// RUN: dash-opt %s --dash-tile='q=16 kv=32 widths=128' --dash-apply-schedule='kind=shift workers=3 parts=2' -o %t/parts.mlir
// RUN: dash-opt %s --dash-tile='q=16 kv=32' --dash-apply-schedule='kind=shift workers=3 parts=2' -o %t/own-parts.mlir
// RUN: FileCheck %s --input-file=%t/wide.mlir
// RUN: dash-run %t/own.mlir --seed=3 --out=%t/own
// RUN: dash-run %t/wide.mlir --seed=3 --out=%t/wide
// RUN: diff -r %t/own %t/wide
// RUN: dash-run %t/own-parts.mlir --seed=3 --out=%t/own-parts
// RUN: dash-run %t/parts.mlir --seed=3 --out=%t/parts
// RUN: diff -r %t/own-parts %t/parts

// CHECK: #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 72, width = 96>
// CHECK: #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 40, width = 96>
// CHECK: memref.alloc() : memref<1x2x45x96xf32>
// CHECK: dash.load {{.*}} -> tensor<32x96xbf16>
// CHECK: dash.load {{.*}} -> tensor<32x96xbf16>
// CHECK: dash.store {{.*}} : tensor<32x96xf32> -> memref<1x1x70x72xbf16>
// CHECK: dash.store {{.*}} : tensor<32x96xf32> -> memref<1x1x70x40xbf16>

!q = memref<1x2x45x72xbf16>
!k = memref<1x1x70x72xbf16>
!v = memref<1x1x70x40xbf16>
!o = memref<1x2x45x40xbf16>
!row = memref<1x2x45xf32>

func.func @bwd(%q: !q, %k: !k, %v: !v, %do: !o, %o: !o, %lse: !row, %dq: !q, %dk: !k, %dv: !v, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !q, !k, !v, !o, !row, !o)
      outs(%dq, %dk, %dv : !q, !k, !v)
      mask(<causal>) level(run) scale(%scale)
  return
}
