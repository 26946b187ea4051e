// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shift workers=4 sizes=q:512' --dash-check-kernels | FileCheck %s

// What is covered stays as it is; its arguments get names.
// CHECK:      func.func @attention_bwd(
// CHECK-SAME:   {dash.name = "q"}, %{{.+}} {dash.name = "k"}, %{{.+}} {dash.name = "v"}, %{{.+}} {dash.name = "do"}, %{{.+}} {dash.name = "o"}, %{{.+}} {dash.name = "lse"},
// CHECK-SAME:   {dash.name = "dq"}, %{{.+}} {dash.name = "dk"}, %{{.+}} {dash.name = "dv"}, %{{.+}}: f32 {dash.name = "scale"})
// CHECK:      dash.items order(@attention_bwd_order)
// CHECK:        dash.ordered_reduce
// CHECK:      dash.convert
