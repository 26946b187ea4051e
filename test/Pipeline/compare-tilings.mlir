// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings -o /dev/null | FileCheck %s
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-compare-tilings -o /dev/null | FileCheck %s --check-prefix=SMALL
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings='slots=k:2' -o /dev/null | FileCheck %s --check-prefix=NONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-compare-tilings='q-tile=96' -o /dev/null | FileCheck %s --check-prefix=ODD

// ODD: 96 128 alternating 2 warpgroups cannot split dq, 96x128: each has 64 rows, or all 64 and a multiple of 8 columns

// The cheapest first, then shapes of which none fits, and why.
// CHECK:      tilings for @attention_bwd: head dims 128 and 128 in 128 columns, on sm_90a; price: cycles of 64 x 128 scores
// CHECK-NEXT: q   kv  structure    hold  registers  shared bytes  tensor  shared      L2   price  slots
// CHECK-NEXT: 64 128 alternating - 240 231424 2560 3076 2641 3422 k 1, v 1, q 2, do 2, ds 2, dq 2  measured: h200
// CHECK-NEXT: 64 128 overlapping slots take 330752 bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// CHECK-NEXT: 128 128 overlapping slots take {{[0-9]+}} bytes of shared memory
// CHECK-NEXT: 128 128 alternating slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots, or fewer rows of tiles
// CHECK-NOT:  {{.}}

// K and V in registers save their reads.
// SMALL:      64 128 overlapping k v 240 232448 1280 1540 1331 1540 k 2, v 2, q 4, do 4, ds 4, dq 2 measured: h200
// SMALL-NEXT: 64 128 overlapping k v 240 199680 1280 1540 1331 1581 k 1, v 1, q 4, do 4, ds 4, dq 2{{$}}
// SMALL-NEXT: 64 128 overlapping v 224 232448 1280 1668 1331 1668
// SMALL:      128 128 alternating a thread needs about 272 registers

// Two slots of K have no room at head dim 128.
// NONE:     slots take
// NONE-NOT: measured
