// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @round
// CHECK:         dash.round %{{.+}} : tensor<128x64xf32> to tensor<128x64xbf16>
// CHECK-NEXT:    dash.round %{{.+}} : tensor<128x64xf32> to tensor<128x64xf16>
// CHECK-NEXT:    dash.round %{{.+}} scale(%{{.+}}) : tensor<128x64xf32> to tensor<128x64xbf16>
func.func @round(%q: !T, %k: !T, %v: !T, %pt: tensor<128x64xf32>, %scale: f32) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.round %pt : tensor<128x64xf32> to tensor<128x64xbf16>
    %1 = dash.round %pt : tensor<128x64xf32> to tensor<128x64xf16>
    %2 = dash.round %pt scale(%scale) : tensor<128x64xf32> to tensor<128x64xbf16>
  }
  return
}
