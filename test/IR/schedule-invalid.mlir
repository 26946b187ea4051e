// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{'dash.schedule' op parts must be at least 1, got 0}}
dash.schedule @parts_positive kind("shift") level(run) parts(0) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op workers must be from 1 to 16384, got -1}}
dash.schedule @workers_positive kind("shift") level(run) parts(1) workers(-1) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op width must be from 1 to 16384, got 16385}}
dash.schedule @width_has_a_bound kind("shift") level(run) parts(1) workers(132) width(16385)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op parts must divide the 4 query heads of a kv head or be a multiple of them, got 3}}
dash.schedule @parts_divide_group kind("shift") level(run) parts(3) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op width must be workers, 132, at level 'batch', got 32}}
dash.schedule @width_is_workers_below_machine kind("shift") level(batch) parts(1) workers(132) width(32)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{min_workers must be from 1 to workers, 132, got 133}}
dash.schedule @min_workers_are_workers kind("shift") level(batch) parts(1) workers(132) width(132) min_workers(133)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op table 'items' must have a row for each of the problem's 4 items, got 3}}
dash.schedule @table_has_row_for_each_item kind("shift") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<3x6xi32>, visits = dense<> : tensor<0x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op table 'items' must have a row for each of the problem's 9223372036854775807 items, got 3}}
dash.schedule @table_items_too_many_to_count kind("shift") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 4611686018427387904, kv_heads = 4611686018427387904, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<3x6xi32>, visits = dense<> : tensor<0x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op table 'visits' is not in the text (dense_resource '__elided__'): print the module again without --mlir-elide-elementsattrs-if-larger}}
dash.schedule @table_is_not_elided kind("shift") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<4x6xi32>,
                    visits = dense_resource<__elided__> : tensor<9x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op attribute 'order' failed to satisfy constraint: #dash.formulas<...> or #dash.table<...>}}
dash.schedule @order_is_formulas_or_table kind("shift") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order("shift")

// -----

// expected-error @below {{'dash.schedule' op kind must be UTF-8, got '�'}}
dash.schedule @kind_is_text kind("\FF") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<4x6xi32>, visits = dense<> : tensor<0x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op sequences may have at most 2147483647 rows, got 2147483648}}
dash.schedule @rows_have_a_bound kind("shift") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[2147483648, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<4x6xi32>, visits = dense<> : tensor<0x3xi32>>)

// -----

// A short text can state a long table.
// expected-error @below {{'dash.schedule' op table 'visits' may have at most 67108864 rows, got 9223372036854775807}}
dash.schedule @table_has_a_bound kind("shift") level(run) parts(1) workers(132) width(132)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 8, kv_heads = 2, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 256]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<4x6xi32>, visits = dense<0> : tensor<9223372036854775807x3xi32>>)

// -----

// expected-error @below {{apart(all) keeps contributions by their turns, and adds that are unordered have none}}
dash.schedule @unordered_apart kind("file") level(run) parts(1) workers(2) width(2) unordered apart(all)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)

// -----

// expected-error @below {{apart(parts) keeps what parts add to dK and dV, and there is one part: state more, or apart(all)}}
dash.schedule @one_part_apart kind("file") level(run) parts(1) workers(2) width(2) apart(parts)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)

// -----

// expected-error @below {{expected what is kept apart (none, parts or all), got 'some'}}
dash.schedule @some_apart kind("file") level(run) parts(1) workers(2) width(2) apart(some)

// -----

// expected-error @below {{formulas have a 'turn', but the problem has no chains}}
dash.schedule @turns_without_chains kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>, chains = false>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// expected-error @below {{formulas have no 'turn', but the problem has chains}}
dash.schedule @chains_without_turns kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step>)

// -----

// expected-error @below {{items that own kv tiles sum nothing across items, so they are in 1 part, got 2}}
dash.schedule @parts_without_chains kind("ascending") level(run) parts(2) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[64, 128]>, chains = false>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step>)
