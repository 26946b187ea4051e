// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=PARTS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=parts sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=PARTS
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto sizes=q:1,kv:4096,heads:32,kv-heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=ALL
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift apart=auto sizes=q:1,kv:4096,heads:32,kv-heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=STATED
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift apart=auto sizes=q:1,kv:131072,heads:32,kv-heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=MEMORY
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto sizes=q:8192,heads:32,kv-heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=NONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto gather=100 sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=NONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto assume=true' --dash-verify-schedule | FileCheck %s --check-prefix=NONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=unordered apart=auto sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=NONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=auto level=batch sizes=q:512,batch:3,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=BATCH
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto apart=all parts=2 sizes=q:512,heads:2,kv-heads:1' --dash-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// What waits most, for what it costs to write and read it once more: 16 parts of eight heads over one; 32 adds to the one q tile of a head.
// PARTS: dash.schedule @attention_bwd_order kind("synthesized") level(run) parts(16) workers(132) width(132) min_workers({{[0-9]+}}) apart(parts)
// ALL: dash.schedule @attention_bwd_order kind("ascending") level(run) parts(1) workers(132) width(132) min_workers({{[0-9]+}}) apart(all)

// With a stated kind, and as formulas; but without a request, no order takes a gigabyte.
// STATED: dash.schedule @attention_bwd_order kind("shift") {{.*}} apart(all)
// STATED: #dash.formulas
// MEMORY: dash.schedule @attention_bwd_order
// MEMORY-NOT: apart(

// Where workers have enough to do, or reading is too dear, or sizes are not known, or adds have no turns.
// NONE: dash.schedule @attention_bwd_order
// NONE-NOT: apart(

// A sequence chooses its parts by itself; what is kept apart, which fixes no bit, all of them do together.
// BATCH: dash.schedule @attention_bwd_order kind("synthesized") level(batch) {{.*}} apart(

// EXPLAIN: apart        all: no contribution waits for a turn, and all are added up behind the order
// EXPLAIN-NEXT:         orders of this kind, with what comes behind them: none {{[0-9.]+ \+ [0-9.]+}}, parts {{[0-9.]+ \+ [0-9.]+}}, all {{[0-9.]+ \+ [0-9.]+$}}
