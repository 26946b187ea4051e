// A stock mlir-opt that loads the plugin knows the dialect and its passes: it prints what dash-opt prints.
// REQUIRES: mlir-opt
// UNSUPPORTED: asan

// RUN: dash-opt %dash_examples/bwd-causal.mlir -o %t.ours
// RUN: mlir-opt --load-dialect-plugin=%dash_plugin %dash_examples/bwd-causal.mlir -o %t.theirs
// RUN: cmp %t.ours %t.theirs
// RUN: mlir-opt --load-dialect-plugin=%dash_plugin %t.theirs --verify-roundtrip | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift workers=4 sizes=q:1024' --dash-verify-schedule -o %t.ours
// RUN: mlir-opt --load-dialect-plugin=%dash_plugin --load-pass-plugin=%dash_plugin %dash_examples/bwd-causal.mlir -o %t.theirs \
// RUN:   --pass-pipeline='builtin.module(dash-tile{q=64 kv=128},dash-apply-schedule{kind=symmetric-shift workers=4 sizes=q:1024},dash-verify-schedule)'
// RUN: cmp %t.ours %t.theirs
// RUN: FileCheck %s --check-prefix=SCHEDULED --input-file=%t.theirs
// Without it, the dialect is unknown there.
// RUN: not mlir-opt %dash_examples/bwd-causal.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT

// CHECK: dash.attention_bwd
// SCHEDULED: dash.schedule
// WITHOUT: Dialect `dash' not found for custom op 'dash.attention_bwd'
