// Every tile of a consumer gets a layout; what lies behind a slot follows it to the conversion of dQ.
// RUN: dash-opt %s --dash-distribute-tiles | FileCheck %s
// RUN: dash-opt %s --dash-distribute-tiles | dash-opt --dash-distribute-tiles | FileCheck %s

!K = !dash.channel<tensor<128x128xbf16>>
!Q = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>, index>
!DS = !dash.channel<tensor<128x64xbf16>>
!DQ = !dash.channel<tensor<64x128xf32>>

// CHECK-LABEL: func @two_warpgroups
func.func @two_warpgroups(%q: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>, %sums: memref<?x?x?x128xf32>,
                          %dq: memref<?x?x?x128xbf16>, %scale: f32) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.workers {
    // A slot holds factors as wgmma reads them, sums as warpgroups hold them.
    // CHECK: %q_tiles = dash.channel "q" depth(2) : !channel_64x128xbf16_64xf32_index
    // CHECK: %ds_tiles = dash.channel "ds" depth(2) : !channel_128x64xbf16
    // CHECK: %dq_tiles = dash.channel "dq" depth(2) : !channel_64x128xf32
    %k_tiles = dash.channel "k" depth(1) : !K
    %q_tiles = dash.channel "q" depth(2) : !Q
    %ds_tiles = dash.channel "ds" depth(2) : !DS
    %dq_tiles = dash.channel "dq" depth(2) : !DQ
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      // CHECK: dash.put {{.*}} into %q_tiles[%{{.*}}] : tensor<64x128xbf16>, tensor<64xf32>, index into !channel_64x128xbf16
      %0 = dash.load %q[%c0, %c0, %c0] : memref<?x?x?x128xbf16> -> tensor<64x128xbf16>
      %1 = dash.load %lse[%c0, %c0, %c0] : memref<?x?x?xf32> -> tensor<64xf32>
      dash.put %0, %1, %c0 into %q_tiles[%c0] : tensor<64x128xbf16>, tensor<64xf32>, index into !Q
    }
    dash.role "compute" consumer warps(8) {
      // A constant of the function is one of the role now.
      // CHECK: dash.role "compute"
      // CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : !acc_128x128_rows2
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // CHECK: dash.wait %k_tiles[%{{.*}}] : {{.*}} -> !swizzled_128x128xbf16
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
      // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (!acc_128x128_rows2)
      %dk = scf.for %i = %c0 to %c1 step %c1 iter_args(%sum = %zero) -> tensor<128x128xf32> {
        // CHECK: dash.wait %q_tiles[%{{.*}}] : {{.*}} -> !swizzled_64x128xbf16, !per_column_64_replicated2, index
        %q_tile, %l, %lead = dash.wait %q_tiles[%i] : !Q -> tensor<64x128xbf16>, tensor<64xf32>, index
        // CHECK: dash.matmul {{.*}} -> !acc_128x64_rows2
        %s = dash.matmul %k, transpose %q_tile split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
        // CHECK: dash.log_probability {{.*}} : !acc_128x64_rows2, !per_column_64_replicated2
        %log = dash.log_probability %s, %l : tensor<128x64xf32>, tensor<64xf32>
        // CHECK: dash.hide {{.*}} : !acc_128x64_rows2
        %shown = dash.hide %log band(%lead, %c0) : tensor<128x64xf32>
        // CHECK: dash.exp2 {{.*}} : !acc_128x64_rows2
        %p32 = dash.exp2 %shown : tensor<128x64xf32>
        // CHECK: dash.score_gradient {{.*}} -> !operand_128x64xbf16_rows2
        %ds = dash.score_gradient %p32, %s, %l : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
        // CHECK: dash.put {{.*}} : !operand_128x64xbf16_rows2 into !channel_128x64xbf16
        dash.put %ds into %ds_tiles[%i] : tensor<128x64xbf16> into !DS
        dash.commit %ds_tiles[%i] : !DS
        // CHECK: %[[DS:.*]] = dash.wait %ds_tiles[%{{.*}}] : {{.*}} -> !swizzled_128x64xbf16
        %dst = dash.wait %ds_tiles[%i] : !DS -> tensor<128x64xbf16>
        // Two warpgroups split dQ by columns, as its product says.
        // CHECK: dash.matmul transpose %[[DS]], {{.*}} -> !acc_64x128_columns2
        %dqs = dash.matmul transpose %dst, %k split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
        dash.put %dqs into %dq_tiles[%i] : tensor<64x128xf32> into !DQ
        dash.commit %dq_tiles[%i] : !DQ
        %next = dash.matmul %ds, %q_tile accumulate(%sum) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
        scf.yield %next : tensor<128x128xf32>
      }
    }
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      // CHECK: dash.wait %dq_tiles[%{{.*}}] : {{.*}} -> !acc_64x128_columns2
      // CHECK-NEXT: dash.ordered_reduce {{.*}} : !acc_64x128_columns2 into
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      dash.ordered_reduce %t into %sums[%c0, %c0, %c0] turn(%c0) last(%c0) : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  // CHECK: dash.convert %{{.*}} to %{{.*}} scale(%{{.*}}) layout(<accumulator, columns by 2>)
  dash.convert %sums to %dq scale(%scale) : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
  return
}

// Products of one warpgroup, and of three: nothing knows of two.
// CHECK-LABEL: func @one_and_three_warpgroups
func.func @one_and_three_warpgroups() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !dash.channel<tensor<192x64xbf16>>
    %q_tiles = dash.channel "q" depth(1) : !dash.channel<tensor<64x64xbf16>>
    dash.role "one" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %q = dash.wait %q_tiles[%c0] : !dash.channel<tensor<64x64xbf16>> -> tensor<64x64xbf16>
      // CHECK: -> !acc_64x64_rows1
      %s = dash.matmul %q, transpose %q split(<1 x 1>) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    }
    dash.role "three" consumer warps(12) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !dash.channel<tensor<192x64xbf16>> -> tensor<192x64xbf16>
      // CHECK: -> !acc_192x192_rows3
      %s = dash.matmul %k, transpose %k split(<3 x 1>) : (tensor<192x64xbf16>, tensor<192x64xbf16>) -> tensor<192x192xf32>
    }
  }
  return
}
