// RUN: dash-opt %s --dash-split-warpgroups | FileCheck %s

// A consumer of two warpgroups becomes two, on the same warps; the others stay. The last gives the tensor core to
// the first before its loop, and the first takes it once more behind its own.
// CHECK-LABEL: func.func @each_warpgroup_has_a_copy
// CHECK:         dash.channel "sums" {{.*}}arrivals([8, 1])
// CHECK:         dash.role "reduce" reducer warps(2) registers(24) {
// CHECK:         dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
// CHECK-NEXT:      dash.num_items
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        dash.take_tensor_core
// CHECK-NEXT:        dash.give_tensor_core
// CHECK-NEXT:      }
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:    }
// CHECK-NEXT:    dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:      dash.num_items
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        dash.take_tensor_core
// CHECK-NEXT:        dash.give_tensor_core
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func @each_warpgroup_has_a_copy() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers registers(168) shared_bytes(33792) {
    %sums = dash.channel "sums" depth(1) at([1024], [32768]) barriers([0, 8]) arrivals([8, 1])
      : !dash.channel<tensor<64x128xf32>>
    dash.role "reduce" reducer warps(2) registers(24) {
      %n = dash.num_items
    }
    dash.role "compute" consumer warps(8) registers(240) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        dash.take_tensor_core
        dash.give_tensor_core
      }
    }
  }
  return
}

// One warpgroup has the tensor core for itself.
// CHECK-LABEL: func.func @one_warpgroup_never_waits
// CHECK:         dash.role "compute0" consumer warps(4) warpgroup(0 of 1) {
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:    }
func.func @one_warpgroup_never_waits() {
  dash.workers {
    dash.role "compute" consumer warps(4) {
      dash.take_tensor_core
      dash.give_tensor_core
    }
  }
  return
}
