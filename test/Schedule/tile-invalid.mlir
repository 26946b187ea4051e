// RUN: dash-opt %s --dash-tile='q=60 kv=128' -verify-diagnostics -split-input-file

func.func @tiles_fit_the_instructions(%q: memref<1x3x300x64xbf16>, %lse: memref<1x3x300xf32>,
    %dq: memref<1x3x300x64xbf16>, %dk: memref<1x3x300x64xbf16>, %dv: memref<1x3x300x64xbf16>) {
  // expected-error @below {{tile size 'q' must be a multiple of 16 from 16 to 256, got 60}}
  dash.attention_bwd
      ins(%q, %q, %q, %q, %lse, o = %q : memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>,
          memref<1x3x300x64xbf16>, memref<1x3x300xf32>, memref<1x3x300x64xbf16>)
      outs(%dq, %dk, %dv : memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>)
      mask(<causal>) level(run)
  return
}

// -----

// expected-warning @below {{no 'dash.attention_bwd' to tile}}
module {}
