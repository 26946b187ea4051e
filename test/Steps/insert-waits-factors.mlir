// Factors that a consumer holds in registers: V is loaded in front of the first product that needs it, in each branch, and with the load
// goes the wait for its slot. K's slot is waited for at once, because it says how many steps there are, and so K is there; where no product
// uses it, these loads have a fence of their own in front of the slot's release.
// RUN: dash-opt %s --dash-distribute-tiles --dash-sink-waits --dash-insert-waits | FileCheck %s

!KCh = !dash.channel<tensor<128x64xbf16>, index>
!VCh = !dash.channel<tensor<128x64xbf16>>
!QCh = !dash.channel<tensor<64x64xbf16>>
!kv = tensor<128x64xbf16>
!q = tensor<64x64xbf16>
!st = tensor<128x64xf32>

// CHECK-LABEL: func.func @held_factors
// CHECK:      dash.mbarrier_wait %k_tiles full
// CHECK-NEXT: %[[K:.*]] = dash.slot_tile %k_tiles
// CHECK-NEXT: %[[STEPS:.*]] = dash.read_indices %k_tiles
// CHECK-NEXT: %[[K_ROWS:.*]] = dash.load_factor %[[K]] : !swizzled_128x64xbf16 -> !operand_128x64xbf16_rows2
// CHECK-NEXT: %[[MANY:.*]] = arith.cmpi ugt, %[[STEPS]],
// CHECK-NEXT: scf.if %[[MANY]] {
// CHECK:        %[[Q:.*]] = dash.slot_tile %q_tiles
// CHECK-NEXT:   dash.matmul %[[K_ROWS]], transpose %[[Q]] async
// CHECK-NEXT:   dash.ring %v_tiles
// CHECK-NEXT:   dash.mbarrier_wait %v_tiles full
// CHECK-NEXT:   %[[V:.*]] = dash.slot_tile %v_tiles
// CHECK-NEXT:   %[[V_ROWS:.*]] = dash.load_factor %[[V]]
// CHECK-NEXT:   dash.matmul %[[V_ROWS]], transpose %[[Q]] async
// CHECK:        scf.for
// CHECK-NOT:      dash.load_factor
// CHECK:          dash.matmul %[[V_ROWS]], transpose
// CHECK:      } else {
// CHECK-NOT:    dash.load_factor
// CHECK:        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:   dash.ring %v_tiles
// CHECK-NEXT:   dash.mbarrier_wait %v_tiles full
// CHECK-NEXT: }
// What stands behind the branches is not theirs.
// CHECK:      %[[V_HELD:.*]] = dash.slot_tile %v_tiles
// CHECK-NEXT: %[[V_AGAIN:.*]] = dash.load_factor %[[V_HELD]]
// CHECK:      dash.matmul %[[V_AGAIN]], transpose
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
        %s = dash.matmul %k, transpose %qt split(<2 x 1>) : (!kv, !q) -> !st
        %dp = dash.matmul %v, transpose %qt split(<2 x 1>) : (!kv, !q) -> !st
        dash.release %q_tiles[%c0] : !QCh
        scf.for %step = %c1 to %n step %c1 {
          %q1 = dash.wait %q_tiles[%step] : !QCh -> !q
          %dp1 = dash.matmul %v, transpose %q1 split(<2 x 1>) : (!kv, !q) -> !st
          dash.release %q_tiles[%step] : !QCh
        }
      } else {
      }
      %q2 = dash.wait %q_tiles[%n] : !QCh -> !q
      %dp2 = dash.matmul %v, transpose %q2 split(<2 x 1>) : (!kv, !q) -> !st
      dash.release %q_tiles[%n] : !QCh
      dash.release %k_tiles[%use] : !KCh
      dash.release %v_tiles[%use] : !VCh
    }
  }
  return
}
