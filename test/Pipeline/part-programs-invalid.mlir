// What programs of a part of the gradients cannot have.
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 192 %dash_examples/bwd-causal.mlir > %t/kv.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 192 %dash_examples/bwd-causal.mlir > %t/q.mlir
// RUN: not dash-opt %t/kv.mlir --dash-choose-tiling=slots=ds:2 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: kv.mlir:[[#]]:3: error: slots: this part of the gradients has channels k, v, q, do, p and out, got 'ds'
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling=slots=p:2 2>&1 | FileCheck %s --check-prefix=OF-DQ
// OF-DQ: q.mlir:[[#]]:3: error: slots: this part of the gradients has channels k, v, q, do and out, got 'p'
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 192,128 %dash_examples/bwd-causal.mlir > %t/kv-two.mlir
// RUN: not dash-opt %t/kv-two.mlir --dash-tile='q=64 kv=64 widths=192' --dash-apply-schedule='kind=ascending sizes=q:512,kv:512,batch:1,heads:1' --dash-verify-schedule --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=WIDTHS
// WIDTHS: error: kernels take tiles of 128 columns at these head dims, got 192 of a tensor with 128: choose a tiling first (--dash-choose-tiling)
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling='kv-tile=128' 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: q.mlir:[[#]]:3: error: has no tiling that the options leave and that fits: slots take 247808 bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// RUN: sed 's/x192xbf16/x256xbf16/g; s/scale(.scale)/& softcap(30.0)/' %t/kv.mlir > %t/kv256.mlir
// RUN: not dash-opt %t/kv256.mlir --dash-choose-tiling='structure=overlapping' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: kv256.mlir:[[#]]:3: error: has no tiling that the options leave and that fits: a thread needs about 256 registers, but has 240: another structure, or fewer rows of tiles
// RUN: not dash-opt %t/kv.mlir --dash-tile='q=64 kv=64 split=dv' 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: kv.mlir:[[#]]:3: error: has a part of the gradients, which is one loop, got 'split=dv'
// RUN: not dash-opt %t/kv.mlir --dash-to-ptx='kind=ascending parts=2 sizes=heads:4,kv-heads:2' -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: kv.mlir:[[#]]:3: error: kernels of a part of the gradients cover 1 part, got 2: order the problem with parts=1
// RUN: not dash-opt %t/sink.mlir --dash-to-ptx='kind=ascending' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SINK
// SINK: sink.mlir:[[#]]:3: error: kernels make a sink's gradient beside dq, dk and dv: write a program of all gradients, or one without the sink
// REQUIRES: python

//--- sink.mlir
!T = memref<?x?x?x128xbf16>
func.func @sink(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: memref<?x?x?xf32>, %dk: !T, %dv: !T, %sink: memref<?xf32>, %dsink: memref<?x?xf32>) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, memref<?x?x?xf32>, !T) outs(dk = %dk, dv = %dv : !T, !T)
      mask(<causal>) level(run) sink(%sink, %dsink : memref<?xf32>, memref<?x?xf32>)
  return
}
