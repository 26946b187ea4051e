// RUN: dash-opt %s --dash-check-sizes -verify-diagnostics -split-input-file

!Q = memref<65536x1x64x64xbf16>
!K = memref<65536x1x64x64xbf16>
!R = memref<65536x1x64xf32>
func.func @sequences(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  // expected-error @below {{kernels serve batch up to 65535, got 65536}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}

// -----

!Q = memref<1x70000x64x64xbf16>
!K = memref<1x1x64x64xbf16>
!R = memref<1x70000x64xf32>
func.func @heads(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  // expected-error @below {{kernels serve heads up to 65535, got 70000}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}

// -----

!Q = memref<?x?x64x64xbf16>
!K = memref<?x65536x64x64xbf16>
!R = memref<?x?x64xf32>
func.func @kv_heads(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  // expected-error @below {{kernels serve kv_heads up to 65535, got 65536}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}

// -----

!Q = memref<1x1x4194304x64xbf16>
!K = memref<1x1x8388608x64xbf16>
!R = memref<1x1x4194304xf32>
func.func @q_rows(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  // expected-error @below {{kernels serve q_rows up to 2097152, got 4194304}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}

// -----

!Q = memref<1x1x64x64xbf16>
!K = memref<1x1x2097153x64xbf16>
!R = memref<1x1x64xf32>
func.func @kv_rows(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  // expected-error @below {{kernels serve kv_rows up to 2097152, got 2097153}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q) outs(%dq, %dk, %dv : !Q, !K, !K)
      mask(<full>) level(run)
  return
}
