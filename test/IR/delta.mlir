// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func @delta
// CHECK:         dash.delta ins(%{{.+}}, %{{.+}} : memref<2x?x8x64xf16>, memref<?x4x8x64xf16, strided<[?, ?, ?, 1]>>) outs(%{{.+}} : memref<2x4x?xf32>)
func.func @delta(%o: memref<2x?x8x64xf16>, %do: memref<?x4x8x64xf16, strided<[?, ?, ?, 1]>>,
                 %delta: memref<2x4x?xf32>) {
  dash.delta ins(%o, %do : memref<2x?x8x64xf16>, memref<?x4x8x64xf16, strided<[?, ?, ?, 1]>>)
             outs(%delta : memref<2x4x?xf32>)
  return
}

// CHECK-LABEL: func.func @unrounded
// CHECK:         dash.delta ins(%{{.+}}, %{{.+}} : memref<2x4x8x64xf32>, memref<2x4x8x64xf16>) outs(%{{.+}} : memref<2x4x8xf32>)
func.func @unrounded(%o: memref<2x4x8x64xf32>, %do: memref<2x4x8x64xf16>, %delta: memref<2x4x8xf32>) {
  dash.delta ins(%o, %do : memref<2x4x8x64xf32>, memref<2x4x8x64xf16>) outs(%delta : memref<2x4x8xf32>)
  return
}
