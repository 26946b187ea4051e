// Capped scores are hidden as they are, in front of the LSE: what computes their slope sees it too. dV has P, dS what is damped of it.
// RUN: sed 's/scale(.*)$/& softcap(50.0)/' %dash_examples/bwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=symmetric-shift sizes=q:1024' --dash-assign-roles --dash-order-products \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' dash.walk --grep 'softcap|hide|log_prob|exp2|round|damp|gradient|accumulate' \
// RUN:   | FileCheck %s

// CHECK:      dash.matmul [[DS:%[0-9]+]], {{.*}} accumulate
// CHECK-NEXT: dash.matmul [[ROUNDED:%[0-9]+]], {{.*}} accumulate
// CHECK-NEXT: [[CAPPED:%[0-9]+]] = dash.softcap {{%[0-9]+}} cap(5.000000e+01) scale(%{{.+}}) stage(0)
// CHECK-NEXT: [[SHOWN:%[0-9]+]] = dash.hide [[CAPPED]] band(
// CHECK-NEXT: [[LOG:%[0-9]+]] = dash.log_probability [[SHOWN]], {{.*}} scale(%cst
// CHECK-NEXT: [[P:%[0-9]+]] = dash.exp2 [[LOG]]
// CHECK-NEXT: [[ROUNDED]] = dash.round [[P]]
// CHECK-NEXT: [[DAMPED:%[0-9]+]] = dash.damp [[P]], [[SHOWN]]
// CHECK-NEXT: [[DS]] = dash.score_gradient [[DAMPED]]
