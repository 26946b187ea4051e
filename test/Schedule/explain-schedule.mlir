// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shift workers=8 level=machine for-workers=4 sizes=q:1024,heads:4,kv-heads:2' --dash-explain -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift workers=8 sizes=q:512,heads:8' --dash-explain='output=%t.txt' -o %t.mlir
// RUN: FileCheck %s --check-prefix=BEST < %t.txt
// RUN: sed 's/kind("shift")/kind("mine")/' %t.mlir | dash-opt --dash-explain -o /dev/null | FileCheck %s --check-prefix=UNKNOWN

// A kind on a mask that it is not made for, at a level that is made for other workers than there are.
// CHECK-LABEL: schedule shift of @attention_bwd
// CHECK:         kind         shift: each worker starts
// CHECK-NEXT:    why          made for full masks; on others
// CHECK-NEXT:    workers      8 lists, at least 4 resident at once: with fewer, some wait for ever
// CHECK-NEXT:                 lists are fixed
// CHECK-NEXT:    makespan     103.0, 1.301 times the lower bound of 79.1
// CHECK-NEXT:    stall        14.1 % of the workers' time waiting for turns, 1.9 % for buffers, 5.6 % idle at the end
// CHECK-NEXT:    dQ in flight 2.1 MB at most (2097152 bytes)
// CHECK-NEXT:    parts        1: dK and dV need no sums in memory
// CHECK-NEXT:    apart        none: every contribution waits for the turn in front of it
// CHECK-NEXT:    level        machine for 4 workers; takes 0.724 times as long as at level run: 142.3
// CHECK-NEXT:    auto         kind=auto takes 'synthesized', which chooses for each sequence by itself; tried here at level run
// CHECK-NEXT:    faster       kind=symmetric-shift takes 89.1 (13.5 % less); kind=synthesized searches for one
// CHECK-NEXT:    not faster   kind=descending 117.9, parts=2 134.6, kind=ascending 144.7

// The best of the fixed kinds.
// BEST-LABEL: schedule shift of @attention_bwd
// BEST:         level        run, the cheapest
// BEST-NEXT:    auto         kind=auto takes shift 86.8 (0.0 % of the workers' time waiting, 0.0 % idle)
// BEST-NEXT:                 the least predicted time of all kinds; the best other fixed kind is {{[a-z-]+}} {{[0-9.]+}} (
// BEST-NEXT:    faster       no other kind or number of parts that was tried

// An order that no builder is known for is still predicted, and compared with those that are.
// UNKNOWN-LABEL: schedule mine of @attention_bwd
// UNKNOWN:         kind         mine: made elsewhere; no builder is known for it
// UNKNOWN-NEXT:    workers      8 lists
// UNKNOWN:         not faster   {{.*}}kind=shift

// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:2048,heads:8,kv-heads:1' --dash-explain -o /dev/null | FileCheck %s --check-prefix=PARTS
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift sizes=q:2048,heads:8,kv-heads:1' --dash-explain -o /dev/null | FileCheck %s --check-prefix=ONEPART
// What parts cost and bring, and why so many: on an H200 these take 468, 250, 141 and 97 microseconds, with preparation and conversion.
// PARTS: parts        8 of 1 query heads each: an item adds its dK and dV in 4.6, rounding the sums takes 0.8
// PARTS-NEXT:         kind=auto takes 8: 1 part 505.1, 2 parts 262.3 + 0.8, 4 parts 140.9 + 0.8, 8 parts 84.8 + 0.8, 16 parts {{[0-9.]+}} + 0.8, 24 parts {{[0-9.]+}} + 0.8 with the rounding
// PARTS: auto         in as many parts (8) kind=auto takes shift 84.8 (
// ONEPART: parts        1: dK and dV need no sums in memory
// ONEPART-NEXT:         kind=auto takes 8: 1 part 505.1, 2 parts
// ONEPART: faster       parts=8 takes 85.6 (83.1 % less)

// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile --dash-apply-schedule='kind=shift workers=8 sizes=q:1024' --dash-explain -o /dev/null | FileCheck %s --check-prefix=WINDOW
// A kind may be made for several masks.
// WINDOW: why          in a window the kv tiles of a wave start at the diagonal

// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:8192,heads:1' --dash-explain -o /dev/null | FileCheck %s --check-prefix=RUNS
// A head that is alone is cut into runs of its q tiles.
// RUNS: parts        4 of a query head's q tiles in 4 runs, one each: an item adds its dK and dV in 4.6, rounding the sums takes 3.4
// RUNS-NEXT:         kind=auto takes 4: 1 part 247.3, 2 parts
