// RUN: dash-opt %s --dash-compare-tilings -o /dev/null -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings=target=sm_80 -o /dev/null 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings=slots=q -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLOTS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings=output=%t.none/tilings.txt -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE

// TARGET: error: unknown target 'sm_80', expected one of sm_90a
// SLOTS: error: slots of 'q' must be from 1 to 8, got ''
// UNWRITABLE: error: cannot write the comparison to '{{.+}}.none/tilings.txt': {{.*}}No such file or directory

// expected-warning @below {{no 'dash.attention_bwd' whose tilings to compare}}
module {
}

// -----

!T = memref<1x1x64x136xbf16>
!R = memref<1x1x64xf32>
func.func @head_dim_136(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{kernels cover a head dim that is a multiple of 8 up to 128, got 136 of q and 136 of v}}
  // expected-note @below {{up to 256 they cover two programs, outs(dk = ..., dv = ...) and outs(dq = ...)}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}
