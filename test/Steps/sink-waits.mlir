// RUN: dash-opt %s --dash-sink-waits | FileCheck %s

// A factor that is held in registers: V is loaded in front of the first product that needs it, in each branch, and with the load goes the wait
// for its slot. K's slot is waited for at once, because it says how many steps there are. Where no product uses them, a fence stands
// between the loads and the slot's release.
// CHECK-LABEL: func.func @held_factors
// CHECK:      %[[K:.*]], %[[STEPS:.*]] = dash.wait %k_tiles
// CHECK-NEXT: %[[K_ROWS:.*]] = dash.load_factor %[[K]]
// CHECK-NEXT: %[[MANY:.*]] = arith.cmpi ugt, %[[STEPS]],
// CHECK-NEXT: scf.if %[[MANY]] {
// CHECK-NEXT:   %[[Q:.*]] = dash.wait %q_tiles
// CHECK-NEXT:   dash.matmul %[[K_ROWS]], transpose %[[Q]]
// CHECK-NEXT:   %[[V:.*]] = dash.wait %v_tiles
// CHECK-NEXT:   %[[V_ROWS:.*]] = dash.load_factor %[[V]]
// CHECK-NEXT:   dash.matmul %[[V_ROWS]], transpose %[[Q]]
// CHECK-NEXT:   dash.release %q_tiles
// CHECK-NEXT: } else {
// CHECK-NEXT:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:   dash.wait %v_tiles
// CHECK-NEXT: }
// What stands behind the branches is not theirs: the slot has come in either case.
// CHECK-NEXT: %[[V_HELD:.*]] = dash.held %v_tiles
// CHECK-NEXT: %[[V_AGAIN:.*]] = dash.load_factor %[[V_HELD]]
// CHECK-NEXT: %[[Q2:.*]] = dash.wait %q_tiles
// CHECK-NEXT: dash.matmul %[[V_AGAIN]], transpose %[[Q2]]
!KCh = !dash.channel<tensor<128x64xbf16>, index>
!VCh = !dash.channel<tensor<128x64xbf16>>
!QCh = !dash.channel<tensor<64x64xbf16>>
!kv = tensor<128x64xbf16>
!q = tensor<64x64xbf16>
!st = tensor<128x64xf32>
func.func @held_factors(%n: index, %use: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !KCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %q_tiles = dash.channel "q" depth(2) : !QCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %kt, %steps = dash.wait %k_tiles[%use] : !KCh -> !kv, index
      %vt = dash.wait %v_tiles[%use] : !VCh -> !kv
      %k = dash.load_factor %kt : !kv -> !kv
      %v = dash.load_factor %vt : !kv -> !kv
      %many = arith.cmpi ugt, %steps, %c1 : index
      scf.if %many {
        %qt = dash.wait %q_tiles[%c0] : !QCh -> !q
        %s = dash.matmul %k, transpose %qt : (!kv, !q) -> !st
        %dp = dash.matmul %v, transpose %qt : (!kv, !q) -> !st
        dash.release %q_tiles[%c0] : !QCh
      } else {
      }
      %q2 = dash.wait %q_tiles[%n] : !QCh -> !q
      %dp2 = dash.matmul %v, transpose %q2 : (!kv, !q) -> !st
      dash.release %q_tiles[%n] : !QCh
      dash.release %k_tiles[%use] : !KCh
      dash.release %v_tiles[%use] : !VCh
    }
  }
  return
}
