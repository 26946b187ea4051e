// RUN: dash-opt %s --dash-lower-convert | FileCheck %s --implicit-check-not=dash.convert --implicit-check-not=dash.sink_gradient
// RUN: sed 's/bf16/f16/g' %s | dash-opt --dash-lower-convert | FileCheck %s --check-prefix=F16 --implicit-check-not=bf16
// F16: nvvm.convert.f32x2.to.f16x2 {{.+}}<rn>

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 128>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 128>
#scale = #dash.tensor_role<"scale", side = q, access = read, kind = number, element = f32>
#dq_sum64 = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq64 = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#sink = #dash.tensor_role<"sink", side = q, access = read, kind = head, element = f32>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dsink = #dash.tensor_role<"dsink", side = q, access = write, kind = sequence_head, element = f32>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 64>
// One block a tile of queries; the sums of a tile are two warpgroups' registers.
// CHECK:      gpu.module @attention_bwd_kernels
// CHECK:        llvm.func @attention_bwd_convert(%{{.+}}: !llvm.ptr<1> {dash.parameter = "dq"}, %{{.+}}: i64 {dash.parameter = "dq.stride.batch"}, %{{.+}}: i64 {dash.parameter = "dq.stride.head"}, %[[STRIDE:.+]]: i64 {dash.parameter = "dq.stride.row"}, %{{.+}}: i32 {dash.parameter = "heads"}, %[[ROWS:.+]]: i32 {dash.parameter = "q_rows"}, %[[SCALE:.+]]: f32 {dash.parameter = "scale"}, %[[SUM:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"})
// CHECK-SAME:     attributes {dash.entry = #dash.entry<convert, always, grid["batch*heads*q_tiles", "1", "1"], block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>, gpu.kernel,
//               Each half of the columns is eight pieces of eight columns; all are loaded before the first is used.
// CHECK-COUNT-8:  llvm.inline_asm {{.*}}"ld.global.nc.L1::no_allocate.v4.b32
// CHECK-NOT:      ld.global
// CHECK:          arith.mulf %{{.+}}, %[[SCALE]] : f32
// CHECK:          nvvm.convert.f32x2.to.bf16x2 {{.+}}<rn>
//               Four lanes exchange their words.
// CHECK:          nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK:          nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c2_i32
// CHECK:          %[[IN:.+]] = arith.cmpi slt, %{{.+}}, %[[ROWS]] : i32
// CHECK-NEXT:     scf.if %[[IN]] {
// CHECK-COUNT-2:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT:      llvm.store
// CHECK:          scf.if
// CHECK-COUNT-2:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT:      llvm.store
// CHECK:          llvm.return
module {
  func.func @attention_bwd(%sum: memref<?x?x?x128xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x128xbf16> {dash.tensor = #dq}, %scale: f32 {dash.tensor = #scale}) {
    dash.convert %sum to %dq scale(%scale) layout(<accumulator, columns by 2>) : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  }

  // With 128 rows the warpgroups share the rows. A scale of 1 is none; a constant stands in the kernel.
  // CHECK:      llvm.func @small_convert(
  // CHECK-NOT:    "scale"
  // CHECK-SAME:   "workspace.dq_sum"
  // CHECK-COUNT-8: "ld.global.nc.L1::no_allocate.v4.b32
  // CHECK-NOT:    arith.mulf
  // CHECK:        llvm.return
  func.func @small(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum64}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq64}) {
    dash.convert %sum to %dq layout(<accumulator, rows by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
    return
  }
  gpu.module @small_kernels attributes {dash.program = #dash.program<"small"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 128, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "small_order">>} {
  }

  // CHECK:      llvm.func @constant_convert(
  // CHECK-NOT:    "scale"
  // CHECK:        %[[FACTOR:.+]] = arith.constant 1.250000e-01 : f32
  // CHECK:        arith.mulf %{{.+}}, %[[FACTOR]] : f32
  func.func @constant(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum64}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq64}) {
    %scale = arith.constant 0.125 : f32
    dash.convert %sum to %dq scale(%scale) layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
    return
  }
  gpu.module @constant_kernels attributes {dash.program = #dash.program<"constant"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "constant_order">>} {
  }

  // A warp of the first tile's block adds a sink's gradient: all runs of rows of a head, each lane every 32nd, then in pairs.
  // CHECK:      llvm.func @sink_convert(
  // CHECK-SAME:   %[[DSINK:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "dsink"}, %[[STRIDE:[^ ]+]]: i64 {dash.parameter = "dsink.stride.batch"}, %[[RUNS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.sink_sum"})
  // CHECK:        llvm.getelementptr %[[RUNS]]
  // CHECK:        %[[SUM:.+]] = scf.for %{{.+}} = %c0_i32{{.*}} to %{{.+}} step %c32_i32{{.*}} iter_args(%[[LAST:.+]] = %{{.+}}) -> (f32)
  // CHECK:          %[[TERM:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:          %[[SOME:.+]] = arith.select %{{.+}}, %[[TERM]], %{{.+}} : f32
  // CHECK-NEXT:     %[[NEXT:.+]] = arith.addf %[[LAST]], %[[SOME]] : f32
  // CHECK-NEXT:     scf.yield %[[NEXT]] : f32
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK-NOT:    nvvm.shfl.sync
  // CHECK:        arith.negf
  // CHECK:        arith.muli %{{.+}}, %[[STRIDE]] : i64
  // CHECK:        llvm.getelementptr %[[DSINK]]
  // CHECK:        llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  func.func @sink(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum64}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq64}, %sink: memref<?xf32> {dash.tensor = #sink}, %lse: memref<?x?x?xf32> {dash.tensor = #lse},
                  %delta: memref<?x?x?xf32> {dash.tensor = #delta}, %dsink: memref<?x?xf32> {dash.tensor = #dsink}) {
    dash.sink_gradient ins(%sink, %lse, %delta : memref<?xf32>, memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%dsink : memref<?x?xf32>)
    dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
    return
  }
  gpu.module @sink_kernels attributes {dash.program = #dash.program<"sink"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#sink, shape ["heads"], alignment = 4, stride_multiple = 1>,
            <#dsink, shape ["batch", "heads"], alignment = 4, stride_multiple = 1>]
    order <entry = "sink_order">>} {
  }
}

