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

// A list whose lengths come with each launch, and one with stated lengths.
// CHECK-LABEL: func.func @lists
// CHECK:         dash.sink_gradient {{.+}} outs(%{{.+}} : memref<?x4xf32>) sequences(<?>)
// CHECK:         dash.sink_gradient {{.+}} outs(%{{.+}} : memref<2x4xf32>) sequences(<[5, 5], [3, 9]>)
func.func @lists(%sink: memref<4xf32>, %lse: memref<1x4x8xf32>, %delta: memref<1x4x8xf32>, %some: memref<?x4xf32>, %two: memref<2x4xf32>) {
  dash.sink_gradient ins(%sink, %lse, %delta : memref<4xf32>, memref<1x4x8xf32>, memref<1x4x8xf32>)
                     outs(%some : memref<?x4xf32>) sequences(<?>)
  dash.sink_gradient ins(%sink, %lse, %delta : memref<4xf32>, memref<1x4x8xf32>, memref<1x4x8xf32>)
                     outs(%two : memref<2x4xf32>) sequences(<[5, 5], [3, 9]>)
  return
}
