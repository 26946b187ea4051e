// RUN: dash-opt %s --dash-tile='q=60 kv=128' -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile='widths=64,96' 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile='widths=0,128' 2>&1 | FileCheck %s --check-prefix=WIDTH

// ROOM: bwd-causal.mlir:{{.+}}: error: has head dim 128, for which none of 'widths' has room: the largest is 96
// WIDTH: bwd-causal.mlir:{{.+}}: error: 'widths' must be multiples of 8, got 0

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

// expected-warning @below {{no 'dash.attention_bwd' or 'dash.attention_fwd' to tile}}
module {}
