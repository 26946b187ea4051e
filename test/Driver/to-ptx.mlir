// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift workers=2 sizes=q:512' 2>&1 | FileCheck %s
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=magic sizes=q:512' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not dash-opt %s --dash-to-ptx 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: dash-opt --help | FileCheck %s --check-prefix=HELP

// What no stage has lowered is named, at its place.
// CHECK: bwd-causal.mlir:{{[0-9]+:[0-9]+}}: error: 'dash.{{[a-z]+}}' op must be gone after Lowering

// An option is refused by the pass that it is for.
// KIND: error: unknown schedule 'magic'

// EMPTY: to-ptx.mlir:{{.*}}: error: expected a 'dash.attention_bwd' after IR, found none

// HELP: --dash-to-ptx
module {
}
