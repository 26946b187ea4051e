// RUN: dash-opt %s --dash-tile -verify-diagnostics

// What an argument is to one op it is to the other, too: passes behind ask the argument.
!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @other_roles(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  // expected-error-re @below {{argument 2 is stated to be {{.+}}"v", side = kv{{.+}}, but is {{.+}}"k", side = kv{{.+}} here: hand over an argument for each}}
  dash.attention_bwd ins(%q, %v, %k, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}
