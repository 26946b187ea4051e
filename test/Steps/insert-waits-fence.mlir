// Puts that follow each other wait for their slots in front of the first store. Commits that follow each other have one fence: it stands
// behind all that was written to both slots.
// RUN: dash-opt %s --dash-distribute-tiles --dash-insert-waits | FileCheck %s

!C = !dash.channel<tensor<128x64xbf16>>
!p = tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>

// CHECK-LABEL: func.func @commits_side_by_side
// CHECK:      arith.addi
// CHECK:      dash.mbarrier_wait %a_tiles empty
// CHECK-NEXT: dash.ring %b_tiles
// CHECK-NEXT: dash.mbarrier_wait %b_tiles empty
// CHECK-NEXT: dash.store_fragment %{{.*}} to %a_tiles
// CHECK-NEXT: dash.store_fragment %{{.*}} to %b_tiles
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %a_tiles full
// CHECK-NEXT: dash.mbarrier_arrive %b_tiles full
// CHECK-NOT:  nvvm.fence.proxy
// Between these there is a store that the first fence does not see.
// CHECK-LABEL: func.func @store_between
// CHECK:      dash.store_fragment %{{.*}} to %a_tiles
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %a_tiles full
// CHECK:      dash.store_fragment %{{.*}} to %b_tiles
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %b_tiles full
// A slot that this role releases in between may be the one that the second put waits for.
// CHECK-LABEL: func.func @release_between
// CHECK:      dash.mbarrier_wait %a_tiles empty
// CHECK-NEXT: dash.store_fragment %{{.*}} to %a_tiles
// CHECK:      dash.mbarrier_arrive %b_tiles empty
// CHECK:      dash.mbarrier_wait %b_tiles empty
func.func @commits_side_by_side(%use: index, %other: index) {
  %tile = arith.constant dense<0.0> : !p
  dash.workers {
    %a_tiles = dash.channel "a" depth(1) : !C
    %b_tiles = dash.channel "b" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      dash.put %tile into %a_tiles[%use] : !p into !C
      %next = arith.addi %use, %other : index
      dash.put %tile into %b_tiles[%next] : !p into !C
      dash.commit %a_tiles[%use] : !C
      %same = arith.addi %other, %use : index
      dash.commit %b_tiles[%same] : !C
    }
  }
  return
}

func.func @store_between(%use: index) {
  %tile = arith.constant dense<0.0> : !p
  dash.workers {
    %a_tiles = dash.channel "a" depth(1) : !C
    %b_tiles = dash.channel "b" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      dash.put %tile into %a_tiles[%use] : !p into !C
      dash.commit %a_tiles[%use] : !C
      dash.put %tile into %b_tiles[%use] : !p into !C
      dash.commit %b_tiles[%use] : !C
    }
  }
  return
}

func.func @release_between(%use: index, %next: index) {
  %tile = arith.constant dense<0.0> : !p
  dash.workers {
    %a_tiles = dash.channel "a" depth(1) : !C
    %b_tiles = dash.channel "b" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      dash.put %tile into %a_tiles[%use] : !p into !C
      dash.release %b_tiles[%use] : !C
      dash.put %tile into %b_tiles[%next] : !p into !C
    }
  }
  return
}
