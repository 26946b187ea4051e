// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// A kv tile, a q tile, a tile of a layout with heads inside rows, and one number a row.
// CHECK-LABEL: func.func @load
// CHECK:       dash.items unscheduled over
// CHECK-NEXT:      (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]]) {
// CHECK-NEXT:    dash.load %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : memref<?x?x?x128xbf16> -> tensor<128x128xbf16>
// CHECK-NEXT:    dash.load %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : memref<?x?x?x128xbf16> -> tensor<64x128xbf16>
// CHECK-NEXT:    dash.load %{{.+}} : memref<2x4x100x96xf16, strided<[38400, 96, 384, 1]>> -> tensor<64x96xf16>
// CHECK-NEXT:    dash.load %{{.+}} : memref<?x?x?xf32> -> tensor<64xf32>
func.func @load(%q: !T, %k: !T, %v: !T, %strided: memref<2x4x100x96xf16, strided<[38400, 96, 384, 1]>>,
                %lse: memref<?x?x?xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %1 = dash.load %q[%seq, %kv_head, %kv] : !T -> tensor<64x128xbf16>
    %2 = dash.load %strided[%seq, %kv_head, %kv]
      : memref<2x4x100x96xf16, strided<[38400, 96, 384, 1]>> -> tensor<64x96xf16>
    %3 = dash.load %lse[%seq, %kv_head, %kv] : memref<?x?x?xf32> -> tensor<64xf32>
  }
  return
}

// A tile of a task: of a q tile and a kv tile, which a mask may hide.
// CHECK-LABEL: func.func @load_task
// CHECK:           dash.load %{{.+}}[%[[SEQ:.+]], %[[HEAD:.+]], %[[Q:.+]]] with(%[[KV_HEAD:.+]], %[[KV:.+]]) mask(<causal>) : memref<?x4096xbf16> -> tensor<64x128xbf16>
func.func @load_task(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 128, kv = 64>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      %0 = dash.load %ds[%seq, %head, %qi] with(%kv_head, %kv) mask(<causal>)
        : memref<?x4096xbf16> -> tensor<64x128xbf16>
    }
  }
  return
}
