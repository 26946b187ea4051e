// Copies of a consumer become one role again. The give in front of the first step and the take behind the last one stand in branches.
// RUN: dash-opt %s --dash-share-code | FileCheck %s
// RUN: sed '/^    dash.role .compute1/,$s/constant 2/constant 3/' %s | dash-opt --dash-share-code | FileCheck %s --check-prefix=APART
// RUN: sed '/dash.running_max/d' %s | dash-opt --dash-share-code | FileCheck %s --check-prefix=APART
// RUN: sed 's/dash.workers/& trace(100)/' %s | dash-opt --dash-share-code | FileCheck %s --check-prefix=APART

// CHECK-LABEL: func @compute
// CHECK:         dash.role "compute0" consumer warps(8) registers(240) warpgroup(0 of 2) {
// CHECK-NEXT:      %[[WARP:.+]] = dash.warp_of_role
// CHECK-NEXT:      %[[FOUR:.+]] = arith.constant 4 : index
// CHECK-NEXT:      %[[LAST:.+]] = arith.cmpi sge, %[[WARP]], %[[FOUR]]
// CHECK-NEXT:      scf.if %[[LAST]] {
// CHECK-NEXT:        dash.give_tensor_core
// CHECK-NEXT:      }
// CHECK:           dash.take_tensor_core
// CHECK:           dash.give_tensor_core
// CHECK:           %[[WARP1:.+]] = dash.warp_of_role
// CHECK-NEXT:      %[[FOUR1:.+]] = arith.constant 4 : index
// CHECK-NEXT:      %[[FIRST:.+]] = arith.cmpi slt, %[[WARP1]], %[[FOUR1]]
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        dash.take_tensor_core
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NOT:     dash.role

// Bodies that differ stay apart, and so do those of backwards and of traced workers.
// APART:         dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
// APART-NEXT:      arith.constant
// APART:           dash.give_tensor_core
// APART-NEXT:      dash.take_tensor_core
// APART-NEXT:    }
// APART-NEXT:    dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
// APART-NEXT:      dash.give_tensor_core
// APART-NEXT:      arith.constant
func.func @compute(%scores: tensor<64x128xf32>, %rows: tensor<64xf32>) {
  dash.workers {
    dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %n = dash.num_items
      scf.for %i = %one to %n step %one {
        %sum = arith.addi %i, %two : index
      }
      dash.take_tensor_core
      %next, %factor = dash.running_max %scores, %rows slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      dash.give_tensor_core
      dash.take_tensor_core
    }
    dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
      dash.give_tensor_core
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %n = dash.num_items
      scf.for %i = %one to %n step %one {
        %sum = arith.addi %i, %two : index
      }
      dash.take_tensor_core
      %next, %factor = dash.running_max %scores, %rows slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      dash.give_tensor_core
    }
  }
  return
}
