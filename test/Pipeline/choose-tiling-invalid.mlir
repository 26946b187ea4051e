// RUN: rm -rf %t && split-file %s %t
// RUN: dash-opt %t/input.mlir --dash-choose-tiling -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=target=sm_80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=structure=twisted 2>&1 | FileCheck %s --check-prefix=STRUCTURE
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=slots=s:2 2>&1 | FileCheck %s --check-prefix=CHANNEL
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=slots=p:2 2>&1 | FileCheck %s --check-prefix=OF-PARTS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=slots=q:10 2>&1 | FileCheck %s --check-prefix=SLOTS
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='structure=overlapping' 2>&1 | FileCheck %s --check-prefix=SIDE-BY-SIDE
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='slots=q:8,do:8' 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | not dash-opt --dash-choose-tiling='structure=overlapping slots=q:4,do:3' 2>&1 | FileCheck %s --check-prefix=ALIKE
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | not dash-opt --dash-choose-tiling='structure=alternating' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | not dash-opt --dash-tile='q=64' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | sed 's/dq = 1 x 2/dq = 2 x 1/' | not dash-opt --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | sed 's/ds = 4/ds = 8/' | not dash-opt --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | sed 's/, v = 2}/}/; s/hold = .k, v./hold = []/' | not dash-opt --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=SLOTLESS
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling | sed 's/kv = 128/kv = 192/' | not dash-opt --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed s/x128xbf16/x96xbf16/ %dash_examples/bwd-causal.mlir | not dash-opt --dash-choose-tiling='structure=overlapping slots=q:2,do:2' 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='q-tile=60' 2>&1 | FileCheck %s --check-prefix=SIXTEEN
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='kv-tile=256' 2>&1 | FileCheck %s --check-prefix=COVERED
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=table=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=table=%t/version.json 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=table=%t/text.json 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=table=%t/twice.json 2>&1 | FileCheck %s --check-prefix=LINES
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=table=%t/forward.json 2>&1 | FileCheck %s --check-prefix=FORWARD

// TARGET: error: unknown target 'sm_80', expected one of sm_90a
// STRUCTURE: for the --structure option: expected one of fitting, alternating, overlapping, found 'twisted'
// CHANNEL: error: slots: expected one of k, v, q, do, ds, dq, p, out and a number, as in 'q:3,do:3', got 's:2'
// OF-PARTS: bwd-causal.mlir:{{[0-9]+}}:3: error: slots: a backward of all gradients has channels k, v, q, do, ds and dq, got 'p'
// SLOTS: error: slots of 'q' must be from 1 to 8, got '10'
// SIDE-BY-SIDE: bwd-causal.mlir:{{[0-9]+}}:3: error: has no tiling that the options leave and that fits:
// SHARED: bwd-causal.mlir:{{[0-9]+}}:3: error: has no tiling that the options leave and that fits: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// ALIKE: error: has no tiling that the options leave and that fits: q and do share slots where products overlap, so they have as many, not 4 and 3
// OTHER: error: has a tiling: it is not what the options ask for: drop them, or the tiling
// TWICE: error: has a tiling, which says its rows and columns: drop 'q', 'kv' and 'widths' of --dash-tile
// SPLIT: error: has a tiling: expected one of a backward, #dash.tiling<{{.+}}dq = 1 x 2{{.+}}>, got #dash.tiling<{{.+}}dq = 2 x 1{{.+}}>
// LARGE: error: has a tiling: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448
// SLOTLESS: error: has a tiling: a backward has a channel for 'v', expected its slots, got #dash.tiling<
// ROWS: error: has a tiling: 2 warpgroups cannot split 's', 192x64
// FULL: error: has no tiling that the options leave and that fits: tiles of two steps take 240 registers of a thread side by side, all that it has: another structure, or fewer rows of tiles
// SIXTEEN: bwd-causal.mlir:{{[0-9]+}}:3: error: tile size 'q' must be a multiple of 16 from 16 to 256, got 60
// COVERED: bwd-causal.mlir:{{[0-9]+}}:3: error: kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 64 and 256
// NONE: error: cannot read tilings file '{{.+}}none.json'
// VERSION: error: tilings file '{{.+}}version.json': expected 1 at tilings.version
// TEXT: error: tilings file '{{.+}}text.json': tilings[0]: expected a #dash.tiling, got '#dash.tiles<q = 64, kv = 128>'
// LINES: error: tilings file '{{.+}}twice.json': tilings[1]: a tiling of 64 columns without a softcap is there before, expected one
// FORWARD: error: tilings file '{{.+}}forward.json': tilings[0]: a backward has a product 's', expected its split, got #dash.tiling<

//--- version.json
{"version": 2, "machine": "x", "tilings": []}
//--- text.json
{"version": 1, "machine": "x", "tilings": [{"tiling": "#dash.tiles<q = 64, kv = 128>", "record": "x"}]}
//--- twice.json
{"version": 1, "machine": "x", "tilings": [
  {"tiling": "#dash.tiling<tiles = <q = 64, kv = 128>, columns = 64, structure = overlapping, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [k, v], slots = {dq = 2, ds = 4, k = 2, q_do = 4, v = 2}>", "record": "x"},
  {"tiling": "#dash.tiling<tiles = <q = 64, kv = 128>, columns = 64, structure = overlapping, splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [k, v], slots = {dq = 2, ds = 4, k = 2, q_do = 4, v = 2}>", "record": "x"}]}
//--- forward.json
{"version": 1, "machine": "x", "tilings": [
  {"tiling": "#dash.tiling<tiles = <q = 64, kv = 128>, columns = 64, structure = alternating, splits = {o = 2 x 1}, hold = [], slots = {q = 1}>", "record": "x"}]}
//--- input.mlir
// Nothing to do is worth a word.
// expected-warning @below {{no 'dash.attention_bwd' or 'dash.attention_fwd' to choose a tiling for}}
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
