// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
!S = memref<?x?x?x128xf32>

// The backward pass, tiled; contributions to dQ are added in any order.
// CHECK-LABEL: func.func @unscheduled
// CHECK:       dash.delta ins(
// CHECK:       dash.items unscheduled over(%{{.+}}, %{{.+}}, %{{.+}} : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
// CHECK-NEXT:      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]]) {
// CHECK:         dash.walk (%[[HEAD:.+]], %[[Q:.+]]) init(
// CHECK:           dash.reduce %{{.+}} into %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]]
// CHECK:       dash.convert
func.func @unscheduled(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %delta: !R, %sum: !S,
                       %dq: !T, %dk: !T, %dv: !T, %scale: f32) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %vt = dash.load %v[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %dks, %dvs = dash.walk (%head, %qi) init(%dk0 = %zero, %dv0 = %zero)
        : tensor<128x128xf32>, tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %dot = dash.load %do[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : !R -> tensor<64xf32>
      %d = dash.load %delta[%seq, %head, %qi] : !R -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt
        : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %pt = dash.probability %st, %l at(%seq, %kv, %qi) scale(%scale)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %pb = dash.round %pt : tensor<128x64xf32> to tensor<128x64xbf16>
      %dpt = dash.matmul %vt, transpose %dot
        : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %dst = dash.score_gradient %pt, %dpt, %d
        : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
      %dv1 = dash.matmul %pb, %dot accumulate(%dv0)
        : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %dk1 = dash.matmul %dst, %qt accumulate(%dk0)
        : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %dqp = dash.matmul transpose %dst, %kt
        : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.reduce %dqp into %sum[%seq, %head, %qi] : tensor<64x128xf32> into !S
      dash.yield %dk1, %dv1 : tensor<128x128xf32>, tensor<128x128xf32>
    }
    dash.store %dks, %dk[%seq, %kv_head, %kv] scale(%scale) : tensor<128x128xf32> -> !T
    dash.store %dvs, %dv[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  dash.convert %sum to %dq scale(%scale) : !S to !T
  return
}

dash.schedule @order kind("ascending") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 3000]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
                       worker(unit) = unit mod workers, visit(kv, step) = first + step,
                       turn(kv, q) = kv>)

