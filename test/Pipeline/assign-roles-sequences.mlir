// Sequences of a list have kv rows of their own: a consumer hides what is behind those of the sequence that it is told.
// RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:300+40,kv:300+40,heads:2,kv-heads:2' --dash-assign-roles | FileCheck %s

// The lengths that the order is proven for are an example: the list stays open.
// CHECK:     dash.schedule @
// CHECK-NEXT:    problem({{.+}} sequences = <[300, 300], [40, 40]>>)
// CHECK:     dash.role "load-kv" producer
// CHECK:       dash.items
// CHECK-NEXT:    tiles({{.+}} sequences(<?>)
// CHECK:     dash.role "compute" consumer
// CHECK:       %{{[^,]+}}, %{{[^,]+}}, %[[SEQUENCE:[^,]+]], %{{[^,]+}}, %[[TILE:[^,]+]] = dash.wait %k_tiles
// CHECK:       dash.hide %{{.+}} band(%{{.+}}, %[[TILE]]) of(%[[SEQUENCE]]) :
