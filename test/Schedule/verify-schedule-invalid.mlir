// RUN: dash-opt %s --dash-verify-schedule -verify-diagnostics -split-input-file

// Items.

// expected-error @below {{'dash.schedule' op items 0 (worker 0) and 1 (worker 1) are both item (sequence 0, kv head 0, part 0, kv tile 0), expected it once}}
dash.schedule @item_twice kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item 1 has kv tile 2, expected 0 to 1}}
dash.schedule @item_out_of_range kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 2, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item 1 has worker 2, expected 0 to 1}}
dash.schedule @worker_out_of_range kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op part turn 0 is given to items 0 and 1, both of kv tile 0, kv head 0, sequence 0}}
dash.schedule @part_turn_twice kind("file") level(run) parts(2) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[16, 16]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [1, 0, 0]]> : tensor<2x3xi32>>)

// -----

// Coverage.

// expected-error @below {{'dash.schedule' op table 'visits' has 3 rows, expected 4: one for each task of the items in turn}}
dash.schedule @task_missing_from_table kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0]]> : tensor<3x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 0) visits q tile 0 of head 0 twice}}
dash.schedule @one_tile_only kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = 0, turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 0) visits q tile 0 of head 0 twice}}
dash.schedule @task_doubled kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 1) visits q tile 0 of head 0, expected q tiles 1 to 1 of heads 0 to 0}}
dash.schedule @task_masked kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 0], [0, 0, 1]]> : tensor<3x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 1, kv tile 0) visits q tile 0 of head 0, expected q tiles 0 to 0 of heads 1 to 1}}
dash.schedule @head_of_another_part kind("file") level(run) parts(2) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[16, 16]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 1]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 0, 0]]> : tensor<2x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 0) visits q tile 1 of head 0, expected q tiles 0 to 0 of heads 0 to 0}}
dash.schedule @q_tile_of_another_run kind("file") level(run) parts(2) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 16]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 1]]> : tensor<2x6xi32>, visits = dense<[[0, 1, 0], [0, 0, 0]]> : tensor<2x3xi32>>)

// -----

// Total order.

// expected-error @below {{'dash.schedule' op turn 0 of q tile 0, head 0, sequence 0 is given to item (sequence 0, kv head 0, part 0, kv tile 0) and to item (sequence 0, kv head 0, part 0, kv tile 1), expected each turn once}}
dash.schedule @turn_twice kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 0]]> : tensor<4x3xi32>>)

// -----

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 1) has turn 2 at q tile 0 of head 0, expected 0 to 1}}
dash.schedule @turn_out_of_range kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 2]]> : tensor<4x3xi32>>)

// -----

// Progress: each worker holds what the other waits for.

// expected-error @below {{'dash.schedule' op order has a cycle: 2 workers wait for each other for ever}}
// expected-note @below {{worker 0 in item (sequence 0, kv head 0, part 0, kv tile 0) at q tile 0 of head 0 waits for turn 1, the chain is at 0}}
// expected-note @below {{worker 1 in item (sequence 0, kv head 0, part 0, kv tile 1) at q tile 1 of head 0 waits for turn 1, the chain is at 0}}
dash.schedule @turns_swapped kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0]]> : tensor<4x3xi32>>)

// -----

// One worker waits for its own next item, in the chain over the parts.

// expected-error @below {{'dash.schedule' op order has a cycle: 1 worker waits for itself for ever}}
// expected-note @below {{worker 0 at the end of item (sequence 0, kv head 0, part 0, kv tile 0) waits for part turn 1, which is at 0}}
dash.schedule @part_turns_against_list kind("file") level(run) parts(2) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[16, 16]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [1, 0, 0]]> : tensor<2x3xi32>>)

// -----

// Independence: equal sequences, unequal orders.

// expected-error @below {{'dash.schedule' op level 'batch' needs equal orders for equal sequences, but item (sequence 0, kv head 0, part 0, kv tile 0) and item (sequence 1, kv head 0, part 0, kv tile 0) differ in their visits or turns}}
dash.schedule @sequences_differ kind("file") level(batch) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <2 x [32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0]]> : tensor<4x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 1, 1]]> : tensor<8x3xi32>>)

// -----

// Formulas.

// expected-error @below {{'dash.schedule' op formulas give item 1 group 0, kv tile 2 and worker 1, expected below 1, 2 and 2}}
dash.schedule @formula_item_out_of_range kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i * 2, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op formula 'item' divides by a number below 1 (2 kv tiles, 1 groups, width 2)}}
dash.schedule @formula_item_divides_by_zero kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i mod (kv_tiles - 2), i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op formula 'worker' divides by a number below 1 (2 workers)}}
dash.schedule @formula_worker_divides_by_zero kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod (workers - 2),
                       visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// expected-error @below {{'dash.schedule' op formula 'visit' or 'turn' divides by a number below 1}}
dash.schedule @formula_turn_divides_by_zero kind("file") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv mod (q - 5)>)

// -----

// expected-warning @below {{no 'dash.schedule' to verify; run --dash-tile and --dash-apply-schedule first}}
module {}

// -----

// Masks with gaps. The first kv tile has q tiles 0 and 2.

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 0) visits q tile 1 of head 0, which the mask hides}}
dash.schedule @task_in_a_gap kind("file") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <blocks = #dash.blocks<q = 16, kv = 16, bits = dense<[[1, 0, 1]]> : tensor<1x3xi1>>>,
           heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64, sequences = <[48, 16]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>)

// A turn out of range behind a task that waits for ever.

// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 0) has turn 7 at q tile 0 of head 0, expected 0 to 1}}
dash.schedule @turn_out_of_range_behind_a_wait kind("file") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[16, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0]]> : tensor<2x6xi32>,
                    visits = dense<[[0, 0, 1], [0, 0, 7]]> : tensor<2x3xi32>>)

// -----

// A shared turn, and a formula that has no value elsewhere.

// expected-error @below {{'dash.schedule' op formula 'visit' or 'turn' divides by a number below 1}}
dash.schedule @turn_twice_and_no_value kind("file") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[16, 48]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = if i ge 2 then (0, 1, i) else (0, i * 2, i), worker(unit) = 0,
                       visit(kv, step) = step + step mod ((kv - 1) * (kv - 1)), turn(kv, q) = 0>)

// -----

// A worker waits for a turn that no item has; the item that should have it comes later, with a turn out of range.
// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 1) has turn 2 at q tile 0 of head 0, expected 0 to 1}}
dash.schedule @turn_of_nobody kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv + 1>)

// -----

// What an order states of itself.

// expected-error @below {{'dash.schedule' op states min_workers(1), but the fewest workers that finish are 2}}
dash.schedule @min_workers_are_wrong kind("file") level(run) parts(1) workers(2) width(2) min_workers(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>,
                    visits = dense<[[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]> : tensor<4x3xi32>>)
