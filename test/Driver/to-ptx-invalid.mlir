// RUN: dash-opt %s --dash-to-ptx='kind=ascending workers=2' -verify-diagnostics -split-input-file
// RUN: rm -rf %t && mkdir %t
// REQUIRES: host-supports-nvptx

// Tiles that have no kernel, and tiles whose slots no block has room for.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='q-tile=96' 2>&1 | FileCheck %s --check-prefix=Q-TILE
// Q-TILE: bwd-causal.mlir:{{[0-9]+}}:3: error: kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 96 and 128
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kv-tile=256' 2>&1 | FileCheck %s --check-prefix=KV-TILE
// KV-TILE: bwd-causal.mlir:{{[0-9]+}}:3: error: kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 64 and 256
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='q-tile=128' 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: bwd-causal.mlir:{{[0-9]+}}:3: error: has no tiling that the options leave and that fits: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles

// Waves as wide as an order was made for could wait for workers that are not there; an order without waves cannot.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift level=machine for-workers=200 workers=132' 2>&1 | FileCheck %s --check-prefix=WAVES
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=descending level=machine for-workers=200 workers=132' -o /dev/null
// WAVES: bwd-causal.mlir:{{[0-9]+}}:3: error: an order made for 200 workers may need as many at sizes that are known at run time only, got 132
// WAVES: note: raise workers, lower for-workers (which changes the bits), or make a table for stated sizes (form=table of --dash-apply-schedule)

// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=unordered contributions=true' 2>&1 | FileCheck %s --check-prefix=NO-TURNS
// NO-TURNS: bwd-causal.mlir:{{[0-9]+}}:3: error: adds in no order, so contributions have no turns to be kept by; use a schedule whose kind is not 'unordered'

// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='slots=q:1,do:1' 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: bwd-causal.mlir:{{[0-9]+}}:3: error: roles wait for each other for ever

// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-full.mlir | not dash-opt --dash-to-ptx='q-tile=128' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: <stdin>:{{[0-9]+}}:3: error: has no tiling that the options leave and that fits: a thread needs about 272 registers (64 for what walks carry, 192 for tiles in flight, 16 for addresses), but has 240: another structure, or fewer rows of tiles

// Stated sizes that kernels cannot count: nothing is spent on an order for them.
// RUN: sed 's/memref<?x?x?/memref<1x1x4194304/; s/strided<.?, ?, ?, 1., offset: ?>/strided<[536870912, 536870912, 128, 1]>/; s/strided<.?, ?, 1., offset: ?>/strided<[4194304, 4194304, 1]>/' %dash_examples/bwd-full.mlir | not dash-opt --dash-to-ptx 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: <stdin>:{{[0-9]+}}:3: error: kernels serve q_rows up to 2097152, got 4194304

// Each can be counted, but not all of them together: grids are far from their limit where an order ends.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='sizes=q:1024,kv:1024,batch:65535,heads:65535,kv-heads:65535' 2>&1 | FileCheck %s --check-prefix=TOGETHER
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=ascending sizes=q:1,heads:67108864' 2>&1 | FileCheck %s --check-prefix=TOGETHER
// TOGETHER: bwd-causal.mlir:{{[0-9]+}}:3: error: problem is too large to be scheduled: expected at most 8388608 kv tiles, 16777216 q tiles and 17179869184 tasks over all heads and sequences

// Parts are of the query heads of a kv head.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift parts=3 sizes=q:512,batch:1,heads:8,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: bwd-causal.mlir:{{[0-9]+}}:3: error: parts must divide the 8 query heads of a kv head or be a multiple of them, got 3

// Orders from files: tables for other sizes, workers and tiles.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1' --dash-report-schedule='format=json output=%t/order.json' -o /dev/null
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=file path=%t/order.json sizes=q:1024,kv:1024,batch:1,heads:2,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: bwd-causal.mlir:{{[0-9]+}}:3: error: order file '{{.+}}/order.json': schedules[0]: order is for sequences (q x kv rows) 512 x 512, expected 1024 x 1024
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=file path=%t/order.json workers=8 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=WORKERS
// WORKERS: bwd-causal.mlir:{{[0-9]+}}:3: error: order file '{{.+}}/order.json': schedules[0]: order is for workers 4, expected 8
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=synthesized' 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: bwd-causal.mlir:{{[0-9]+}}:3: error: size 'q' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=q:4096, or take a kind with formulas for this mask: ascending, descending, shift, symmetric-shift
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='sizes=q:512,heads:3,kv-heads:2' 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: bwd-causal.mlir:{{[0-9]+}}:3: error: heads must be a multiple of kv-heads, got 3 and 2

// Options out of range: the pass that has the option says so, at the program.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=magic' 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: bwd-causal.mlir:{{[0-9]+}}:3: error: unknown schedule 'magic'
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='target=sm_100a' 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: bwd-causal.mlir:{{[0-9]+}}:3: error: unknown target 'sm_100a', expected one of sm_90a
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='workers=-1' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: bwd-causal.mlir:{{[0-9]+}}:3: error: workers must be from 1 to 16384, or 0 for the multiprocessors of the target, got -1
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='workers=16385' 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: bwd-causal.mlir:{{[0-9]+}}:3: error: workers must be from 1 to 16384, or 0 for the multiprocessors of the target, got 16385
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='level=machine for-workers=0' 2>&1 | FileCheck %s --check-prefix=FOR
// FOR: bwd-causal.mlir:{{[0-9]+}}:3: error: for-workers must be from 1 to 16384, got 0
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='level=always' 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: for the --level option: expected one of run, batch, machine, own, found 'always'
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='q-tile=8' 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: bwd-causal.mlir:{{[0-9]+}}:3: error: tile size 'q' must be a multiple of 16 from 16 to 256, got 8
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='sizes=q:0' 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: bwd-causal.mlir:{{[0-9]+}}:3: error: sizes: 'q' must be a number from 1 to 2147483647, got '0'

// Files that cannot be written, or assembled.
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='output=%t/none/x' 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: bwd-causal.mlir:{{.+}}: error: cannot write the kernels, nothing was written: '{{.+}}/none/x.json': No such file or directory
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='output=%t/' 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: bwd-causal.mlir:{{.+}}: error: output must end in a name, as DIR/name does, got '{{.+}}/'
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='output=%t/--options-file=x' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: bwd-causal.mlir:{{.+}}: error: output must end in a name that no tool takes for an option, got '{{.+}}/--options-file=x'
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='output=%t/x ptxas=%t/none' 2>&1 | FileCheck %s --check-prefix=PTXAS
// PTXAS: bwd-causal.mlir:{{.+}}: error: cannot run '{{.+}}/none':
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// LEFT-NOT: ptx

// Nothing to compile.
// expected-error @below {{expected a 'dash.attention_bwd' or 'dash.attention_fwd' after IR, found none}}
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

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
func.func @sequences(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{kernels of stated 'sequences' take their order as a table (table=true of --dash-to-ptx, form=table of --dash-apply-schedule); for lengths that are known at run time, state 'sequences(<?>)'}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run) sequences(<[40, 40], [24, 24]>)
  return
}

// -----

!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
// expected-error @below {{kernels cover functions without results}}
func.func @results(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) -> !T {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return %dq : !T
}