// With parts one entry rounds all sums: its blocks are those of the gradients, one behind the other, and each knows which it has.
// CHECK:      llvm.func @parts_convert(
// CHECK-SAME:   {dash.parameter = "dk"}, {{.+}} {dash.parameter = "dv"}, {{.+}} {dash.parameter = "dq"}
// CHECK-SAME:   %[[KVHEADS:[^ ]+]]: i32 {dash.parameter = "kv_heads"}, %[[KVROWS:[^ ]+]]: i32 {dash.parameter = "kv_rows"}, %[[HEADS:[^ ]+]]: i32 {dash.parameter = "heads"}, %[[QROWS:[^ ]+]]: i32 {dash.parameter = "q_rows"}, %[[BATCH:[^ ]+]]: i32 {dash.parameter = "batch"}, %[[SCALE:[^ ]+]]: f32 {dash.parameter = "scale"}, %[[DK:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.dk_sum"}, %[[DV:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.dv_sum"}, %[[DQ:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"})
// CHECK-SAME:   grid["batch*kv_heads*kv_tiles*2 + batch*kv_heads*kv_tiles*2 + batch*heads*q_tiles", "1", "1"], block[256, 1, 1]
// CHECK:        %[[BLOCK:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// CHECK:        %[[OFDK:.+]] = arith.muli %{{.+}}, %c2_i32
// CHECK-NEXT:   %[[ENDOFDK:.+]] = arith.addi %{{.+}}, %[[OFDK]]
// CHECK:        scf.if
// CHECK:          llvm.getelementptr %[[DK]]
// CHECK:          arith.mulf %{{.+}}, %[[SCALE]] : f32
// CHECK:        %[[ENDOFDV:.+]] = arith.addi %[[ENDOFDK]], %{{.+}} : i32
// CHECK:        scf.if
// CHECK-NEXT:     arith.subi %[[BLOCK]], %[[ENDOFDK]]
// CHECK:          llvm.getelementptr %[[DV]]
// CHECK-NOT:      arith.mulf %{{.+}}, %[[SCALE]] : f32
// CHECK:        arith.addi %[[ENDOFDV]], %{{.+}} : i32
// CHECK:        scf.if
// CHECK-NEXT:     arith.subi %[[BLOCK]], %[[ENDOFDV]]
// CHECK:          llvm.getelementptr %[[DQ]]
// CHECK:          arith.mulf %{{.+}}, %[[SCALE]] : f32
func.func @parts(%dqsum: memref<?x?x?x64xf32>, %dksum: memref<?x?x?x64xf32>, %dvsum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq64},
                 %dk: memref<?x?x?x64xbf16> {dash.tensor = #dk}, %dv: memref<?x?x?x64xbf16> {dash.tensor = #dv}, %scale: f32 {dash.tensor = #scale}) {
  dash.convert %dksum to %dk scale(%scale) layout(<accumulator, columns by 2>) pieces(2) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  dash.convert %dvsum to %dv layout(<accumulator, columns by 2>) pieces(2) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  dash.convert %dqsum to %dq scale(%scale) layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @parts_kernels attributes {dash.program = #dash.program<"parts"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
         parts = 2, workers = 132, width = 132, min_workers = 132>
  order <entry = "parts_order">>} {
}

// For a list, blocks of a head take the sink's gradients of the sequences in turn, from their first tiles on: an empty one has none, and
// its sum no runs.
// CHECK:      llvm.func @sinks_convert(
// CHECK-SAME:   %[[ORDER:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %[[DSINK:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "dsink"}, %[[STRIDE:[^ ]+]]: i64 {dash.parameter = "dsink.stride.batch"}, %[[RUNS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.sink_sum"})
// CHECK-COUNT-2: scf.if
// CHECK:        %[[PLACE:.+]] = arith.remui %[[TILE:.+]], %[[TILES:.+]] : i32
// CHECK:        %[[FIRST:.+]] = arith.subi %[[TILE]], %[[PLACE]] : i32
// CHECK:        %[[WARP:.+]] = arith.cmpi slt, %{{.+}}, %c32_i32
// CHECK:        scf.if %[[WARP]] {
// CHECK:          scf.for %[[SEQUENCE:.+]] = %[[PLACE]] to %{{.+}} step %[[TILES]]
// CHECK:          llvm.getelementptr %[[ORDER]]
// CHECK:          arith.addi %[[FIRST]], %{{.+}} : i32
// CHECK:          llvm.getelementptr %[[RUNS]]
// CHECK:          scf.for
// CHECK:          arith.negf
// CHECK:          %[[ROW:.+]] = arith.extsi %[[SEQUENCE]] : i32 to i64
// CHECK-NEXT:     arith.muli %[[ROW]], %[[STRIDE]] : i64
// CHECK:          llvm.getelementptr %[[DSINK]]
func.func @sinks(%sum: memref<1x?x?x64xf32> {dash.tensor = #dq_sum64}, %dq: memref<1x?x?x64xbf16> {dash.tensor = #dq64}, %sink: memref<?xf32> {dash.tensor = #sink}, %lse: memref<1x?x?xf32> {dash.tensor = #lse},
                 %delta: memref<1x?x?xf32> {dash.tensor = #delta}, %dsink: memref<?x?xf32> {dash.tensor = #dsink}) {
  dash.sink_gradient ins(%sink, %lse, %delta : memref<?xf32>, memref<1x?x?xf32>, memref<1x?x?xf32>) outs(%dsink : memref<?x?xf32>)
      sequences(<?>)
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<1x?x?x64xf32> to memref<1x?x?x64xbf16>
  return
}
gpu.module @sinks_kernels attributes {dash.program = #dash.program<"sinks"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  derived[<name = "sequences", expression = "bounds - 1">]
  tensors[<#sink, shape ["heads"], alignment = 4, stride_multiple = 1>,
          <#dsink, shape ["sequences", "heads"], alignment = 4, stride_multiple = 1>]
  order <entry = "sinks_order">>} {
}

// Contributions that are kept apart are added up as copies add them, in the order of turns. A block has a half of a tile's columns, so
// that those of four turns fit in registers; threads whose rows are past the end add nothing up.
// CHECK:      llvm.func @apart_convert(
// CHECK-SAME:   %[[ROWS:[^ ]+]]: i32 {dash.parameter = "q_rows"}, %[[KVROWS:[^ ]+]]: i32 {dash.parameter = "kv_rows"}, %[[KEPT:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.contributions"}, %[[TURNS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.turns"})
// CHECK-SAME:   grid["batch*heads*q_tiles*2", "1", "1"], block[256, 1, 1]
// CHECK:        %[[AT:.+]] = llvm.getelementptr %[[TURNS]]
// CHECK:        %[[ALL:.+]] = llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK:        %[[COUNT:.+]] = arith.select %{{.+}}, %[[ALL]], %{{.+}} : i32
// CHECK:        llvm.getelementptr %[[KEPT]]
// CHECK:        scf.for %[[TURN:.+]] = %c0_i32{{.*}} to %[[COUNT]] step %c4_i32{{.*}} iter_args(
// CHECK-COUNT-16: "ld.global.nc.L1::no_allocate.v4.b32
// CHECK-NOT:      "ld.global
// CHECK:          %[[FIRST:.+]] = arith.cmpi eq, %{{.+}}, %{{.+}} : i32
// CHECK:          %[[SUM:.+]] = llvm.call_intrinsic "llvm.nvvm.add.rn.ftz.f"(%{{.+}}, %[[TERM:.+]]) : (f32, f32) -> f32
// CHECK-NEXT:     arith.select %[[FIRST]], %[[TERM]], %[[SUM]] : f32
// CHECK:          scf.yield
// CHECK:        llvm.return
func.func @apart(%sum: memref<?x?x?x128xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x128xbf16> {dash.tensor = #dq}) {
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) apart : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
  return
}
gpu.module @apart_kernels attributes {dash.program = #dash.program<"apart"
  facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 1, apart = all>
  order <entry = "apart_order">>} {
}

// An entry that overlaps the main kernel: a block's first thread acquires that the sum is complete, and sets the counter back; all others
// meet it there, and what they load was written since the launch. The last block ends behind the main kernel.
// CHECK:      llvm.func @overlapping_convert(
// CHECK-SAME:   %[[SUMS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"}, %[[COUNTERS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.turns"})
// CHECK-SAME:   shared_bytes = 0, cooperative = false, overlaps = true>
// CHECK:        %[[COUNTER:.+]] = llvm.getelementptr %[[COUNTERS]]
// CHECK:        scf.if %{{.+}} {
// CHECK:          llvm.inline_asm {{.*}}ld.acquire.gpu.global.b32 {{.*}} %[[COUNTER]], %c-1_i32
// CHECK:        nvvm.barrier
// CHECK-COUNT-8: "ld.global.L1::no_allocate.v4.b32
// CHECK-NOT:    "ld.global
// CHECK:        %[[BLOCKS:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"
// CHECK:        scf.if %{{.+}} {
// CHECK-NEXT:     nvvm.griddepcontrol wait
// CHECK-NEXT:   }
// CHECK-NEXT:   llvm.return
func.func @overlapping(%sum: memref<?x?x?x128xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x128xbf16> {dash.tensor = #dq}) {
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) awaits_completion : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
  return
}
gpu.module @overlapping_kernels attributes {dash.program = #dash.program<"overlapping"
  facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132, overlaps_rounding = true>
  order <entry = "overlapping_order">>} {
}
