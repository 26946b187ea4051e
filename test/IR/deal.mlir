// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK:      dash.schedule @order
// CHECK:        deal(<task = 8, boundary = 25>)
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[64, 128], [200, 300]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) deal(<task = 8, boundary = 25>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// CHECK-LABEL: func.func private @no_boundary
// CHECK-SAME: #dash.deal<task = 1, boundary = 0>
func.func private @no_boundary() attributes {a = #dash.deal<task = 1, boundary = 0>}
