// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift workers=8 sizes=q:512' -o %t.mlir
// RUN: not dash-opt %t.mlir --dash-explain='output=%t.none/explanation.txt' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: sed 's/turn(kv, q) =.*/turn(kv, q) = 0>)/' %t.mlir | not dash-opt --dash-explain='output=%t.txt' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not ls %t.txt
// RUN: dash-opt %s --dash-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOTHING

// UNWRITABLE: error: cannot write the explanation to '{{.+}}.none/explanation.txt': {{.*}}No such file or directory
// WRONG: <stdin>:{{[0-9]+:[0-9]+}}: error: 'dash.schedule' op turn 0 of
// NOTHING: warning: no scheduled 'dash.items' to explain; run --dash-tile and --dash-apply-schedule first
module {}
