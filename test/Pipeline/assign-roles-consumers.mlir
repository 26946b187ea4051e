// A consumer for each gradient that an item sums up. Both read Q and dO of a step, and K of an item; V and dS are those of dK alone, and so is
// dQ. What dV is made of, S and P, each computes for itself.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='kv-tile=64 structure=alternating' --dash-tile --dash-apply-schedule='kind=symmetric-shift sizes=q:1024' \
// RUN:   --dash-assign-roles=consumers=by-gradient -o %t
// RUN: FileCheck %s --input-file=%t

// The whole plan is one that ends: dV leaves through slots of its own, dK through those of dS.
// RUN: dash-opt %t --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors --dash-check-resources | FileCheck %s --check-prefix=PLAN

// One sum of an item is one consumer.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile=split=dv --dash-apply-schedule='kind=symmetric-shift sizes=q:1024' \
// RUN:   --dash-assign-roles=consumers=by-gradient | FileCheck %s --check-prefix=SPLIT

// CHECK:      dash.workers
// CHECK-NEXT:   %[[K:.+]] = dash.channel "k"
// CHECK-NEXT:   %[[V:.+]] = dash.channel "v"
// CHECK-NEXT:   %[[Q:.+]] = dash.channel "q"
// CHECK-NEXT:   %[[DO:.+]] = dash.channel "do"
// CHECK-NEXT:   %[[DS:.+]] = dash.channel "ds"
// CHECK-NEXT:   %[[DQ:.+]] = dash.channel "dq"
// CHECK-NEXT:   %[[OUT:.+]] = dash.channel "out" depth(2) : !channel_64x64xbf16
// CHECK:        dash.role "dk" consumer warps(4) {
// CHECK:          dash.wait %[[K]]
// CHECK-NEXT:     dash.wait %[[V]]
// CHECK:          dash.walk {{.+}} init(%{{.+}} = %{{[^,]+}}) : tensor<64x128xf32> steps(
// CHECK:            dash.wait %[[Q]]
// CHECK:            dash.exp2
// CHECK:            dash.wait %[[DO]]
// CHECK:            dash.put %{{.+}} into %[[DS]]
// CHECK:            dash.wait %[[DS]]
// CHECK:            dash.put %{{.+}} into %[[DQ]]
// CHECK:            dash.yield %{{[^,]+}} : tensor<64x128xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     dash.store
// CHECK-NOT:      dash.store
// CHECK:        dash.role "dv" consumer warps(4) {
// CHECK:          dash.wait %[[K]]
// CHECK-NOT:      dash.wait %[[V]]
// CHECK:          dash.walk {{.+}} init(%{{.+}} = %{{[^,]+}}) : tensor<64x128xf32> steps(
// CHECK:            dash.wait %[[Q]]
// CHECK:            dash.exp2
// CHECK:            dash.wait %[[DO]]
// CHECK-NOT:        dash.put
// CHECK:            dash.yield %{{[^,]+}} : tensor<64x128xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     dash.store %{{.+}}, %{{.+}} : tensor<64x128xf32>
// CHECK-NOT:      dash.store

// PLAN:      dash.workers registers(168)
// PLAN:        %[[DS:.+]] = dash.channel "ds"
// PLAN:        %[[OUT:.+]] = dash.channel "out"
// PLAN:        dash.role "dk" consumer warps(4) registers(240)
// PLAN:          dash.release %q_tiles
// PLAN:          dash.release %do_tiles
// PLAN:          dash.store {{.+}} through %[[DS]]
// PLAN:        dash.role "dv" consumer warps(4) registers(240)
// PLAN:          dash.release %q_tiles
// PLAN:          dash.release %do_tiles
// PLAN:          dash.store {{.+}} through %[[OUT]]

// SPLIT:     dash.workers
// SPLIT:       dash.role "compute" consumer
// SPLIT-NOT:   consumer
// SPLIT:     dash.workers
// SPLIT:       dash.role "compute" consumer
// SPLIT-NOT:   consumer
