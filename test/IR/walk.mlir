// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// Two values go from each task to the next.
// CHECK-LABEL: func.func @carries
// CHECK:         %[[R:.+]]:2 = dash.walk (%{{.+}}, %{{.+}}) init(%[[A0:.+]] = %[[A:.+]], %[[B0:.+]] = %[[B:.+]]) : tensor<64x128xf32>, tensor<64xf32> attributes {tag = 1 : i64} {
// CHECK-NEXT:      dash.yield %[[A0]], %[[B0]] : tensor<64x128xf32>, tensor<64xf32>
// CHECK-NEXT:    }
func.func @carries(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>, %b: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %a1, %b1 = dash.walk (%head, %qi) init(%a0 = %a, %b0 = %b) : tensor<64x128xf32>, tensor<64xf32>
        attributes {tag = 1} {
      dash.yield %a0, %b0 : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// Nothing is carried: the body has no visible end.
// CHECK-LABEL: func.func @carries_nothing
// CHECK:         dash.walk (%{{.+}}, %{{.+}}) {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @carries_nothing(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
    }
  }
  return
}

// A software pipeline: ops stand in the order in which a turn issues them, so one of a later stage, whose step is an earlier one,
// may stand in front of what it reads.
// CHECK-LABEL: func.func @pipelines
// CHECK:         %[[R:.+]] = dash.walk (%{{.+}}, %{{.+}}) init(%[[R0:.+]] = %{{.+}}) : tensor<128x128xf32> steps(%[[N:.+]]) stages(3) attributes {tag = 1 : i64} {
// CHECK-NEXT:      %[[R1:.+]] = dash.matmul %[[P:.+]], %{{.+}} accumulate(%[[R0]]) stage(1) :
// CHECK-NEXT:      dash.round %[[R1]] stage(2) :
// CHECK-NEXT:      %[[P]] = dash.round %{{.+}} stage(0) :
// CHECK-NEXT:      dash.yield %[[R1]] : tensor<128x128xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    dash.walk (%{{.+}}, %{{.+}}) stages(1) {
func.func @pipelines(%q: !T, %k: !T, %v: !T, %n: index, %zero: tensor<128x128xf32>, %s: tensor<128x64xf32>,
                     %b: tensor<64x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %r = dash.walk (%head, %qi) init(%r0 = %zero) : tensor<128x128xf32> steps(%n) stages(3) attributes {tag = 1} {
      %r1 = dash.matmul %p, %b accumulate(%r0) stage(1)
        : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %rounded = dash.round %r1 stage(2) : tensor<128x128xf32> to tensor<128x128xbf16>
      %p = dash.round %s stage(0) : tensor<128x64xf32> to tensor<128x64xbf16>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.walk (%head, %qi) stages(1) {
    }
  }
  return
}
