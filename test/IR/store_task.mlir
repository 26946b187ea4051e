// A tile of a task goes to the memory of another program; in loops, from a slot.
// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x192xbf16>
!D = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>

// CHECK-LABEL: func.func @store_task
// CHECK:           dash.store_task %{{.+}}, %{{.+}}[%[[SEQ:.+]], %[[HEAD:.+]], %[[Q:.+]]] with(%[[KV_HEAD:.+]], %[[KV:.+]]) : tensor<64x64xbf16> -> memref<?x4096xbf16>
func.func @store_task(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  %t = arith.constant dense<0.0> : tensor<64x64xbf16>
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 64>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      dash.store_task %t, %ds[%seq, %head, %qi] with(%kv_head, %kv)
        : tensor<64x64xbf16> -> memref<?x4096xbf16>
    }
  }
  return
}

// CHECK-LABEL: func.func @copy_task_out
// CHECK:           dash.copy_task_out %ds_tiles[%[[AT:.+]]] to %{{.+}}[%[[AT]], %[[AT]], %[[AT]]] with(%[[AT]], %[[AT]]) : !channel_64x64xbf16{{.*}} to memref<?x4096xbf16>
func.func @copy_task_out(%ds: memref<?x4096xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "keep" reducer warps(1) {
      dash.copy_task_out %ds_tiles[%at] to %ds[%at, %at, %at] with(%at, %at) : !D to memref<?x4096xbf16>
    }
  }
  return
}
