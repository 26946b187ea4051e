// RUN: dash-opt %s --dash-lower-convert -verify-diagnostics -split-input-file

func.func @not_outlined(%sum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16>) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}

// -----

// Of another's making, or of none.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16>) {
  dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels attributes {dash.program = {name = "attention_bwd", program = {head_dim = 64 : i64}}} {
}
