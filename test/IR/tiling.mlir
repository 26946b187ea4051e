// A tiling and the splits of products read back as they are written; a tiling has a name at the top.
// RUN: dash-opt %s --verify-roundtrip | FileCheck %s
// RUN: dash-opt %s | dash-opt --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>

// Lists are printed in the order of names.
// CHECK: #tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [v], slots = {do = 2, dq = 2, ds = 2, k = 1, q = 3, v = 1}>
// CHECK: #[[$TWO:.+]] = #dash.tiling<tiles = <q = 64, kv = 64>, columns = 192, columns_v = 128, structure = alternating, splits = {s = 1 x 1}, hold = [], slots = {out = 0}>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating,
                       splits = {s = 2 x 1, dp = 2 x 1, dv = 2 x 1, dk = 2 x 1, dq = 1 x 2}, hold = [v],
                       slots = {k = 1, v = 1, q = 3, do = 2, ds = 2, dq = 2}>

// CHECK-LABEL: func @backward
// CHECK:         mask(<causal>) level(run) tiling(#tiling)
// GENERIC:       tiling = #tiling
func.func @backward(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<causal>) level(run) tiling(#tiling)
  return
}

// CHECK-LABEL: func @items
// CHECK:         tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling)
// CHECK:         dash.matmul %{{.+}}, transpose %{{.+}} split(<2 x 1>) :
// GENERIC:       split = #dash.split<2 x 1>
func.func @items(%q: !T, %k: !T, %v: !T, %kt: tensor<128x128xbf16>, %qt: tensor<64x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv) {
    %s = dash.matmul %kt, transpose %qt split(<2 x 1>)
      : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
  }
  return
}

// V may have tiles of its own width. Results may have no slots of their own.
// CHECK-LABEL: func.func private @own_width_of_v
// CHECK-SAME:    tiling = #[[$TWO]]
func.func private @own_width_of_v() attributes {tiling = #dash.tiling<tiles = <q = 64, kv = 64>, columns = 192, columns_v = 128,
    structure = alternating, splits = {s = 1 x 1}, hold = [], slots = {out = 0}>}
