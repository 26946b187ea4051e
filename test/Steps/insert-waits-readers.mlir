// Roles that read one channel: the barrier for empty counts the warps of all of them, in whatever number of warpgroups, and that for full
// the one copy. A thread of a role that adds is one more.
// RUN: dash-opt %s --dash-insert-waits | FileCheck %s
// RUN: dash-opt %s --dash-insert-waits=threads-arrive=true | FileCheck %s --check-prefix=THREADS

!Q = tensor<64x64xbf16, #dash.swizzled>
!QCh = !dash.channel<!Q>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!SCh = !dash.channel<!S>

// CHECK:   dash.channel "q" depth(2) arrivals([1, 12])
// CHECK:   dash.channel "sum" depth(1) arrivals([8, 5])
// THREADS: dash.channel "q" depth(2) arrivals([1, 384])
// THREADS: dash.channel "sum" depth(1) arrivals([256, 129])
func.func @all_readers_arrive(%q: memref<?x?x?x64xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) : !QCh
    %sum_tiles = dash.channel "sum" depth(1) : !SCh
    dash.role "load-q" producer warps(1) {
      scf.for %use = %c0 to %n step %c1 {
        %0 = dash.load %q[%c0, %c0, %use] : memref<?x?x?x64xbf16> -> !Q
        dash.put %0 into %q_tiles[%use] : !Q into !QCh
      }
    }
    dash.role "reduce" reducer warps(2) {
      scf.for %use = %c0 to %n step %c1 {
        %0 = dash.wait %sum_tiles[%use] : !SCh -> !S
        dash.release %sum_tiles[%use] : !SCh
      }
    }
// CHECK:      dash.role "dv"
// CHECK:        dash.mbarrier_wait %q_tiles full
// CHECK:        dash.mbarrier_arrive %q_tiles empty[%{{.+}}] by warp
    dash.role "dv" consumer warps(4) {
      scf.for %use = %c0 to %n step %c1 {
        %0 = dash.wait %q_tiles[%use] : !QCh -> !Q
        dash.release %q_tiles[%use] : !QCh
        %1 = dash.wait %sum_tiles[%use] : !SCh -> !S
        dash.release %sum_tiles[%use] : !SCh
      }
    }
// CHECK:      dash.role "dk"
// CHECK:        dash.mbarrier_wait %q_tiles full
// CHECK:        dash.mbarrier_arrive %q_tiles empty[%{{.+}}] by warp
    dash.role "dk" consumer warps(8) {
      scf.for %use = %c0 to %n step %c1 {
        %0 = dash.wait %q_tiles[%use] : !QCh -> !Q
        dash.release %q_tiles[%use] : !QCh
        %1 = arith.constant dense<0.0> : !S
        dash.put %1 into %sum_tiles[%use] : !S into !SCh
        dash.commit %sum_tiles[%use] : !SCh
      }
    }
  }
  return
}
