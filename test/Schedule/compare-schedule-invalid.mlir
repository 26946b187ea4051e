// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift workers=8 sizes=q:512' -o %t.mlir
// RUN: not dash-opt %t.mlir --dash-compare='output=%t.none/comparison.txt' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: sed 's/turn(kv, q) =.*/turn(kv, q) = 0>)/' %t.mlir | not dash-opt --dash-compare='output=%t.txt' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not ls %t.txt
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift sizes=q:131072,heads:4' --dash-compare -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: dash-opt %s --dash-compare -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOTHING

// UNWRITABLE: error: cannot write the comparison to '{{.+}}.none/comparison.txt': {{.*}}No such file or directory
// WRONG: <stdin>:{{[0-9]+:[0-9]+}}: error: 'dash.schedule' op turn 0 of
// LARGE: error: kinds are compared up to 4194304 tasks, got 8388608; state fewer heads or rows
// NOTHING: warning: no scheduled 'dash.items' to compare; run --dash-tile and --dash-apply-schedule first
module {}
