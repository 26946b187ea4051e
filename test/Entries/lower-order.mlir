// RUN: dash-opt %s --dash-lower-order | FileCheck %s

// A block is a worker. Both times that it looks at all items it evaluates the formulas in 64 bits.
// CHECK:      llvm.func @attention_bwd_order(%[[ORDER:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %[[BATCH:.+]]: i32 {dash.parameter = "batch"}, %{{.+}}: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "kv_heads"}, %{{.+}}: i32 {dash.parameter = "q_rows"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %[[WORKERS:.+]]: i32 {dash.parameter = "workers"}, %{{.+}}: i32 {dash.parameter = "width"})
// CHECK-SAME:   attributes {dash.entry = #dash.entry<order, sizes_change, grid["workers", "1", "1"], block[512, 1, 1], cluster[1, 1, 1], shared_bytes = 64, cooperative = false>

//             How many items do the workers before this one have?
// CHECK:        %[[BLOCK:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// CHECK:        %[[SELF:.+]] = arith.extsi %[[BLOCK]] : i32 to i64
// CHECK:        scf.for %[[I:.+]] = %{{.+}} to %[[ITEMS:.+]] step %{{.+}} iter_args(%[[COUNT:.+]] = %{{.+}}) -> (i32) : i64 {
//               i floordiv kv_tiles: a quotient rounded towards zero, put right where it is too high.
// CHECK:          %[[DIVISOR:.+]] = arith.maxsi %{{.+}}, %{{.+}} : i64
// CHECK-NEXT:     %[[CUT:.+]] = arith.divsi %[[I]], %[[DIVISOR]] : i64
// CHECK-NEXT:     %[[BACK:.+]] = arith.muli %[[CUT]], %[[DIVISOR]] : i64
// CHECK-NEXT:     %[[HIGH:.+]] = arith.cmpi slt, %[[I]], %[[BACK]] : i64
// CHECK:          arith.select %[[HIGH]], %{{.+}}, %[[CUT]] : i64
// CHECK:          %[[BEFORE:.+]] = arith.cmpi slt, %{{.+}}, %[[SELF]] : i64
// CHECK:          arith.select %[[BEFORE]], %{{.+}}, %{{.+}} : i32
// CHECK:        nvvm.redux.sync add
//             Its own items, in the order of issue.
// CHECK:        scf.for %{{.+}} = %{{.+}} to %[[ITEMS]] step
// CHECK:          nvvm.vote.sync ballot
// CHECK:          scf.if
// CHECK-COUNT-2:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
//             Lines of visits: the first case that applies counts, whatever the others give.
// CHECK:        scf.for
// CHECK:          arith.select
// CHECK:          llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
gpu.module @attention_bwd_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = if q ge kv then kv else last - kv>,
    dash.program = #dash.program<"attention_bwd"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      order <entry = "attention_bwd_order">>} {
}

// Items that own q tiles, of a list: of each sequence, every query head has its q tiles, and a line of kv tiles for each.
// CHECK:      llvm.func @fwd_order(%[[ORDER:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %[[HEADS:.+]]: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "kv_heads"}, %{{.+}}: i32 {dash.parameter = "sequences"}, %{{.+}}: i32 {dash.parameter = "q_tiles"}, %{{.+}}: i32 {dash.parameter = "workers"}, %{{.+}}: i32 {dash.parameter = "width"})
// CHECK-SAME:   attributes {dash.entry = #dash.entry<order, always, grid["workers", "1", "1"]
// CHECK:        %[[OWN_HEADS:.+]] = arith.extsi %[[HEADS]] : i32 to i64
//             Word 2 of the last record: the q tiles of all sequences.
// CHECK:        arith.constant 10 : i64
// CHECK:        %[[TILES:.+]] = arith.extsi %{{.+}} : i32 to i64
// CHECK:        %[[ITEMS:.+]] = arith.muli %[[OWN_HEADS]], %[[TILES]] : i64
// CHECK:        scf.for %{{.+}} = %{{.+}} to %[[ITEMS]] step
gpu.module @fwd_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv q_tiles, i mod q_tiles, i), worker(unit) = unit mod workers,
                                   visit(q, step) = first + step>,
    dash.program = #dash.program<"fwd"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 128, kv = 128>, kind = "ascending", level = row, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 1, own = q>
      derived [<name = "sequences", expression = "bounds - 1">]
      order <entry = "fwd_order">>} {
}

// Items that are drawn have one list: those of sequences that walk more rows first, in the order of the formula.
// CHECK:      llvm.func @drawn_order(
// CHECK:        scf.if
//             Version 1, 1 worker.
// CHECK-COUNT-2: llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
//             The rows of each sequence beside those of this one.
// CHECK:        scf.for
// CHECK:          scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}) -> (i32)
// CHECK:            arith.cmpi eq
// CHECK:            arith.select
// CHECK:          nvvm.redux.sync
// CHECK:          scf.for
// CHECK-COUNT-2:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
gpu.module @drawn_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv q_tiles, i mod q_tiles, i), worker(unit) = unit mod workers,
                                   visit(q, step) = first + step>,
    dash.program = #dash.program<"drawn"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 128, kv = 128>, kind = "longest-first", level = row, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 1, own = q>
      derived [<name = "sequences", expression = "bounds - 1">]
      workspace[<name = "drawn", bytes = "4", alignment = 16, before = any, after = any>]
      order <entry = "drawn_order">>} {
}

// A table needs no entry.
// CHECK:      gpu.module @table_kernels {{.+}} {
// CHECK-NEXT: }
gpu.module @table_kernels attributes {dash.order_buffer = dense<0> : tensor<8xi32>, dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
}
