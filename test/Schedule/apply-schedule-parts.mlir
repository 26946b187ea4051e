// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift workers=4 parts=2 sizes=q:256,heads:4,kv-heads:1' | FileCheck %s

// With two parts, an item has half of a kv head's query heads: dK and dV are summed in f32 over the parts, at the turn that
// dash.items gives, and rounded after.
// CHECK-LABEL: func.func @attention_bwd
// CHECK:         linalg.fill
// CHECK:         %[[DK_SUM:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// CHECK:         %[[DV_SUM:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// CHECK:         dash.items order(@attention_bwd_order)
// CHECK-NEXT:        {{.+}} (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %[[TURN:.+]]) {
// CHECK:           %[[SUMS:.+]]:2 = dash.walk
// CHECK-NOT:       dash.store
// CHECK:           dash.ordered_reduce %[[SUMS]]#0 into %[[DK_SUM]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] turn(%[[TURN]]) :
// CHECK-NEXT:      dash.ordered_reduce %[[SUMS]]#1 into %[[DV_SUM]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] turn(%[[TURN]]) :
// CHECK-NEXT:    }
// CHECK-DAG:     dash.convert %[[DK_SUM]] to %{{.+}} scale(%{{.+}}) :
// CHECK-DAG:     dash.convert %[[DV_SUM]] to %{{.+}} : memref
// CHECK-DAG:     memref.dealloc %[[DK_SUM]]
// CHECK-DAG:     memref.dealloc %[[DV_SUM]]
