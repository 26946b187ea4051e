// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers | FileCheck %s
// RUN: sed 's/q = 2, sum = 2/q = 3, sum = 4/' %s | dash-opt --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers | FileCheck %s --check-prefix=DEEP
// RUN: sed 's/k = 1/k = 2/' %s | dash-opt --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers | FileCheck %s --check-prefix=TWO

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 2, sum = 2, whole = 2}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Channels of two slots share a period of 16384 + 16384 + 32768 bytes; the row vectors lie behind. Barriers stand in the first 1024
// bytes, full and empty ones of each channel, and behind them the indices of slots, 16 bytes a slot.
// CHECK-LABEL: func.func @slots_share_a_period
// CHECK:         dash.workers registers(168) shared_bytes(165376) {
// CHECK-NEXT:      %k_tiles = dash.channel "k" depth(1) at([1024, 112, 116, 120, 124], [32768, 16, 16, 16, 16]) barriers([0, 8]) :
// CHECK-NEXT:      %q_tiles = dash.channel "q" depth(2) at([33792, 164864, 128], [65536, 256, 16]) barriers([16, 32]) :
// CHECK-NEXT:      %whole_tiles = dash.channel "whole" depth(2) at([50176], [65536]) barriers([48, 64]) :
// CHECK-NEXT:      %sum_tiles = dash.channel "sum" depth(2) at([66560], [65536]) barriers([80, 96]) :
// CHECK-NEXT:      dash.role "load-q" producer warps(1) registers(24) {
// CHECK:           dash.role "reduce" reducer warps(2) registers(24) {
// CHECK:           dash.role "load-kv" producer warps(1) registers(24) {
// CHECK:           dash.role "compute" consumer warps(8) registers(240) {

// Other depths have other periods; a warp for each buffer that is added; more warps, fewer registers.
// DEEP:          dash.workers registers(96) shared_bytes(247552) {
// DEEP-NEXT:       %k_tiles = dash.channel "k" depth(1) at([1024, 160, 164, 168, 172], [32768, 16, 16, 16, 16]) barriers([0, 8]) :
// DEEP-NEXT:       %q_tiles = dash.channel "q" depth(3) at([33792, 246784, 176], [16384, 256, 16]) barriers([16, 40]) :
// DEEP-NEXT:       %whole_tiles = dash.channel "whole" depth(2) at([82944], [16384]) barriers([64, 80]) :
// DEEP-NEXT:       %sum_tiles = dash.channel "sum" depth(4) at([115712], [32768]) barriers([96, 128]) :
// DEEP:            dash.role "reduce" reducer warps(4) registers(24) {
// DEEP:            dash.role "compute" consumer warps(8) registers(200) {
// K of the next item fits beside this one's, so it gets a slot: then all channels of two slots share the period.
// TWO:           dash.workers registers(168) shared_bytes(198144) {
// TWO-NEXT:        %k_tiles = dash.channel "k" depth(2)
// TWO-NEXT:        %q_tiles = dash.channel "q" depth(2)
// TWO:             dash.role "reduce" reducer warps(2) registers(24) {
func.func @slots_share_a_period(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}
