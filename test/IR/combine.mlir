// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!o = memref<?x?x?x64xbf16>
!row = memref<?x?x?xf32>

// CHECK-LABEL: func.func @combine
// CHECK:         dash.combine %{{.+}}, %{{.+}} into %{{.+}}, %{{.+}} cut(2048) : memref<?x?x?x64xf32>, memref<?x?x?xf32> into memref<?x?x?x64xbf16>, memref<?x?x?xf32>
// CHECK-NEXT:    dash.combine %{{.+}}, %{{.+}} sink(%{{.+}} : memref<?xf32>) into %{{.+}}, %{{.+}} cut(2048) : memref<?x?x?x64xf32>
func.func @combine(%op: memref<?x?x?x64xf32>, %lp: !row, %sink: memref<?xf32>, %o: !o, %lse: !row) {
  dash.combine %op, %lp into %o, %lse cut(2048) : memref<?x?x?x64xf32>, !row into !o, !row
  dash.combine %op, %lp sink(%sink : memref<?xf32>) into %o, %lse cut(2048) : memref<?x?x?x64xf32>, !row into !o, !row
  return
}

// Tiles may be wider than the tensor.
// CHECK-LABEL: func.func @wide
// CHECK:         dash.combine
func.func @wide(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %o: memref<1x4x5x40xf16>, %lse: memref<1x4x5xf32>) {
  dash.combine %op, %lp into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x4x5x40xf16>, memref<1x4x5xf32>
  return
}
