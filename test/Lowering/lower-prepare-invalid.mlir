// RUN: dash-opt %s --dash-lower-prepare -verify-diagnostics -split-input-file

func.func @not_outlined(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}

// -----

// Of another's making, or of none.
func.func @attention_bwd(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels {
}
