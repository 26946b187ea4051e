// RUN: dash-opt %s --verify-roundtrip | FileCheck %s
// RUN: dash-opt %s --emit-bytecode | dash-opt | FileCheck %s

// Items that own q tiles: their order has no turns, and neither have they nor their walks.

// CHECK-LABEL: dash.schedule @order kind("longest-first") level(machine) parts(1) workers(4) width(32) min_workers(1)
// CHECK-NEXT:    problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 4, kv_heads = 2, head_dim = 128, head_dim_v = 128, sequences = <[300, 400]>, own = q>)
// CHECK-NEXT:    cost(
// CHECK-NEXT:    order(#dash.formulas<
// CHECK-NEXT:      item(i) = (i mod groups, q_tiles - i floordiv groups - 1, i),
// CHECK-NEXT:      worker(unit) = unit mod workers,
// CHECK-NEXT:      visit(q, step) = step + first>)
dash.schedule @order kind("longest-first") level(machine) parts(1) workers(4) width(32) min_workers(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 4, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[300, 400]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i mod groups, q_tiles - 1 - i floordiv groups, i),
                       worker(unit) = unit mod workers,
                       visit(q, step) = step + first>)

// A bitmap makes the problem binary in bytecode, with the side that items own.
// CHECK-LABEL: dash.schedule @table
// CHECK-NEXT:    problem({{.*}}sequences = <[64, 64]>, own = q>)
// CHECK:         order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)
dash.schedule @table kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <blocks = #dash.blocks<q = 64, kv = 64, bits = dense<true> : tensor<1x1xi1>>>,
           heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128, sequences = <[64, 64]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)

// Items that own kv tiles have no turns where they sum nothing across each other.
// CHECK-LABEL: dash.schedule @no_chains
// CHECK-NEXT:    problem({{.*}}sequences = <[64, 64]>, chains = false>)
// CHECK:           visit(kv, step) = step>)
dash.schedule @no_chains kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <blocks = #dash.blocks<q = 64, kv = 64, bits = dense<true> : tensor<1x1xi1>>>,
           heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128, sequences = <[64, 64]>, chains = false>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step>)

!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @own_q(
// CHECK:         dash.items unscheduled own(q) walk(kv) over(%arg0, %arg1, %arg2 :
// CHECK-NEXT:        tiles(<q = 64, kv = 128>) mask(<causal>) level(machine) (%seq, %head, %q) {
// CHECK-NEXT:      dash.walk (%kv_head, %kv) {
// CHECK:         dash.items order(@order) own(q) walk(kv) over(
// CHECK-NEXT:        tiles(<q = 64, kv = 128>) mask(<causal>) level(machine) (%seq, %head, %q) {
// CHECK-NEXT:      %{{.+}} = dash.walk (%kv_head, %kv) init(
// CHECK:           dash.store %{{.+}}, %arg3[%seq, %head, %q]
func.func @own_q(%q: !T, %k: !T, %v: !T, %dq: !T) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(machine) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
    }
  }
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(machine) (%seq, %head, %qi) {
    %sum = dash.walk (%kv_head, %kv) init(%sum0 = %zero) : tensor<64x128xf32> {
      dash.yield %sum0 : tensor<64x128xf32>
    }
    dash.store %sum, %dq[%seq, %head, %qi] : tensor<64x128xf32> -> !T
  }
  return
}

// What items do where nothing is said may be said, and is not printed.
// CHECK-LABEL: func.func @own_kv(
// CHECK:         dash.items unscheduled over(
func.func @own_kv(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled own(kv) walk(q) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}
