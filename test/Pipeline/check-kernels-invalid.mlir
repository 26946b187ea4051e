// RUN: dash-opt %s --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=ascending workers=2' --dash-check-kernels -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=TILED
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=32 kv=128' --dash-apply-schedule='sizes=q:512' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=unordered parts=2 sizes=q:512,heads:2,kv-heads:1' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir | not dash-opt --dash-tile --dash-apply-schedule='kind=ascending parts=2 sizes=q:512,heads:2,kv-heads:1' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=LIST-PARTS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='form=table sizes=q:64,kv:128,batch:1,heads:70000,kv-heads:70000' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='form=table sizes=q:64,kv:4194304,batch:1,heads:1,kv-heads:1' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='sizes=q:512' | sed 's/strided<.?, ?, ?, 1/strided<[?, ?, ?, 2/g' | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=STRIDE

// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='sizes=q:512' -o %t.roles
// RUN: sed 's/{dash.tensor = #lse}//' %t.roles | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=NO-ROLE
// RUN: sed 's/{dash.tensor = #lse}/{dash.tensor = #dk}/' %t.roles | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=OTHER-TYPE
// RUN: sed 's/{dash.tensor = #dk}/{dash.tensor = #dv}/' %t.roles | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=SAME-ROLE

// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift workers=2 parts=2 sizes=q:128,heads:2,kv-heads:1' --dash-verify-schedule -o %t.parts
// RUN: sed '/dash.convert .* to %arg7/d' %t.parts | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: sed '/dash.convert .* to %arg8/d' %t.parts | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: sed 's/to %arg7 scale(%arg9)/to %arg7 scale(%cst)/' %t.parts | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=SCALE

// NO-ROLE: error: kernels cover functions of tensors and a scale: argument 5 is none of the program's ('dash.tensor')
// OTHER-TYPE: error: argument 5 is #dash.tensor_role<"dk", {{.+}}>, which its type cannot be, 'memref<?x?x?xf32
// SAME-ROLE: error: two arguments are 'dv': kernels know tensors by their names
// RUN: sed 's/x128xbf16/x64xbf16/' %dash_examples/bwd-causal.mlir | not dash-opt --dash-tile=widths=128 --dash-apply-schedule='sizes=q:512' --dash-verify-schedule --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=WIDTHS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile=split=dq --dash-apply-schedule=sizes=q:4096 --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=OWN-Q
// OWN-Q: bwd-causal.mlir:[[#]]:3: error: kernels of items that own q tiles have a program of their own, and this one has items that own kv tiles too: run it on the CPU (--dash-lower-to-loops, dash-run), or write two programs, outs(dk = ..., dv = ...) and outs(dq = ...)
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-tile=split=dv --dash-apply-schedule='kind=symmetric-shift parts=2 sizes=q:512,heads:2,kv-heads:1' --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=APART-PARTS
// APART-PARTS: bwd-causal.mlir:[[#]]:3: error: kernels of a gradient apart cover 1 part, got 2: order the problem with parts=1, or tile it with split=none
// WIDTHS: <stdin>:{{.+}}: error: kernels take tiles of 64 columns at these head dims, got 128 of a tensor with 64: tile with 'widths=64,96,128' (--dash-tile)

// WHOLE: bwd-causal.mlir:{{.+}}: error: has no order to make kernels of; run --dash-tile and --dash-apply-schedule first
// TILED: bwd-causal.mlir:{{.+}}: error: has no order to make kernels of; run --dash-apply-schedule first
// TILES: bwd-causal.mlir:{{.+}}: error: kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 32 and 128
// PARTS: bwd-causal.mlir:{{.+}}: error: kernels add parts in turns, and kind 'unordered' gives none: order the problem with parts=1, or by another kind
// KEYS: :{{[0-9]+}}:5: error: with parts dk must be rounded by 'dash.convert', from sums that the function allocates
// VALUES: :{{[0-9]+}}:5: error: with parts dv must be rounded by 'dash.convert', from sums that the function allocates
// SCALE: :{{[0-9]+}}:5: error: must have the scale of dq's 'dash.convert', or none: kernels have one
// LIST-PARTS: <stdin>:{{.+}}: error: kernels cover parts of batches of equal sequences, not of 'sequences': order the problem with parts=1
// HEADS: bwd-causal.mlir:{{.+}}: error: kernels serve heads up to 65535, got 70000
// ROWS: bwd-causal.mlir:{{.+}}: error: kernels serve kv_rows up to 2097152, got 4194304
// STRIDE: error: the last dimension of 'q' must have a stride of 1, got type 'memref<?x?x?x128xbf16, strided<[?, ?, ?, 2], offset: ?>>'

!Q = memref<1x1x64x192xbf16>
!T = memref<1x1x64x128xbf16>
!R = memref<1x1x64xf32>
func.func @wide(%q: !Q, %k: !Q, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !Q, %dk: !Q, %dv: !T) {
  // expected-error @below {{kernels cover a head dim that is a multiple of 8 up to 128, got 192 of q and 128 of v}}
  // expected-note @below {{up to 256 they cover two programs, outs(dk = ..., dv = ...) and outs(dq = ...)}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !Q, !T, !T, !R, !T) outs(%dq, %dk, %dv : !Q, !Q, !T)
      mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @list(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{kernels of stated 'sequences' take their order as a table (table=true of --dash-to-ptx, form=table of --dash-apply-schedule); for lengths that are known at run time, state 'sequences(<?>)'}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run) sequences(<[40, 40], [24, 24]>)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @bitmap(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{kernels cover bitmaps of batches of equal sequences, not of 'sequences'}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<blocks = #dash.blocks<q = 64, kv = 128, bits = dense<1> : tensor<1x1xi1>>>) level(run) sequences(<[40, 40], [24, 24]>)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
// expected-error @below {{kernels cover functions without results}}
func.func @result(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) -> !T {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return %dq : !T
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @shared(%q: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{tensor 'k' must be an argument of the function that is no other tensor too}}
  dash.attention_bwd ins(%q, %q, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
// expected-error @below {{kernels cover functions of tensors and a scale: argument 5 is none of the program's}}
func.func @more(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %more: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @delta_of_an_argument_that_is_written(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %delta: !R, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  // expected-error @below {{delta must be computed by 'dash.delta' in memory that the function allocates, or be an argument that nothing writes}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, delta = %delta : !T, !T, !T, !T, !R, !R)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @computed_scale(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T, %x: f32) {
  %scale = arith.mulf %x, %x : f32
  // expected-error @below {{the scale must be an argument of the function or a constant}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run) scale(%scale)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @twice(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  // expected-error @below {{kernels cover one problem a function, and this is the second}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @own_memory(%q: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  %k = memref.alloc() : !T
  // expected-error @below {{works on memory of type 'memref<1x1x64x64xbf16>' that has no '#dash.tensor_role': expected an argument with 'dash.tensor', which --dash-tile puts there, or what 'dash.convert' rounds, or 'dash.combine' puts together, to one}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}
