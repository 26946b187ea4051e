// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=4 sizes=q:512,batch:1,heads:4,kv-heads:4' --dash-assign-roles --dash-keep-apart --dash-overlap-rounding | FileCheck %s
// DEFINE: %{order} =
// DEFINE: %{kernels} = --dash-choose-tiling --dash-tile --dash-apply-schedule='%{order}' --dash-assign-roles --dash-keep-apart --dash-overlap-rounding
// REDEFINE: %{order} = kind=symmetric-shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1
// RUN: dash-opt %dash_examples/bwd-causal.mlir %{kernels} | FileCheck %s --check-prefixes=CHECK,PARTS

// One entry rounds all sums, so all of them tell, or none. There is nothing to wait for if adds have no turns, or if contributions are kept apart.
// REDEFINE: %{order} = kind=symmetric-shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1 apart=parts
// RUN: dash-opt %dash_examples/bwd-causal.mlir %{kernels} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{order} = kind=symmetric-shift workers=4 sizes=q:512,batch:1,heads:4,kv-heads:4 apart=all
// RUN: dash-opt %dash_examples/bwd-causal.mlir %{kernels} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{order} = kind=unordered workers=4 sizes=q:512,batch:1,heads:4,kv-heads:4
// RUN: dash-opt %dash_examples/bwd-causal.mlir %{kernels} | FileCheck %s --check-prefix=NONE
// Nor does anybody tell where nobody rounds: nobody would read it.
// REDEFINE: %{order} = kind=symmetric-shift workers=4 sizes=q:512,batch:1,heads:4,kv-heads:4
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='%{order}' --dash-assign-roles | grep -v dash.convert | dash-opt --dash-overlap-rounding | FileCheck %s --check-prefix=NONE
// NONE-LABEL: func.func @attention_bwd
// NONE-NOT:   {{signals_completion|awaits_completion}} :

// CHECK-LABEL: func.func @attention_bwd
// CHECK:         dash.role "reduce" reducer
// CHECK:           dash.walk (%[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]]) {
// CHECK:             dash.ordered_reduce %{{.+}} into %[[DQ:.+]][%{{.+}}, %[[HEAD]], %[[Q]]] turn(%[[TURN]]) signals_completion :
// PARTS:           dash.ordered_reduce %{{.+}} into %[[DK:.+]][%{{.+}}] piece(0 of 2) turn(%[[PART:.+]]) signals_completion :
// PARTS:           dash.ordered_reduce %{{.+}} into %[[DK]][%{{.+}}] piece(1 of 2) turn(%[[PART]]) signals_completion :
// PARTS:           dash.ordered_reduce %{{.+}} into %[[DV:.+]][%{{.+}}] piece(0 of 2) turn(%[[PART]]) signals_completion :
// PARTS:           dash.ordered_reduce %{{.+}} into %[[DV]][%{{.+}}] piece(1 of 2) turn(%[[PART]]) signals_completion :
// CHECK-DAG:     dash.convert %[[DQ]] to %{{.+}} scale(%{{[^)]+}}) awaits_completion :
// PARTS-DAG:     dash.convert %[[DK]] to %{{.+}} pieces(2) awaits_completion :
// PARTS-DAG:     dash.convert %[[DV]] to %{{.+}} pieces(2) awaits_completion :
