// RUN: dash-opt %s --dash-check-sizes | FileCheck %s

// The largest that kernels count; sizes that are left open are none of its business.
!Q = memref<65535x65535x2097152x64xbf16>
!K = memref<65535x?x2097152x64xbf16>
!R = memref<65535x65535x2097152xf32>
// CHECK-LABEL: func @largest
// CHECK: dash.attention_bwd
func.func @largest(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}
