// Both edges of a window are told by one number: the right one's, from which the left one is a width away.
// DEFINE: %{mask} = 512, 0
// DEFINE: %{roles} = sed 's/window = .512, 0./window = [%{mask}]/' %dash_examples/bwd-window.mlir \
// DEFINE:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:1024' --dash-assign-roles

// RUN: %{roles} | FileCheck %s
// CHECK:     dash.role "load-q" producer
// CHECK:       %[[LEAD:.+]] = dash.band_lead at(%{{.+}}, %{{.+}}, %{{.+}}) mask(<window = [512, 0]>) tiles(<q = 64, kv = 128>)
// CHECK:       dash.put {{.+}}, %[[LEAD]] into
// CHECK:     dash.role "compute" consumer
// CHECK:       {{.+}}, %[[TOLD:.+]] = dash.wait %q_tiles
// CHECK:       dash.hide %{{.+}} band(%[[TOLD]], %{{.+}}) mask(<window = [512, 0]>) :

// REDEFINE: %{mask} = 100, 40
// RUN: %{roles} | FileCheck %s --check-prefix=BOTH
// BOTH: dash.hide %{{.+}} band(%{{.+}}, %{{.+}}) mask(<window = [100, 40]>) :

// Without a left side a lead says all; without a right one that edge stands far out.
// REDEFINE: %{mask} = -1, 70
// RUN: %{roles} | FileCheck %s --check-prefix=RIGHT
// RIGHT: dash.hide %{{.+}} band(%{{.+}}, %{{.+}}) :

// REDEFINE: %{mask} = 300, -1
// RUN: %{roles} | FileCheck %s --check-prefix=LEFT
// LEFT: dash.hide %{{.+}} band(%{{.+}}, %{{.+}}) mask(<window = [300, -1]>) :

// Bounds that no sequence reaches are none.
// REDEFINE: %{mask} = 2147483647, 0
// RUN: %{roles} | FileCheck %s --check-prefix=FAR
// FAR: dash.hide %{{.+}} band(%{{.+}}, %{{.+}}) :
