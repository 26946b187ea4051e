// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!At = tensor<64x128xbf16>

// CHECK-LABEL: func.func @matmul
// CHECK:         dash.matmul %[[A:.+]], %[[AT:.+]] : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
// CHECK-NEXT:    dash.matmul transpose %[[A]], %[[A]] : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
// CHECK-NEXT:    dash.matmul %[[A]], transpose %[[A]] : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x128xf32>
// CHECK-NEXT:    dash.matmul transpose %[[A]], transpose %[[AT]] accumulate(%{{.+}}) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<64x64xf32>
func.func @matmul(%q: !T, %k: !T, %v: !T, %a: !A, %at: !At, %sum: tensor<64x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %0 = dash.matmul %a, %at : (!A, !At) -> tensor<128x128xf32>
    %1 = dash.matmul transpose %a, %a : (!A, !A) -> tensor<64x64xf32>
    %2 = dash.matmul %a, transpose %a : (!A, !A) -> tensor<128x128xf32>
    %3 = dash.matmul transpose %a, transpose %at accumulate(%sum) : (!A, !At) -> tensor<64x64xf32>
  }
  return
}

// With layouts it is what the tensor core does: sums in registers, the right factor in a slot, the left one in either.
// CHECK-LABEL: func.func @layouts
// CHECK:         dash.matmul %{{.+}}, transpose %[[B:.+]] : (!swizzled_128x128xbf16, !swizzled_64x128xbf16) -> !acc_128x64_rows2
// CHECK-NEXT:    dash.matmul %{{.+}}, %[[B]] async : (!operand_128x64xbf16_rows2, !swizzled_64x128xbf16) -> !acc_128x128_rows2
// CHECK-NEXT:    dash.matmul %{{.+}}, %[[B]] accumulate(%{{.+}}) async stage(1) : (!operand_128x64xbf16_rows2,
func.func @layouts(%a: tensor<128x128xbf16, #dash.swizzled>, %b: tensor<64x128xbf16, #dash.swizzled>,
                   %p: tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      %s = dash.matmul %a, transpose %b : (tensor<128x128xbf16, #dash.swizzled>, tensor<64x128xbf16, #dash.swizzled>)
        -> tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
      %r = dash.matmul %p, %b async
        : (tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>, tensor<64x128xbf16, #dash.swizzled>)
        -> tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
      %r1 = dash.matmul %p, %b accumulate(%r) async stage(1)
        : (tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>, tensor<64x128xbf16, #dash.swizzled>)
        -> tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
    }
  }
  return
}

// 48 columns a warpgroup are whole panels of 16.
// CHECK-LABEL: func.func @panels
// CHECK:         dash.matmul transpose %{{.+}}, %{{.+}} : (!swizzled_128x64xbf16, !swizzled32_128x96xbf16) -> !acc_64x96_columns2
func.func @panels(%a: tensor<128x64xbf16, #dash.swizzled>, %b: tensor<128x96xbf16, #dash.swizzled<32>>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      %r = dash.matmul transpose %a, %b : (tensor<128x64xbf16, #dash.swizzled>, tensor<128x96xbf16, #dash.swizzled<32>>)
        -> tensor<64x96xf32, #dash.fragment<accumulator, columns by 2>>
    }
  }
  return
}
