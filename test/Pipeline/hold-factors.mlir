// RUN: dash-opt %s --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors | FileCheck %s
// RUN: sed s/x64xbf16/x128xbf16/ %s | dash-opt --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors | FileCheck %s --check-prefix=LARGE
// RUN: sed s/x64xbf16/x96xbf16/ %s | dash-opt --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors | FileCheck %s --check-prefix=MIDDLE

// Head dim 96: there is room for one, and K's slot is read by dQ, too.
// MIDDLE:         %[[V:[^,]+]] = dash.wait %v_tiles
// MIDDLE-NOT:     dash.load_factor %{{k.*}}
// MIDDLE:         dash.load_factor %[[V]] : tensor<128x96xbf16> -> tensor<128x96xbf16>
// MIDDLE-NOT:     dash.load_factor

// Head dim 64: K and V stay in registers for S and dP. dQ reads K by columns, from its slot. At head dim 128 there is no room.
// CHECK:         dash.role "compute"
// CHECK:           %[[K:[^,]+]], %{{.+}} = dash.wait %k_tiles
// CHECK-NEXT:      %[[V:.+]] = dash.wait %v_tiles
// CHECK-NEXT:      %[[K_ROWS:.+]] = dash.load_factor %[[K]] : tensor<128x64xbf16> -> tensor<128x64xbf16>
// CHECK-NEXT:      %[[V_ROWS:.+]] = dash.load_factor %[[V]] : tensor<128x64xbf16> -> tensor<128x64xbf16>
// CHECK-NEXT:      dash.walk
// CHECK-DAG:         dash.matmul transpose %{{.+}}, %[[K]] stage(2)
// CHECK-DAG:         dash.matmul %[[K_ROWS]], transpose %{{.+}} stage(0)
// CHECK-DAG:         dash.matmul %[[V_ROWS]], transpose %{{.+}} stage(0)
// LARGE:         dash.role "compute"
// LARGE-NOT:       dash.load_factor
!T = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<full>) level(run)
  return
}
