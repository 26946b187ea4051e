// RUN: dash-opt %s --dash-choose-tiling | FileCheck %s
// RUN: sed s/x64xbf16/x80xbf16/ %s | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=MIDDLE
// RUN: sed s/x64xbf16/x128xbf16/ %s | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/level(run)/& softcap(50.0)/' %s | dash-opt --dash-choose-tiling --remarks-filter='dash-choose.*' 2>&1 | FileCheck %s --check-prefix=CAPPED
// RUN: dash-opt %s --dash-choose-tiling='structure=alternating slots=q:3,dq:1' --remarks-filter='dash-choose.*' 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: sed s/x64xbf16/x128xbf16/ %s | dash-opt --dash-choose-tiling='slots=k:1' --remarks-filter='dash-choose.*' 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: dash-opt %s --dash-choose-tiling | dash-opt --dash-choose-tiling='structure=overlapping' | FileCheck %s
// RUN: dash-opt %s --dash-choose-tiling --dash-tile | FileCheck %s --check-prefix=TILED

// What was measured to be the fastest, for each width of tiles.
// CHECK:  #tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 64, structure = overlapping, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [k, v], slots = {dq = 2, ds = 4, k = 2, q_do = 4, v = 2}>
// MIDDLE: #tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 96, structure = alternating, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [v], slots = {do = 2, dq = 2, ds = 2, k = 2, q = 2, v = 2}>
// LARGE:  #tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [], slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>
// CHECK:  mask(<causal>) level(run) tiling(#tiling)

// Scores with a softcap take registers, in which K and V would be.
// CAPPED-NOT: remark: [Missed]
// CAPPED: remark: [Passed] tiling | Category:dash-choose-tiling | columns=64, hold=-, kv=128, measured=h200-2026-11-23-scores-speed.json, q=64, registers=240, sharedBytes=232448, structure=overlapping
// CAPPED-NOT: remark: [Missed]

// What the options ask for and nobody measured is chosen by the model, which says so.
// ASKED: remark: [Passed] tiling | Category:dash-choose-tiling | columns=64, hold="k v", kv=128, measured=no, q=64, registers=208, sharedBytes={{[0-9]+}}, structure=alternating
// ASKED: remark: [Missed] unmeasured | Category:dash-choose-tiling | Reason="no tiling of 64 columns is measured that the options leave: taken is what the model prices least"
// ASKED: slots = {do = 2, dq = 1, ds = 2, k = 2, q = 3, v = 2}>

// Options that ask for what was measured leave it.
// SAME-NOT: Missed
// SAME: hold = [], slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>

// Tiles are as wide as it says, products say how warpgroups split them, and the items keep the rest.
// TILED: dash.items unscheduled {{.+}}
// TILED-NEXT: tiles(<q = 64, kv = 128>) mask(<causal>) level(run) tiling(#tiling)
// TILED: dash.matmul %{{.+}}, transpose %{{.+}} split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
// TILED: dash.matmul transpose %{{.+}}, %{{.+}} split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
!T = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<causal>) level(run)
  return
}
