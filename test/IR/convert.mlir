// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func @convert
// CHECK:         dash.convert %{{.+}} to %{{.+}} : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
// CHECK-NEXT:    dash.convert %{{.+}} to %{{.+}} scale(%{{.+}}) : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
// CHECK-NEXT:    dash.convert %{{.+}} to %{{.+}} scale(%{{.+}}) layout(<accumulator, columns by 2>) : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
func.func @convert(%sum: memref<2x4x8x64xf32>, %dq: memref<?x?x?x64xf16>, %scale: f32) {
  dash.convert %sum to %dq : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
  dash.convert %sum to %dq scale(%scale) : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
  dash.convert %sum to %dq scale(%scale) layout(<accumulator, columns by 2>) : memref<2x4x8x64xf32> to memref<?x?x?x64xf16>
  return
}
