// A tile of a task is kept: a copy to a place of its own, so no turn and no add.
// RUN: dash-opt %s --dash-lower-ordered-reduce | FileCheck %s

!DS = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!ds = tensor<64x64xbf16, #dash.swizzled>

// CHECK-LABEL: func @keep
// CHECK-SAME:    (%[[DS:[^:]+]]: memref<?x4096xbf16>, %[[N:[^:]+]]: index)
func.func @keep(%ds: memref<?x4096xbf16>, %n: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DS
    dash.role "keep" reducer warps(2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // CHECK:      scf.for %[[USE:.*]] =
      // CHECK-NEXT:   dash.wait %ds_tiles[%[[USE]]]
      // CHECK-NEXT:   %[[SLOT:.*]], %{{.*}} = dash.ring %ds_tiles[%[[USE]]]
      // CHECK-NEXT:   dash.copy_task_out %ds_tiles[%[[SLOT]]] to %[[DS]][%c0, %c0, %[[USE]]] with(%c0, %c1)
      // CHECK-NEXT:   nvvm.cp.async.bulk.commit.group
      // CHECK-NEXT:   nvvm.cp.async.bulk.wait_group 0 {read}
      // CHECK-NEXT:   dash.release %ds_tiles[%[[USE]]]
      // CHECK-NEXT: }
      // Nothing of this kernel reads them: they are complete when it ends.
      // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
      scf.for %use = %c0 to %n step %c1 {
        %t = dash.wait %ds_tiles[%use] : !DS -> !ds
        "dash.store_task"(%t, %ds, %c0, %c0, %use, %c0, %c1) : (!ds, memref<?x4096xbf16>, index, index, index, index, index) -> ()
        dash.release %ds_tiles[%use] : !DS
      }
    }
  }
  return
}
