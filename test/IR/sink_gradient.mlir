// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func @sink_gradient
// CHECK:         dash.sink_gradient ins(%{{.+}}, %{{.+}}, %{{.+}} : memref<?xf32>, memref<2x?x8xf32, strided<[?, ?, 1]>>, memref<?x4x?xf32>) outs(%{{.+}} : memref<2x4xf32, strided<[?, 1]>>)
func.func @sink_gradient(%sink: memref<?xf32>, %lse: memref<2x?x8xf32, strided<[?, ?, 1]>>, %delta: memref<?x4x?xf32>,
                         %dsink: memref<2x4xf32, strided<[?, 1]>>) {
  dash.sink_gradient ins(%sink, %lse, %delta : memref<?xf32>, memref<2x?x8xf32, strided<[?, ?, 1]>>, memref<?x4x?xf32>)
                     outs(%dsink : memref<2x4xf32, strided<[?, 1]>>)
  return
}
