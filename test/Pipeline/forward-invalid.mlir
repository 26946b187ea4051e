// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling='slots=ds:2' 2>&1 | FileCheck %s --check-prefix=CHANNEL
// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling='slots=k:8' 2>&1 | FileCheck %s --check-prefix=SLOTS
// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling='q-tile=192 slots=q:1' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling='q-tile=256' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling | not dash-opt --dash-choose-tiling='structure=alternating' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling | not dash-opt --dash-tile='q=64' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/ scale(%%scale)/ scale(%%minus)/; s/^  dash.attention_fwd/  %%minus = arith.constant -0.5 : f32\n&/' %dash_examples/fwd-causal.mlir | not dash-opt --dash-to-ptx='kind=longest-first' 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: sed 's/ scale(%%scale)/& sequences(<[300, 300], [40, 70]>)/' %dash_examples/fwd-causal.mlir | not dash-opt --dash-to-ptx='kind=longest-first' 2>&1 | FileCheck %s --check-prefix=STATED
// RUN: sed 's/ scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir | not dash-opt --dash-to-ptx='kind=longest-first table=true' 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: sed 's/ scale(%%scale)/& sequences(<[256, 256], [256, 128]>)/; s/<causal>/<causal, blocks = #dash.blocks<q = 128, kv = 128, bits = dense<true> : tensor<2x2xi1>>>/' %dash_examples/fwd-causal.mlir | not dash-opt --dash-to-ptx='kind=longest-first table=true sizes=heads:2,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=BITMAP
// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first consumers=by-gradient' 2>&1 | FileCheck %s --check-prefix=CONSUMERS
// RUN: not dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first contributions=true' 2>&1 | FileCheck %s --check-prefix=CONTRIBUTIONS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile=split=dq --dash-apply-schedule='assume=true' --dash-verify-schedule | not dash-opt --dash-check-kernels 2>&1 | FileCheck %s --check-prefix=BACKWARD

// What a forward's kernels do not cover is said at the op, with what to do.
// CHANNEL: fwd-causal.mlir:[[#]]:3: error: slots: a forward has channels k, v and q, got 'ds'
// SLOTS: fwd-causal.mlir:[[#]]:3: error: has no tiling that the options leave and that fits: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// REGISTERS: fwd-causal.mlir:[[#]]:3: error: has no tiling that the options leave and that fits: a thread needs about {{[0-9]+}} registers, but has 160: fewer rows of tiles
// ROWS: fwd-causal.mlir:[[#]]:3: error: kernels of items that own q tiles cover q tiles of 64, 128 and 192 rows, and kv tiles of a multiple of 16 up to 256, got 256 and 128
// OTHER: error: has a tiling: it is not what the options ask for: drop them, or the tiling; expected #dash.tiling<
// TWICE: error: has a tiling, which says its rows and columns: drop 'q', 'kv' and 'widths' of --dash-tile
// SCALE: error: the scale must be an argument of the function, or a constant above 0, got -0.5
// STATED: error: kernels of stated 'sequences' take their order as a table (table=true of --dash-to-ptx, form=table of --dash-apply-schedule); for lengths that are known at run time, state 'sequences(<?>)'
// OPEN: error: size 'q' is not in the types, and the order is a table, which serves no other size: state it, as in sizes=q:4096
// BITMAP: error: kernels cover bitmaps of batches of equal sequences, not of 'sequences'
// BACKWARD: error: kernels of items that own q tiles have a program of their own, and this one has items that own kv tiles too: run it on the CPU (--dash-lower-to-loops, dash-run), or write two programs, outs(dk = ..., dv = ...) and outs(dq = ...)
// CONSUMERS: fwd-causal.mlir:[[#]]:3: error: items that own q tiles have one sum of outputs, and one role computes it: assign roles with consumers=together
// CONTRIBUTIONS: fwd-causal.mlir:[[#]]:3: error: has no role that adds sums of steps, so there are no contributions to keep: drop 'contributions'
