// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// The ops of a forward's task, with a sink and a softcap.
// CHECK-LABEL: func.func @forward
// CHECK:         %[[MAX:.+]], %[[SUM:.+]] = dash.sink_state %{{.+}}[%{{.+}}] : memref<?xf32> -> tensor<64xf32>, tensor<64x4xf32>
// CHECK-NEXT:    %[[END:.+]]:3 = dash.walk
// CHECK:           %[[S:.+]] = dash.matmul
// CHECK-NEXT:      %[[CAPPED:.+]] = dash.softcap %[[S]] cap(5.000000e+01) scale(%{{.+}}) : tensor<64x128xf32>
// CHECK-NEXT:      %[[Y:.+]] = dash.visible %[[CAPPED]] at(%{{.+}}, %{{.+}}, %{{.+}}) : tensor<64x128xf32>
// CHECK-NEXT:      %[[NEXT:.+]], %[[FACTOR:.+]] = dash.running_max %[[Y]], %{{.+}} scale(%{{.+}}) slack(8.000000e+00) : tensor<64x128xf32>, tensor<64xf32>
// CHECK-NEXT:      %[[P:.+]] = dash.exponential %[[Y]], %[[NEXT]] scale(%{{.+}}) : tensor<64x128xf32>, tensor<64xf32>
// CHECK-NEXT:      %[[L:.+]] = dash.running_sum %[[P]], %{{.+}} times(%[[FACTOR]]) : tensor<64x128xf32>, tensor<64x4xf32>, tensor<64xf32>
// CHECK-NEXT:      %[[ROUNDED:.+]] = dash.round %[[P]]
// CHECK-NEXT:      %[[O:.+]] = dash.rescale %{{.+}}, %[[FACTOR]] : tensor<64x128xf32>, tensor<64xf32>
// CHECK:         %[[OUT:.+]], %[[LSE:.+]] = dash.finish %[[END]]#0, %[[END]]#1, %[[END]]#2 : tensor<64x128xf32>, tensor<64xf32>, tensor<64x4xf32>
// CHECK-NEXT:    dash.store %[[OUT]], %{{.+}} : tensor<64x128xf32> -> memref<?x?x?x128xbf16>
// CHECK-NEXT:    dash.store_row %[[LSE]], %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<64xf32> -> memref<?x?x?xf32>
func.func @forward(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>, %scale: f32) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %cap = arith.constant 50.0 : f32
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    %max, %sum = dash.sink_state %sink[%head] : memref<?xf32> -> tensor<64xf32>, tensor<64x4xf32>
    %end:3 = dash.walk (%kv_head, %kv) init(%o0 = %zero, %m0 = %max, %l0 = %sum)
        : tensor<64x128xf32>, tensor<64xf32>, tensor<64x4xf32> {
      %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      %vt = dash.load %v[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      %s = dash.matmul %qt, transpose %kt : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      %capped = dash.softcap %s cap(50.0) scale(%scale) : tensor<64x128xf32>
      %y = dash.visible %capped at(%seq, %kv, %qi) : tensor<64x128xf32>
      %m1, %factor = dash.running_max %y, %m0 scale(%cap) slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      %p = dash.exponential %y, %m1 scale(%cap) : tensor<64x128xf32>, tensor<64xf32>
      %l1 = dash.running_sum %p, %l0 times(%factor) : tensor<64x128xf32>, tensor<64x4xf32>, tensor<64xf32>
      %rounded = dash.round %p : tensor<64x128xf32> to tensor<64x128xbf16>
      %scaled = dash.rescale %o0, %factor : tensor<64x128xf32>, tensor<64xf32>
      %o1 = dash.matmul %rounded, %vt accumulate(%scaled)
        : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.yield %o1, %m1, %l1 : tensor<64x128xf32>, tensor<64xf32>, tensor<64x4xf32>
    }
    %out, %log = dash.finish %end#0, %end#1, %end#2 : tensor<64x128xf32>, tensor<64xf32>, tensor<64x4xf32>
    dash.store %out, %o[%seq, %head, %qi] : tensor<64x128xf32> -> !T
    dash.store_row %log, %lse[%seq, %head, %qi] : tensor<64xf32> -> memref<?x?x?xf32>
  }
  return
}

// Without a factor; and a tile of 128 rows of q.
// CHECK-LABEL: func.func @unscaled
// CHECK:         dash.running_max %{{.+}}, %{{.+}} slack(0.000000e+00) : tensor<128x16xf32>, tensor<128xf32>
// CHECK:         dash.exponential %{{.+}}, %{{.+}} : tensor<128x16xf32>, tensor<128xf32>
func.func @unscaled(%q: !T, %k: !T, %v: !T) {
  %s = arith.constant dense<0.0> : tensor<128x16xf32>
  %max = arith.constant dense<0xFF800000> : tensor<128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 128, kv = 16>) mask(<full>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      %y = dash.visible %s at(%seq, %kv, %qi) : tensor<128x16xf32>
      %m1, %factor = dash.running_max %y, %max slack(0.0) : tensor<128x16xf32>, tensor<128xf32>
      %p = dash.exponential %y, %m1 : tensor<128x16xf32>, tensor<128xf32>
    }
  }
  return
}
