// RUN: dash-opt %s --allow-unregistered-dialect --cse --loop-invariant-code-motion | FileCheck %s

// Where it reads nothing again, it is a function of its operands. Where it does, nothing moves it behind what gives the slot
// back, in front of what waits for it, or out of the loop in which that stands.
!K = !dash.channel<tensor<128x128xbf16>, index>

// CHECK-LABEL: func.func @is_told
// CHECK:         dash.role
// CHECK:           %[[X:.+]] = dash.hide
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        "test.use"(%[[X]], %[[X]])
func.func @is_told(%log: tensor<128x64xf32>, %lead: index, %kv: index, %n: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %x = dash.hide %log band(%lead, %kv) : tensor<128x64xf32>
        %y = dash.hide %log band(%lead, %kv) : tensor<128x64xf32>
        "test.use"(%x, %y) : (tensor<128x64xf32>, tensor<128x64xf32>) -> ()
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @reads_again
// CHECK:         scf.for
// CHECK:           dash.mbarrier_wait %k_tiles full
// CHECK-NEXT:      %[[X:.+]] = dash.hide {{.*}} again(
// CHECK-NEXT:      "test.use"(%[[X]], %[[X]])
// CHECK-NEXT:      dash.mbarrier_arrive %k_tiles empty
// CHECK-NEXT:      dash.mbarrier_wait %k_tiles full
// CHECK-NEXT:      %[[Y:.+]] = dash.hide {{.*}} again(
// CHECK-NEXT:      "test.use"(%[[Y]])
// CHECK-NOT:       dash.hide
func.func @reads_again(%log: tensor<128x64xf32>, %lead: index, %kv: index, %n: index, %slot: index, %phase: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
        %x = dash.hide %log band(%lead, %kv) again(%k_tiles[%slot] indices([0]) : !K) : tensor<128x64xf32>
        %y = dash.hide %log band(%lead, %kv) again(%k_tiles[%slot] indices([0]) : !K) : tensor<128x64xf32>
        "test.use"(%x, %y) : (tensor<128x64xf32>, tensor<128x64xf32>) -> ()
        dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
        dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
        %z = dash.hide %log band(%lead, %kv) again(%k_tiles[%slot] indices([0]) : !K) : tensor<128x64xf32>
        "test.use"(%z) : (tensor<128x64xf32>) -> ()
        %unused = dash.hide %z band(%lead, %kv) again(%k_tiles[%slot] indices([0]) : !K) : tensor<128x64xf32>
        dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      }
    }
  }
  return
}
