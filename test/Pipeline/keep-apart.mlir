// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1 apart=all' --dash-assign-roles --dash-keep-apart | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1 apart=parts' --dash-assign-roles --dash-keep-apart | FileCheck %s --check-prefixes=CHECK,PARTS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1' --dash-assign-roles --dash-keep-apart | FileCheck %s --check-prefix=NONE
// NONE-NOT: turn({{.*}}) apart

// Turns stay: they say in which place a contribution is kept, and in which order they are added up.
// CHECK-LABEL: func.func @attention_bwd
// CHECK:           dash.role "reduce" reducer warps(1) {
// CHECK:               dash.walk (%[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]]) {
// ALL:                   dash.ordered_reduce %{{.+}} into %[[DQ:.+]][%{{.+}}, %[[HEAD]], %[[Q]]] turn(%[[TURN]]) apart :
// PARTS:                 dash.ordered_reduce %{{.+}} into %[[DQ:.+]][%{{.+}}, %[[HEAD]], %[[Q]]] turn(%[[TURN]]) :
// CHECK:               dash.ordered_reduce %{{.+}} into %[[DK:.+]][%{{.+}}] piece(0 of 2) turn(%[[PART:.+]]) apart :
// CHECK:               dash.ordered_reduce %{{.+}} into %[[DK]][%{{.+}}] piece(1 of 2) turn(%[[PART]]) apart :
// CHECK:               dash.ordered_reduce %{{.+}} into %[[DV:.+]][%{{.+}}] piece(0 of 2) turn(%[[PART]]) apart :
// CHECK:               dash.ordered_reduce %{{.+}} into %[[DV]][%{{.+}}] piece(1 of 2) turn(%[[PART]]) apart :
// CHECK-DAG:       dash.convert %[[DK]] to %{{.+}} pieces(2) apart :
// CHECK-DAG:       dash.convert %[[DV]] to %{{.+}} pieces(2) apart :
// ALL-DAG:         dash.convert %[[DQ]] to %{{.+}} apart :
// PARTS-DAG:       dash.convert %[[DQ]] to %{{.+}} scale(%{{[^)]+}}) :
