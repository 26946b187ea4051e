// RUN: dash-opt %s --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' | FileCheck %s

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
