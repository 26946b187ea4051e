// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @reduce
// CHECK:         dash.reduce %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<64x128xf32> into memref<?x?x?x128xf32>
func.func @reduce(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %sum: memref<?x?x?x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    dash.reduce %t into %sum[%seq, %kv_head, %kv] : tensor<64x128xf32> into memref<?x?x?x128xf32>
  }
  return
}
