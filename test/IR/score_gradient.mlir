// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @score_gradient
// CHECK:         dash.score_gradient %{{.+}}, %{{.+}}, %{{.+}} : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
// CHECK-NEXT:    dash.score_gradient %{{.+}}, %{{.+}}, %{{.+}} : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf16>
func.func @score_gradient(%q: !T, %k: !T, %v: !T, %pt: tensor<128x64xf32>, %dpt: tensor<128x64xf32>,
                          %delta: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.score_gradient %pt, %dpt, %delta
      : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
    %1 = dash.score_gradient %pt, %dpt, %delta
      : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf16>
  }
  return
}
