// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// An order that serves any size. At level machine it is made for a width of its own.
// CHECK-LABEL: dash.schedule @formulas kind("shift") level(machine) parts(2) workers(132) width(32)
// CHECK-NEXT:    problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4, head_dim = 128, head_dim_v = 128, sequences = <4 x [3000, 3000]>>)
// CHECK-NEXT:    cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
// CHECK-NEXT:    order(#dash.formulas<
// CHECK-NEXT:        item(i) = (i, 0, i),
// CHECK-NEXT:        worker(unit) = unit mod workers,
// CHECK-NEXT:        visit(kv, step) = step + first,
// CHECK-NEXT:        turn(kv, q) = kv>){{$}}
dash.schedule @formulas kind("shift") level(machine) parts(2) workers(132) width(32)
  problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 3000]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit mod workers,
                       visit(kv, step) = first + step, turn(kv, q) = kv>)

// A table has a row for each item: 2 kv heads, 1 part, kv tiles 1 + 2.
// CHECK-LABEL: dash.schedule @table kind("file")
// CHECK:         order(#dash.table<items = dense<0> : tensor<6x6xi32>, visits = dense<> : tensor<0x3xi32>>) {sym_visibility = "private"}
dash.schedule @table kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 2, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128], [1, 129]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<6x6xi32>, visits = dense<> : tensor<0x3xi32>>)
  {sym_visibility = "private"}

// What is kept apart, and is nowhere in the text where nothing is.
// CHECK-LABEL: dash.schedule @apart kind("file") level(run) parts(1) workers(2) width(2) min_workers(1) apart(all)
dash.schedule @apart kind("file") level(run) parts(1) workers(2) width(2) min_workers(1) apart(all)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1, gather = 0.5>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)
