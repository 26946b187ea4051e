// The lead is that of the window in a union, and the first columns' edges follow from the mask, which a consumer is told.
// RUN: dash-opt %dash_examples/bwd-union.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:1024' --dash-assign-roles | FileCheck %s
// CHECK:     dash.role "load-q" producer
// CHECK:       %[[LEAD:.+]] = dash.band_lead at(%{{.+}}, %{{.+}}, %{{.+}}) mask(<causal, union = #dash.union<columns = 4, window = [512, -1]>>) tiles(<q = 64, kv = 128>)
// CHECK:       dash.put {{.+}}, %[[LEAD]] into
// CHECK:     dash.role "compute" consumer
// CHECK:       {{.+}}, %[[TOLD:.+]] = dash.wait %q_tiles
// CHECK:       dash.hide %{{.+}} band(%[[TOLD]], %{{.+}}) mask(<causal, union = #dash.union<columns = 4, window = [512, -1]>>) :

// Also where the window has a right side alone.
// RUN: sed 's/<causal, union.*-1.>>/<union = #dash.union<columns = 256, window = [-1, 0]>>/' %dash_examples/bwd-union.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:1024' --dash-assign-roles | FileCheck %s --check-prefix=PREFIX
// PREFIX: dash.hide %{{.+}} band(%{{.+}}, %{{.+}}) mask(<union = #dash.union<columns = 256, window = [-1, 0]>>) :
