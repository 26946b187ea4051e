// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

// Static sizes, grouped heads, with the forward's output.
// CHECK-LABEL: func.func @static
// CHECK:       dash.attention_bwd
// CHECK-NEXT:    ins(%[[Q:.+]], %[[K:.+]], %[[V:.+]], %[[DO:.+]], %[[LSE:.+]], o = %[[O:.+]] : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x8x512x128xbf16>, memref<2x8x512xf32>, memref<2x8x512x128xbf16>)
// CHECK-NEXT:    outs(%[[DQ:.+]], %[[DK:.+]], %[[DV:.+]] : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
// CHECK-NEXT:    mask(<causal>) level(run){{$}}
func.func @static(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dq: !q, %dk: !kv,
                  %dv: !kv) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<causal>) level(run)
  return
}

!tensor = memref<?x?x?x192xf16, strided<[?, ?, ?, 1], offset: ?>>
!value = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1]>>

// Run-time sizes and strides, f16, head dims 192 and 128, delta, a scale, and another attribute.
// CHECK-LABEL: func.func @dynamic
// CHECK:       dash.attention_bwd
// CHECK-NEXT:    ins({{.+}}, delta = %{{.+}} : {{.+}}, memref<?x?x?xf32, strided<[?, ?, 1]>>)
// CHECK-NEXT:    outs(
// CHECK-NEXT:    mask(<full>) level(world) scale(%{{.+}}) {tag = 1 : i64}
func.func @dynamic(%q: !tensor, %k: !tensor, %v: !value, %do: !value, %delta: !rows, %lse: !rows,
                   %dq: !tensor, %dk: !tensor, %dv: !value, %scale: f32) {
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, delta = %delta : !tensor, !tensor, !value, !value, !rows, !rows)
    outs(%dq, %dk, %dv : !tensor, !tensor, !value) mask(<full>) level(world) scale(%scale) {tag = 1}
  return
}

!packed = memref<1x4x4000x64xbf16>
!packedKv = memref<1x4x?x64xbf16>
!packedRows = memref<1x4x4000xf32>

// Sequences one after the other.
// CHECK-LABEL: func.func @sequences
// CHECK:         mask(<causal>) level(batch) sequences(<[1000, 1000], [3000, 2000]>)
func.func @sequences(%q: !packed, %k: !packedKv, %v: !packedKv, %do: !packed, %o: !packed,
                     %lse: !packedRows, %dq: !packed, %dk: !packedKv, %dv: !packedKv) {
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o
        : !packed, !packedKv, !packedKv, !packed, !packedRows, !packed)
    outs(%dq, %dk, %dv : !packed, !packedKv, !packedKv)
    mask(<causal>) level(batch) sequences(<[1000, 1000], [3000, 2000]>)
  return
}

// A sink over a list: its gradient has a row for each sequence.
// CHECK-LABEL: func.func @sinks_of_sequences
// CHECK:         sequences(<[1000, 1000], [3000, 2000]>) sink(%{{.+}}, %{{.+}} : memref<4xf32>, memref<2x4xf32>)
func.func @sinks_of_sequences(%q: !packed, %k: !packedKv, %v: !packedKv, %do: !packed, %o: !packed, %lse: !packedRows, %dq: !packed,
                              %dk: !packedKv, %dv: !packedKv, %sink: memref<4xf32>, %dsink: memref<2x4xf32>) {
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o
        : !packed, !packedKv, !packedKv, !packed, !packedRows, !packed)
    outs(%dq, %dk, %dv : !packed, !packedKv, !packedKv)
    mask(<causal>) level(batch) sequences(<[1000, 1000], [3000, 2000]>) sink(%sink, %dsink : memref<4xf32>, memref<2x4xf32>)
  return
}

// Scores capped, and a sink, whose gradient has a row for each sequence.
// CHECK-LABEL: func.func @capped
// CHECK:         mask(<causal>) level(run) scale(%{{.+}}) sink(%{{.+}}, %{{.+}} : memref<8xf32>, memref<2x8xf32, strided<[?, 1]>>) softcap(5.000000e+01){{$}}
func.func @capped(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dq: !q, %dk: !kv,
                  %dv: !kv, %scale: f32, %sink: memref<8xf32>, %dsink: memref<2x8xf32, strided<[?, 1]>>) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<causal>) level(run) scale(%scale)
                     sink(%sink, %dsink : memref<8xf32>, memref<2x8xf32, strided<[?, 1]>>) softcap(50.0)
  return
}

// A part of the gradients, by name.
// CHECK-LABEL: func.func @dk_and_dv
// CHECK:         outs(dk = %{{.+}}, dv = %{{.+}} : memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>)
// CHECK-LABEL: func.func @dq_alone
// CHECK:         outs(dq = %{{.+}} : memref<2x8x512x128xbf16>)
func.func @dk_and_dv(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dk: !kv, %dv: !kv) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(dk = %dk, dv = %dv : !kv, !kv) mask(<causal>) level(run)
  return
}
func.func @dq_alone(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dq: !q) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(dq = %dq : !q) mask(<causal>) level(run)
  return
}

// dS goes from one program to the other.
// CHECK-LABEL: func.func @keeps_ds
// CHECK:         scale(%{{.+}}) softcap({{.+}}) ds(%{{.+}} : memref<?x4096xbf16>)
// CHECK-LABEL: func.func @reads_ds
// CHECK:         outs(dq = %{{.+}}
// CHECK-NEXT:    mask(<window = [-1, 7]>) level(run) ds(%{{.+}} : memref<?x4096xbf16>)
func.func @keeps_ds(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dk: !kv, %dv: !kv, %scale: f32,
                    %ds: memref<?x4096xbf16>) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(dk = %dk, dv = %dv : !kv, !kv) mask(<causal>) level(run) scale(%scale) softcap(5.0)
                     ds(%ds : memref<?x4096xbf16>)
  return
}
func.func @reads_ds(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: !q, %lse: !row, %dq: !q, %ds: memref<?x4096xbf16>) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
                     outs(dq = %dq : !q) mask(<window = [-1, 7]>) level(run) ds(%ds : memref<?x4096xbf16>)
  return
}

// The output in f32, as it is before it is rounded.
// CHECK-LABEL: func.func @of_unrounded
// CHECK:         o = %{{.+}} : memref<2x8x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x2x512x128xbf16>, memref<2x8x512x128xbf16>, memref<2x8x512xf32>, memref<2x8x512x128xf32>)
func.func @of_unrounded(%q: !q, %k: !kv, %v: !kv, %do: !q, %o: memref<2x8x512x128xf32>, %lse: !row,
                        %dq: !q, %dk: !kv, %dv: !kv) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, memref<2x8x512x128xf32>)
                     outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<causal>) level(run)
  return
}
