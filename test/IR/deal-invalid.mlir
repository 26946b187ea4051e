// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @deal_task() attributes
  // expected-error @below {{'task' must be from 1 to 524287, got 0}}
  {a = #dash.deal<task = 0, boundary = 25>}

// -----

func.func private @deal_boundary() attributes
  // expected-error @below {{'boundary' must be from 0 to 524287, got 524288}}
  {a = #dash.deal<task = 8, boundary = 524288>}

// -----

// expected-error @below {{deals lists in each launch, which needs formulas, but its order is a table}}
dash.schedule @table_dealt kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) deal(<task = 8, boundary = 25>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)

// -----

// expected-error @below {{deals lists of items in 1 part, got 2}}
dash.schedule @parts_dealt kind("ascending") level(run) parts(2) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) deal(<task = 8, boundary = 25>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// expected-error @below {{deals lists to at most 1024 workers, got 1025}}
dash.schedule @many_dealt kind("ascending") level(run) parts(1) workers(1025) width(1025)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) deal(<task = 8, boundary = 25>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
