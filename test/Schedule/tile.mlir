// RUN: dash-opt %s --dash-tile='q=64 kv=128' | FileCheck %s

func.func @attention_bwd(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                         %do: memref<?x?x?x128xbf16>, %o: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>,
                         %dq: memref<?x?x?x128xbf16>, %dk: memref<?x?x?x128xbf16>, %dv: memref<?x?x?x128xbf16>,
                         %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>,
          memref<?x?x?x128xbf16>, memref<?x?x?xf32>, memref<?x?x?x128xbf16>)
      outs(%dq, %dk, %dv : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      mask(<causal>) level(run) scale(%scale)
  return
}
