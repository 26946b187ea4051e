// RUN: dash-opt %s --dash-tile='q=48 kv=128' -verify-diagnostics

!T = memref<1x3x300x64xbf16>
!R = memref<1x3x300xf32>
func.func @tiles_divide_blocks(%q: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{block size 'q' must be a multiple of the q tile, 48, got 64}}
  dash.attention_bwd
      ins(%q, %q, %q, %q, %lse, o = %q : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<blocks = #dash.blocks<q = 64, kv = 128, bits = dense<1> : tensor<3x5xi1>>>) level(run)
  return
}
