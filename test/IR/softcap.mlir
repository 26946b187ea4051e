// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @softcap
// CHECK:         %[[CAPPED:.+]] = dash.softcap %{{.+}} cap(5.000000e+01) scale(%{{.+}}) : tensor<128x64xf32>
// CHECK-NEXT:    dash.softcap %{{.+}} cap(1.500000e-01) : tensor<128x64xf32>
// CHECK-NEXT:    dash.damp %{{.+}}, %[[CAPPED]] : tensor<128x64xf32>
func.func @softcap(%q: !T, %k: !T, %v: !T, %st: tensor<128x64xf32>, %pt: tensor<128x64xf32>, %scale: f32) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.softcap %st cap(50.0) scale(%scale) : tensor<128x64xf32>
    %1 = dash.softcap %st cap(0.15) : tensor<128x64xf32>
    %2 = dash.damp %pt, %0 : tensor<128x64xf32>
  }
  return
}
