// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512' --dash-check-kernels | FileCheck %s
// RUN: sed -e 's/%%o: !tensor/%%delta: !per_row/; s/o = %%o/delta = %%delta/; s/!per_row, !tensor)/!per_row, !per_row)/' %dash_examples/bwd-causal.mlir | dash-opt --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512' --dash-check-kernels | FileCheck %s --check-prefix=DELTA --implicit-check-not='#o' --implicit-check-not=dash.delta

// What is covered stays as it is; its arguments are tensors of the op.
// CHECK:      func.func @attention_bwd(
// CHECK-SAME:   {dash.tensor = #q}, %{{.+}} {dash.tensor = #k}, %{{.+}} {dash.tensor = #v}, %{{.+}} {dash.tensor = #do}, %{{.+}} {dash.tensor = #o}, %{{.+}} {dash.tensor = #lse},
// CHECK-SAME:   {dash.tensor = #dq}, %{{.+}} {dash.tensor = #dk}, %{{.+}} {dash.tensor = #dv}, %{{.+}}: f32 {dash.tensor = #scale}) attributes {dash.tensors = [#q, #k, #v, #do, #o, #lse, #dq, #dk, #dv, #scale]}
// CHECK:      dash.items order(@attention_bwd_order)
// CHECK:        dash.ordered_reduce
// CHECK:      dash.convert

// Delta that is given stands in the place of o.
// DELTA:      func.func @attention_bwd(
// DELTA-SAME:   {dash.tensor = #do}, %{{.+}}: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {dash.tensor = #delta}, %{{.+}} {dash.tensor = #lse},
