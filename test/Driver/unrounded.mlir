// RUN: rm -rf %t && mkdir -p %t
// RUN: split-file %s %t
// RUN: dash-opt %t/forward.mlir --dash-to-ptx='kind=longest-first workers=132 slack=0 output=%t/fwd' -o /dev/null
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/fwd.json
// RUN: FileCheck %s --check-prefix=FORWARD --input-file=%t/fwd.ptx
// RUN: dash-opt %t/backward.mlir --dash-to-ptx='kind=shift workers=132 output=%t/bwd' -o /dev/null
// RUN: FileCheck %s --check-prefix=GIVEN --input-file=%t/bwd.json
// RUN: FileCheck %s --check-prefix=BACKWARD --input-file=%t/bwd.ptx
// RUN: not dash-opt %t/backward.mlir --dash-to-ptx='kind=shift workers=132 slack=0' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLACK

// SLACK: error: has no online softmax, got 'slack=0.0'

// The main kernel writes the f32 output from registers: it has no descriptor, and strides of its own.
// MANIFEST: {"name":"unrounded","element":"f32","access":"write","shape":["batch","heads","q_rows","128"],"alignment":16,"stride_multiple":8}
// MANIFEST: {"name":"unrounded","type":"ptr"
// MANIFEST-NEXT: {"name":"unrounded.stride.batch","type":"i64"
// MANIFEST-NEXT: {"name":"unrounded.stride.head","type":"i64"
// MANIFEST-NEXT: {"name":"unrounded.stride.row","type":"i64"

// FORWARD: .entry attention_fwd_main(
// FORWARD: wgmma.mma_async
// FORWARD: st.global.v2.b32

// A row's piece of 8 elements is two loads of O and one of dO; products are rounded, as in a sum of any program.
// GIVEN: {"name":"o","element":"f32","access":"read","shape":["batch","heads","q_rows","128"],"alignment":16,"stride_multiple":8}
// BACKWARD: .entry attention_bwd_prepare(
// BACKWARD-COUNT-12: ld.global.nc.L1::no_allocate.v4.b32
// BACKWARD-NOT: ld.global
// BACKWARD: mul.rn.f32
// BACKWARD: add.rn.f32
// BACKWARD-NOT: fma.rn.f32
// BACKWARD: shfl.sync.bfly

//--- forward.mlir
!T = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!U = memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>
!row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_fwd(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row, %unrounded: !U) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<causal>) level(row)
      unrounded(%unrounded : !U)
  return
}

//--- backward.mlir
!T = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!U = memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>
!row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %o: !U, %lse: !row, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !row, !U)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<causal>) level(run)
  return
}
