// RUN: dash-opt %s --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' | FileCheck %s
// Where nothing is said, workers are the multiprocessors of the target:
// RUN: dash-opt %s --dash-apply-schedule='kind=shift sizes=q:4096,heads:16' | FileCheck %s
// RUN: dash-opt %s --dash-apply-schedule='kind=shift target=sm_90a workers=0 sizes=q:4096,heads:16' | FileCheck %s
// RUN: dash-opt %s --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --remarks-filter='dash.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] ordered | Category:dash-apply-schedule | {{.*}}kind=shift, minWorkers=128, tasks=32768

// The order stands once, in front of the function; adds get their turns.
// CHECK-LABEL: dash.schedule @attention_bwd_order kind("shift") level(run) parts(1) workers(132) width(132)
// CHECK-NEXT:      problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 16, head_dim = 128, head_dim_v = 128, sequences = <[4096, 4096]>>)
// CHECK-NEXT:      cost(<compute = 1.945, reduce = 1.459, latency = 0.379, buffers = 2, boundary = 5.77, piece = 1.15, convert = 7.0, gather = 0.95>)
// CHECK-NEXT:      order(#dash.formulas<
// CHECK-NEXT:          item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
// CHECK-NEXT:          worker(unit) = unit mod workers,
// CHECK-NEXT:          visit(kv, step) = let t0 = kv_tiles ceildiv width,
// CHECK-NEXT:          turn(kv, q) = let t0 = kv_tiles ceildiv width,
// CHECK:       dash.items order(@attention_bwd_order) over({{.+}})
// CHECK-NEXT:      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%[[SEQ:.+]], %{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK-NEXT:    dash.walk (%[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:      dash.ordered_reduce %{{.+}} into %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] turn(%[[TURN]]) :
func.func @attention_bwd(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                         %sum: memref<?x?x?x128xf32>, %zero: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      dash.reduce %zero into %sum[%seq, %head, %qi] : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  return
}
