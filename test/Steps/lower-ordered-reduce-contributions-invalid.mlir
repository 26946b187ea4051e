// RUN: not dash-opt %s --dash-lower-ordered-reduce=contributions 2>&1 | FileCheck %s

!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!dq = tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>
!S = memref<?x?x?x128xf32>

// A contribution is kept by its turn.
func.func @contributions_need_turns(%sums: !S, %c0: index) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !DQ
    dash.role "reduce" reducer warps(2) {
      %t = dash.wait %dq_tiles[%c0] : !DQ -> !dq
      // CHECK: [[@LINE+1]]:7: error: adds in no order, so contributions have no turns to be kept by; use a schedule whose kind is not 'unordered'
      dash.reduce %t into %sums[%c0, %c0, %c0] : !dq into !S
      dash.release %dq_tiles[%c0] : !DQ
    }
  }
  return
}
