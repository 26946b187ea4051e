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
