// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @store
// CHECK:         dash.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<128x128xf32> -> memref<?x?x?x128xbf16>
// CHECK-NEXT:    dash.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] scale(%{{.+}}) : tensor<64x128xf32> -> memref<?x?x?x128xbf16>
func.func @store(%q: !T, %k: !T, %v: !T, %dk: !T, %a: tensor<128x128xf32>, %b: tensor<64x128xf32>,
                 %scale: f32) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    dash.store %a, %dk[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
    dash.store %b, %dk[%seq, %kv_head, %kv] scale(%scale) : tensor<64x128xf32> -> !T
  }
  return
}

!DS = !dash.channel<tensor<128x64xbf16>>

// It leaves in two pieces through slots that the role fills by itself: of those that come next, the third and the fourth.
// CHECK-LABEL: func.func @leaves
// CHECK:         dash.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] through %ds_tiles : !channel_128x64xbf16 ahead(2) use(%{{.+}}) : tensor<128x128xf32> -> memref<?x?x?x128xbf16>
func.func @leaves(%dk: !T, %a: tensor<128x128xf32>, %i: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DS
    dash.role "compute" consumer warps(8) {
      dash.store %a, %dk[%i, %i, %i] through %ds_tiles : !DS ahead(2) use(%i) : tensor<128x128xf32> -> !T
    }
  }
  return
}
