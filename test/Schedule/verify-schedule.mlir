// RUN: dash-opt %s --dash-verify-schedule --remarks-filter='dash.*' -o /dev/null 2>&1 | FileCheck %s
// RUN: dash-opt %s --dash-verify-schedule | dash-opt --dash-verify-schedule | FileCheck %s --check-prefix=LEFT

// What was proven stays with the order, and holds when it is proven again.
// LEFT: dash.schedule @order kind("file") level(run) parts(1) workers(2) width(2) min_workers(2)

// CHECK: verify-schedule.mlir:[[#@LINE+2]]:1: remark: [Analysis] proven | Category:dash-verify-schedule
// CHECK-SAME: dynamicIssue=false, minWorkers=2, schedule=order, tasks=4
dash.schedule @order kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>,
                    visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)
