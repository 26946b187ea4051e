// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @yield
// CHECK:         dash.yield %{{.+}} : tensor<64xf32>
// An empty one is not printed.
// CHECK:         dash.walk (%{{.+}}, %{{.+}}) {
// CHECK-NEXT:    }
func.func @yield(%q: !T, %k: !T, %v: !T, %a: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %r = dash.walk (%head, %qi) init(%a0 = %a) : tensor<64xf32> {
      dash.yield %a0 : tensor<64xf32>
    }
    dash.walk (%head, %qi) {
      dash.yield
    }
  }
  return
}
