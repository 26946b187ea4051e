// What one consumer's threads pass to those of another: stored and loaded as they hold it, and published without a proxy fence, since
// no copy and no product reads it. What the copy engine adds has its fence.
// RUN: dash-opt %s --dash-distribute-tiles --dash-insert-waits | FileCheck %s
// RUN: dash-opt %s --dash-distribute-tiles --dash-insert-waits --dash-verify-waits -o /dev/null

!Q = !dash.channel<tensor<64x64xbf16>, tensor<64xf32>>
!r = tensor<64xf32>
!P = !dash.channel<tensor<64x64xf32>>
!q = tensor<64x64xbf16>
!s = tensor<64x64xf32>

// CHECK-LABEL: func.func @passes
// CHECK:      dash.role "dk" consumer
// CHECK:      dash.mbarrier_wait %p_tiles full[%[[GOT:.+]]] phase
// CHECK-NEXT: %[[P:.+]] = dash.load_fragment %p_tiles[%[[GOT]]] element(0) : !channel_{{.+}} -> !acc_64x64_rows1
// CHECK-NOT:  nvvm.fence.proxy
// CHECK:      dash.mbarrier_arrive %p_tiles empty[%[[GOT]]] by warp
// CHECK:      dash.role "dv" consumer
// CHECK:      dash.mbarrier_wait %p_tiles empty[%[[PUT:.+]]] phase
// CHECK-NEXT: dash.store_fragment %{{.+}} to %p_tiles[%[[PUT]]] element(0) : !acc_64x64_rows1 to
// CHECK-NEXT: dash.mbarrier_arrive %p_tiles full[%[[PUT]]] by warp
// CHECK:      dash.mbarrier_wait %sum_tiles empty[%[[SUM:.+]]] phase
// CHECK-NEXT: dash.store_fragment %{{.+}} to %sum_tiles[%[[SUM]]]
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %sum_tiles full[%[[SUM]]] by warp
func.func @passes(%sums: memref<?x?x?x64xf32>) {
  dash.workers {
    %q_tiles = dash.channel "q" depth(1) : !Q
    %p_tiles = dash.channel "p" depth(1) : !P
    %sum_tiles = dash.channel "sum" depth(1) : !P
    dash.role "dk" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %q, %r = dash.wait %q_tiles[%c0] : !Q -> !q, !r
      %p = dash.wait %p_tiles[%c0] : !P -> !s
      %dp = dash.matmul %q, transpose %q split(<1 x 1>) : (!q, !q) -> !s
      %ds = dash.score_gradient %p, %dp, %r : (!s, !s, !r) -> !q
      dash.release %p_tiles[%c0] : !P
      %d = dash.matmul %ds, %q split(<1 x 1>) : (!q, !q) -> !s
      dash.release %q_tiles[%c0] : !Q
    }
    dash.role "dv" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %q, %r = dash.wait %q_tiles[%c0] : !Q -> !q, !r
      %s = dash.matmul %q, transpose %q split(<1 x 1>) : (!q, !q) -> !s
      dash.put %s into %p_tiles[%c0] : !s into !P
      dash.commit %p_tiles[%c0] : !P
      dash.put %s into %sum_tiles[%c0] : !s into !P
      dash.commit %sum_tiles[%c0] : !P
      dash.release %q_tiles[%c0] : !Q
    }
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %unused = dash.wait %sum_tiles[%c0] : !P -> !s
      dash.release %sum_tiles[%c0] : !P
    }
  }
  return
}
