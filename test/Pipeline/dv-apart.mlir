// dV apart: workers for each loop. Those of dV add nothing, so they have no role that adds, and exchange nothing, so dV leaves through
// slots of its own, which nobody fills.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile=split=dv --dash-apply-schedule='kind=symmetric-shift sizes=q:1024' --dash-check-kernels \
// RUN:   --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors --dash-check-resources -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: sed 's/x128xbf16/x64xbf16/g' %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling --dash-tile=split=dv --dash-apply-schedule='kind=symmetric-shift sizes=q:1024' \
// RUN:   --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors --dash-check-resources | FileCheck %s --check-prefix=OVERLAPPING

// CHECK:      dash.workers
// CHECK-NEXT:   dash.channel "k" depth(1)
// CHECK-NEXT:   dash.channel "q" depth(2)
// CHECK-NEXT:   dash.channel "do" depth(2)
// CHECK-NEXT:   %[[OUT:.+]] = dash.channel "out" depth(2) {{.+}} : !channel_128x64xbf16
// CHECK-NEXT:   dash.role "load-q" producer
// CHECK:        dash.role "load-kv" producer
// CHECK:        dash.role "compute" consumer
// CHECK:          dash.walk {{.+}} steps(%{{.+}}) stages(2) {
// CHECK-NEXT:       dash.take_tensor_core stage(1)
// CHECK-NEXT:       %[[DO:.+]] = dash.wait %{{.+}} stage(1)
// CHECK-NEXT:       dash.matmul %[[P:[0-9]+]], %[[DO]] accumulate(%{{.+}}) stage(1)
// CHECK:            dash.matmul %{{.+}}, transpose %{{.+}} stage(0)
// CHECK-NEXT:       dash.give_tensor_core stage(1)
// CHECK:            %[[P]] = dash.round %{{.+}} stage(0)
// CHECK:          dash.store %{{.+}}, %{{.+}} through %[[OUT]] : !channel_128x64xbf16 ahead(0)
// CHECK:      dash.workers
// CHECK:        dash.channel "ds"
// CHECK-NEXT:   dash.channel "dq"
// CHECK-NOT:    dash.channel "out"
// CHECK:        dash.role "reduce" reducer

// OVERLAPPING:      dash.workers structure(overlapping)
// OVERLAPPING:        dash.channel "k" depth(2) held
// OVERLAPPING-NEXT:   dash.channel "q_do" depth(4)
// OVERLAPPING-NEXT:   dash.channel "out" depth(2)
// OVERLAPPING:      dash.workers structure(overlapping)
