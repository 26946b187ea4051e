// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @probability
// CHECK:         dash.probability %{{.+}}, %{{.+}} at(%{{.+}}, %{{.+}}, %{{.+}}) : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
// CHECK-NEXT:    dash.probability %{{.+}}, %{{.+}} at(%{{.+}}, %{{.+}}, %{{.+}}) scale(%{{.+}}) : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
func.func @probability(%q: !T, %k: !T, %v: !T, %st: tensor<128x64xf32>, %lse: tensor<64xf32>, %scale: f32) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.probability %st, %lse at(%seq, %kv, %kv)
      : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
    %1 = dash.probability %st, %lse at(%seq, %kv, %kv) scale(%scale)
      : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  }
  return
}