// The same, each contribution at its turn. A schedule for stated sizes fits run-time sizes.
// CHECK-LABEL: func.func @scheduled
// CHECK:       dash.items order(@order) over(%{{.+}}, %{{.+}}, %{{.+}} : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
// CHECK-NEXT:      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %{{.+}}) {
// CHECK-NEXT:    %[[KT:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:    %[[VT:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:    %[[SUMS:.+]]:2 = dash.walk (%[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]]) init(%[[DK0:.+]] = %[[ZERO:.+]], %[[DV0:.+]] = %[[ZERO]]) : tensor<128x128xf32>, tensor<128x128xf32> {
// CHECK-NEXT:      %[[QT:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]]
// CHECK-NEXT:      %[[DOT:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]]
// CHECK-NEXT:      %[[L:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] : memref<?x?x?xf32> -> tensor<64xf32>
// CHECK-NEXT:      %[[D:.+]] = dash.load
// CHECK-NEXT:      %[[ST:.+]] = dash.matmul %[[KT]], transpose %[[QT]] :
// CHECK-NEXT:      %[[PT:.+]] = dash.probability %[[ST]], %[[L]] at(%[[SEQ]], %[[KV]], %[[Q]]) scale(%{{.+}}) :
// CHECK-NEXT:      %[[PB:.+]] = dash.round %[[PT]] : tensor<128x64xf32> to tensor<128x64xbf16>
// CHECK-NEXT:      %[[DPT:.+]] = dash.matmul %[[VT]], transpose %[[DOT]] :
// CHECK-NEXT:      %[[DST:.+]] = dash.score_gradient %[[PT]], %[[DPT]], %[[D]] :
// CHECK-NEXT:      %[[DV1:.+]] = dash.matmul %[[PB]], %[[DOT]] accumulate(%[[DV0]]) :
// CHECK-NEXT:      %[[DK1:.+]] = dash.matmul %[[DST]], %[[QT]] accumulate(%[[DK0]]) :
// CHECK-NEXT:      %[[DQP:.+]] = dash.matmul transpose %[[DST]], %[[KT]] :
// CHECK-NEXT:      dash.ordered_reduce %[[DQP]] into %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] turn(%[[TURN]]) :
// CHECK-NEXT:      dash.yield %[[DK1]], %[[DV1]] :
// CHECK-NEXT:    }
// CHECK-NEXT:    dash.store %[[SUMS]]#0, %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] scale(%{{.+}}) :
// CHECK-NEXT:    dash.store %[[SUMS]]#1, %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] :
// CHECK-NEXT:  }
func.func @scheduled(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %delta: !R, %sum: !S,
                     %dq: !T, %dk: !T, %dv: !T, %scale: f32) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %vt = dash.load %v[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %dks, %dvs = dash.walk (%head, %qi, %turn) init(%dk0 = %zero, %dv0 = %zero)
        : tensor<128x128xf32>, tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %dot = dash.load %do[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : !R -> tensor<64xf32>
      %d = dash.load %delta[%seq, %head, %qi] : !R -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt
        : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %pt = dash.probability %st, %l at(%seq, %kv, %qi) scale(%scale)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %pb = dash.round %pt : tensor<128x64xf32> to tensor<128x64xbf16>
      %dpt = dash.matmul %vt, transpose %dot
        : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %dst = dash.score_gradient %pt, %dpt, %d
        : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
      %dv1 = dash.matmul %pb, %dot accumulate(%dv0)
        : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %dk1 = dash.matmul %dst, %qt accumulate(%dk0)
        : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %dqp = dash.matmul transpose %dst, %kt
        : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %dqp into %sum[%seq, %head, %qi] turn(%turn) : tensor<64x128xf32> into !S
      dash.yield %dk1, %dv1 : tensor<128x128xf32>, tensor<128x128xf32>
    }
    dash.store %dks, %dk[%seq, %kv_head, %kv] scale(%scale) : tensor<128x128xf32> -> !T
    dash.store %dvs, %dv[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  dash.convert %sum to %dq scale(%scale) : !S to !T
  return
}

dash.schedule @packed kind("unordered") level(batch) parts(2) workers(4) width(4) unordered
  problem(<tiles = <q = 64, kv = 64>, mask = <full>, heads = 4, kv_heads = 2, head_dim = 64,
           head_dim_v = 64, sequences = <[100, 200], [28, 300]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// Sequences one after the other, static sizes, an order that leaves adds free, an attribute.
// CHECK-LABEL: func.func @sequences
// CHECK:       dash.items order(@packed) over
// CHECK-NEXT:      level(batch) sequences(<[100, 200], [28, 300]>) attributes {tag = 1 : i64} (%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK-NEXT:    dash.walk (%{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK-NEXT:      dash.reduce
// CHECK-NEXT:    }
func.func @sequences(%q: memref<1x4x128x64xf16>, %k: memref<1x2x500x64xf16>,
    %v: memref<1x2x500x64xf16>,
                     %dq: memref<1x4x128x64xf32>) {
  %t = arith.constant dense<1.0> : tensor<64x64xf32>
  dash.items order(@packed) over(%q, %k, %v : memref<1x4x128x64xf16>, memref<1x2x500x64xf16>, memref<1x2x500x64xf16>)
      tiles(<q = 64, kv = 64>) mask(<full>) level(batch) sequences(<[100, 200], [28, 300]>)
      attributes {tag = 1} (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      dash.reduce %t into %dq[%seq, %head, %qi] : tensor<64x64xf32> into memref<1x4x128x64xf32>
    }
  }
  return
}

// An empty body is a program too.
// CHECK-LABEL: func.func @empty
// CHECK:       dash.items unscheduled over
// CHECK-NEXT:      (%{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK-NEXT:  }
func.func @empty(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv) {
  }
  return
}

// V may have a head dim of its own.
// CHECK-LABEL: func.func @other_head_dim_of_v
// CHECK:       dash.items unscheduled over(%{{.+}}, %{{.+}}, %{{.+}} : memref<2x4x?x192xbf16>, memref<2x2x?x192xbf16>, memref<?x2x100x128xbf16>)
func.func @other_head_dim_of_v(%q: memref<2x4x?x192xbf16>, %k: memref<2x2x?x192xbf16>,
                               %v: memref<?x2x100x128xbf16>) {
  dash.items unscheduled
      over(%q, %k, %v : memref<2x4x?x192xbf16>, memref<2x2x?x192xbf16>, memref<?x2x100x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}
