// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>
!list = memref<1x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @plain
// CHECK:         dash.attention_fwd
// CHECK-NEXT:        ins(%{{.+}}, %{{.+}}, %{{.+}} : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
// CHECK-NEXT:        outs(%{{.+}}, %{{.+}} : memref<2x8x512x128xbf16>, memref<2x8x512xf32>)
// CHECK-NEXT:        mask(<causal>) level(row){{$}}
func.func @plain(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// CHECK-LABEL: func.func @of_a_list
// CHECK:             mask(<window = [512, 0]>) level(batch) scale(%{{.+}}) sequences(<?>) sink(%{{.+}} : memref<?xf32>) softcap(3.000000e+01)
func.func @of_a_list(%q: !list, %k: !list, %v: !list, %o: !list, %lse: memref<1x?x?xf32>, %scale: f32, %sink: memref<?xf32>) {
  dash.attention_fwd ins(%q, %k, %v : !list, !list, !list) outs(%o, %lse : !list, memref<1x?x?xf32>)
      mask(<window = [512, 0]>) level(batch) scale(%scale) sequences(<?>) sink(%sink : memref<?xf32>) softcap(30.0)
  return
}

// v has a head dim of its own.
// CHECK-LABEL: func.func @wide
func.func @wide(%q: memref<1x8x512x192xbf16>, %k: memref<1x8x512x192xbf16>, %v: memref<1x8x512x128xbf16>,
                %o: memref<1x8x512x128xbf16>, %lse: memref<1x8x512xf32>) {
  dash.attention_fwd ins(%q, %k, %v : memref<1x8x512x192xbf16>, memref<1x8x512x192xbf16>, memref<1x8x512x128xbf16>)
      outs(%o, %lse : memref<1x8x512x128xbf16>, memref<1x8x512xf32>) mask(<full>) level(row)
  return
}

// CHECK-LABEL: func.func @cut
// CHECK:             mask(<causal>) level(row) softcap(3.000000e+01) cut(2048){{$}}
func.func @cut(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) softcap(30.0) cut(2048)
  return
}

// Four heads share a q tile.
// CHECK-LABEL: func.func @fold
// CHECK:             mask(<causal>) level(row) cut(2048) fold(4){{$}}
func.func @fold(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) cut(2048) fold(4)
  return
}

// The output twice, in two layouts.
// CHECK-LABEL: func.func @unrounded
// CHECK:             mask(<causal>) level(row) softcap(3.000000e+01) unrounded(%{{.+}} : memref<2x8x512x128xf32, strided<[?, ?, ?, 1]>>){{$}}
func.func @unrounded(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row,
                     %unrounded: memref<2x8x512x128xf32, strided<[?, ?, ?, 1]>>) {
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) softcap(30.0)
      unrounded(%unrounded : memref<2x8x512x128xf32, strided<[?, ?, ?, 1]>>)
  return
}
