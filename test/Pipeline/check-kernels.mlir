// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512' --dash-check-kernels | FileCheck %s
// RUN: sed -e 's/%%o: !tensor/%%delta: !per_row/; s/o = %%o/delta = %%delta/; s/!per_row, !tensor)/!per_row, !per_row)/' %dash_examples/bwd-causal.mlir | dash-opt --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512' --dash-check-kernels | FileCheck %s --check-prefix=DELTA --implicit-check-not='"o"' --implicit-check-not=dash.delta

// What is covered stays as it is; its arguments get names.
// CHECK:      func.func @attention_bwd(
// CHECK-SAME:   {dash.name = "q"}, %{{.+}} {dash.name = "k"}, %{{.+}} {dash.name = "v"}, %{{.+}} {dash.name = "do"}, %{{.+}} {dash.name = "o"}, %{{.+}} {dash.name = "lse"},
// CHECK-SAME:   {dash.name = "dq"}, %{{.+}} {dash.name = "dk"}, %{{.+}} {dash.name = "dv"}, %{{.+}}: f32 {dash.name = "scale"})
// CHECK:      dash.items order(@attention_bwd_order)
// CHECK:        dash.ordered_reduce
// CHECK:      dash.convert

// Delta that is given stands in the place of o.
// DELTA:      func.func @attention_bwd(
// DELTA-SAME:   {dash.name = "do"}, %{{.+}}: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {dash.name = "delta"}, %{{.+}} {dash.name = "lse"},
