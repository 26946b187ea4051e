// What programs that pass dS on cannot have.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 256 %dash_examples/bwd-causal.mlir ds > %t/kv.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-causal.mlir ds > %t/q.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 128 %dash_examples/bwd-causal.mlir ds > %t/kv128.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 128 %dash_examples/bwd-causal.mlir ds > %t/q128.mlir
// RUN: not dash-opt %t/kv128.mlir --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not dash-opt %t/q128.mlir --dash-choose-tiling 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: 128.mlir:[[#]]:3: error: dS goes from one program to another where dK and dV have a warpgroup each, which is above 256 columns of both together: below, leave out 'ds', or write a program of all gradients
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling=kv-tile=128 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: q.mlir:[[#]]:3: error: tiles of a given dS have 64 rows of k, got 128
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling=structure=overlapping 2>&1 | FileCheck %s --check-prefix=STRUCTURE
// STRUCTURE: q.mlir:[[#]]:3: error: has one product in a step, so no others to overlap: drop 'structure'
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling=slots=v:2 2>&1 | FileCheck %s --check-prefix=CHANNELS
// CHANNELS: q.mlir:[[#]]:3: error: slots: dQ of a given dS has channels ds, k and out, got 'v'
// RUN: not dash-opt %t/q.mlir --dash-choose-tiling=slots=k:8 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: q.mlir:[[#]]:3: error: has no tiling that the options leave and that fits: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// RUN: not dash-opt %t/kv.mlir --dash-choose-tiling=kv-tile=128 2>&1 | FileCheck %s --check-prefix=WRITER
// WRITER: kv.mlir:[[#]]:3: error:
// REQUIRES: python
