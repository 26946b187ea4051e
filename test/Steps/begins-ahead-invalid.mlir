// Items that begin ahead have a step at least, and stand for one by a tile behind all rows.
// DEFINE: %{tiled} = dash-opt --dash-choose-tiling --dash-tile
// RUN: %{tiled} %dash_examples/fwd-causal.mlir --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:2' --dash-assign-roles --dash-order-products -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: sed 's/stages(2)/stages(3)/' %t.mlir | not dash-opt --dash-peel-walks -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAGES
// CHECK: dash.workers {{.*}}begins_ahead
// CHECK: stages(2)
// STAGES: error: has 3 stages, and items that begin ahead have a step at least: expected 2

// A load of such a tile faults where a descriptor begins in front of its tensor, as those of lists do.
// RUN: sed 's/ scale(%%scale)/& sequences(<[300, 300], [40, 70]>)/' %dash_examples/fwd-causal.mlir | %{tiled} --dash-apply-schedule='kind=longest-first workers=2 sizes=heads:2,kv-heads:2 form=table' --dash-assign-roles -o %t.list.mlir
// RUN: sed 's/dash.workers \(.*\){$/dash.workers \1begins_ahead {/' %t.list.mlir | not dash-opt -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: 'dash.workers' op begins items ahead, which items of batches that own q tiles do; those of role '{{.*}}' are of others
