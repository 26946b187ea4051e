// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

#rows = #dash.fragment<accumulator, rows by 2>
#columns = #dash.fragment<accumulator, columns by 2>

// A tile of 128 rows leaves in two pieces, and with layouts each warpgroup holds its rows of both. Where items are loops, the turn among
// the parts is read, and an add says which piece it adds.
// CHECK-LABEL: func.func @pieces
// CHECK:         dash.piece %{{.+}}[0] : tensor<128x128xf32> to tensor<64x128xf32>
// CHECK-NEXT:    dash.piece %{{.+}}[1] : tensor<128x128xf32> to tensor<64x128xf32>
// CHECK-NEXT:    dash.piece %{{.+}}[1] : !acc_128x64_rows2 to !acc_64x64_columns2
// CHECK:         %[[TURN:.+]], %[[LAST:.+]] = dash.read_part[%[[PLACE:.+]]]
// CHECK-NEXT:    dash.ordered_reduce %{{.+}} into %{{.+}}[%[[PLACE]], %[[PLACE]], %[[PLACE]]] piece(1 of 2) turn(%[[TURN]]) last(%[[LAST]]) : tensor<64x128xf32> into memref<?x?x?x128xf32>
// CHECK:         dash.convert %{{.+}} to %{{.+}} layout(<accumulator, columns by 2>) pieces(2) :
func.func @pieces(%tile: tensor<128x128xf32>, %held: tensor<128x64xf32, #rows>, %t: tensor<64x128xf32>,
                  %sum: memref<?x?x?x128xf32>, %dk: memref<?x?x?x128xbf16>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      %0 = dash.piece %tile[0] : tensor<128x128xf32> to tensor<64x128xf32>
      %1 = dash.piece %tile[1] : tensor<128x128xf32> to tensor<64x128xf32>
      %2 = dash.piece %held[1] : tensor<128x64xf32, #rows> to tensor<64x64xf32, #columns>
    }
    dash.role "reduce" reducer warps(2) {
      %place = arith.constant 0 : index
      %turn, %last = dash.read_part[%place]
      dash.ordered_reduce %t into %sum[%place, %place, %place] piece(1 of 2) turn(%turn) last(%last)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  dash.convert %sum to %dk layout(<accumulator, columns by 2>) pieces(2) : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
  return
}
