// RUN: dash-opt %s --dash-lower-prepare | FileCheck %s --implicit-check-not=dash.delta --implicit-check-not=linalg.fill
// RUN: sed 's/bf16/f16/g' %s | dash-opt --dash-lower-prepare | FileCheck %s --check-prefix=F16 --implicit-check-not=bf16

// Pairs of f16 are converted, of bf16 shifted; a descriptor has the type's number.
// F16:       llvm.extractelement %{{.+}}[%c0_i32 : i32] : vector<2xf16>
// F16:       llvm.fpext %{{.+}} : f16 to f32
// F16:       "llvm.nvvm.tensormap.replace.elemtype"(%{{.+}}, %c6_i32

// CHECK:      llvm.func @attention_bwd_prepare(%{{.+}}: !llvm.ptr<1> {dash.parameter = "q"}, {{.+}} {dash.parameter = "dv.stride.row"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "o"}, {{.+}} {dash.parameter = "lse.stride.head"}, %[[BATCH:.+]]: i32 {dash.parameter = "batch"}, %[[HEADS:.+]]: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "kv_heads"}, %[[QROWS:.+]]: i32 {dash.parameter = "q_rows"}, %[[KVROWS:.+]]: i32 {dash.parameter = "kv_rows"}, %[[MAPS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}, %[[LSE2:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.lse2"}, %[[DELTA:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.delta"}, %[[SUM:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"}, %[[TURNS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.turns"})
// CHECK-SAME:   dash.entry = #dash.entry<prepare, always, grid["batch*heads*q_tiles", "1", "1"], block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 1024, cooperative = false>

// The block's counter of turns is the tile's.
// CHECK:        %[[THREAD:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"
// CHECK:        %[[TILE:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// CHECK:        %[[ISFIRST:.+]] = arith.cmpi eq, %[[THREAD]], %c0_i32{{.*}} : i32
// CHECK-NEXT:   scf.if %[[ISFIRST]] {
// CHECK-NEXT:     %[[INDEX:.+]] = arith.extsi %[[TILE]]
// CHECK:          %[[AT:.+]] = arith.muli %[[INDEX]], %c4_i64
// CHECK-NEXT:     %[[COUNTER:.+]] = llvm.getelementptr %[[TURNS]][%[[AT]]]
// CHECK-NEXT:     llvm.store %c0_i32{{.*}}, %[[COUNTER]]

// A block's 64 rows of O and dO, loaded before the first is used, and summed over the 16 lanes of a row.
// CHECK-COUNT-8: "ld.global.nc.L1::no_allocate.v4.b32
// CHECK-NOT:    ld.global
// CHECK:        "llvm.fma.f32"
// CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
// CHECK-NOT:    nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c16_i32

// Six warps of the first block write a descriptor each.
// CHECK:        "llvm.nvvm.tensormap.replace.global.address"
// CHECK:        "llvm.nvvm.tensormap.replace.rank"(%{{.+}}, %c4_i32
// CHECK:        "llvm.nvvm.tensormap.replace.box.dim"(%{{.+}}, %c4_i32
// CHECK:        "llvm.nvvm.tensormap.replace.global.stride"(%{{.+}}, %c0_i32
// CHECK:        "llvm.nvvm.tensormap.replace.elemtype"(%{{.+}}, %c10_i32
// CHECK:        "llvm.nvvm.tensormap.replace.swizzle.mode"(%{{.+}}, %c3_i32
// CHECK:        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$0], [$1], 128;"
// CHECK-COUNT-5: "tensormap.cp_fenceproxy.
// CHECK-NOT:    tensormap.replace
// CHECK:        nvvm.barrier

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 128>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 128>
#dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 128>
#q64 = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k64 = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v64 = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#dq64 = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#dk64 = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#dv64 = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 128>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 128>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 128>
#o64 = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do64 = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#dq_sum64 = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#sink = #dash.tensor_role<"sink", side = q, access = read, kind = head, element = f32>
#dsink = #dash.tensor_role<"dsink", side = q, access = write, kind = sequence_head, element = f32>
// The last row sees no column where it stands left of all: such tiles, without an active kv tile, get zeros.
// CHECK:        %[[FROM:.+]] = arith.extsi %[[QROWS]] : i32 to i64
// CHECK:        %[[TO:.+]] = arith.extsi %[[KVROWS]] : i32 to i64
// CHECK:        %[[OFFSET:.+]] = arith.subi %[[TO]], %[[FROM]] : i64
// CHECK:        %[[FIRST:.+]] = arith.muli %{{.+}}, %c64_i64 : i64
// CHECK:        %[[LEAD:.+]] = arith.addi %[[FIRST]], %[[OFFSET]] : i64
// CHECK:        arith.addi %[[LEAD]], %c63_i64 : i64
// CHECK:        arith.divsi
// CHECK:        %[[ACTIVE:.+]] = arith.maxsi
// CHECK:        %[[NONE:.+]] = arith.cmpi eq, %[[ACTIVE]], %c0_i64{{.*}} : i64
// CHECK-NEXT:   scf.if %[[NONE]] {
// CHECK-COUNT-8:  llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT:    vector<4xi32>, !llvm.ptr<1>
module {
  func.func @attention_bwd(%o: memref<?x?x?x128xbf16> {dash.tensor = #o}, %do: memref<?x?x?x128xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32> {dash.tensor = #delta},
                           %sum: memref<?x?x?x128xf32> {dash.tensor = #dq_sum}) {
    dash.delta ins(%o, %do : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>) outs(%delta : memref<?x?x?xf32>)
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%sum : memref<?x?x?x128xf32>)
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>]
    maps[<#q, rows = 64, panels = 2>, <#k, rows = 128, panels = 2>, <#v, rows = 128, panels = 2>,
         <#do, rows = 64, panels = 2>, <#dk, rows = 64, panels = 1>, <#dv, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
  }

  // Adds in no order find zeros in every tile; the rows of a warp are four of eight lanes each.
  // CHECK:      llvm.func @small_prepare(
  // CHECK-SAME:   shared_bytes = 1280,
  // CHECK-COUNT-8: "ld.global.nc.L1::no_allocate.v4.b32
  // CHECK-NOT:    nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
  // CHECK:        nvvm.barrier
  // CHECK:        scf.if %true
  // CHECK-COUNT-8:  llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
  func.func @small(%o: memref<?x?x?x64xbf16> {dash.tensor = #o64}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do64}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
    dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
    return
  }
  gpu.module @small_kernels attributes {dash.program = #dash.program<"small"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 128, kv = 128>, kind = "ascending", level = run, deterministic = false,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>]
    maps[<#q64, rows = 64, panels = 1>, <#k64, rows = 128, panels = 1>, <#v64, rows = 128, panels = 1>,
         <#do64, rows = 64, panels = 1>, <#dk64, rows = 64, panels = 1>, <#dv64, rows = 64, panels = 1>]
    order <entry = "small_order">>} {
  }

  // Where a bitmap hides tiles, those of no column are known: q tiles 2, 3 and 8 of 9. The band alone would leave them one.
  // CHECK:      llvm.func @blocks_prepare(
  // CHECK:        nvvm.barrier
  // CHECK:        arith.cmpi slt, %c1_i32{{.*}}, %[[TILE:.+]] : i32
  // CHECK:        arith.cmpi slt, %[[TILE]], %c4_i32
  // CHECK:        arith.cmpi slt, %c7_i32{{.*}}, %[[TILE]] : i32
  // CHECK:        arith.cmpi slt, %[[TILE]], %c9_i32
  // CHECK:        %[[LONELY:.+]] = arith.ori
  // CHECK-NEXT:   scf.if %[[LONELY]]
  func.func @blocks(%o: memref<?x?x?x64xbf16> {dash.tensor = #o64}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do64}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
    dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
    return
  }
  gpu.module @blocks_kernels attributes {dash.program = #dash.program<"blocks"
    facts <element = bf16, head_dim = 64, head_dim_v = 64,
           mask = <blocks = #dash.blocks<q = 128, kv = 256, bits = dense<[[1, 0, 1, 0, 0], [0, 0, 1, 1, 0]]> : tensor<2x5xi1>>>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    sizes[<name = "q_rows", min = 576, max = 576>, <name = "kv_rows", min = 300, max = 300>]
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>]
    maps[<#q64, rows = 64, panels = 1>, <#k64, rows = 128, panels = 1>, <#v64, rows = 128, panels = 1>,
         <#do64, rows = 64, panels = 1>, <#dk64, rows = 64, panels = 1>, <#dv64, rows = 64, panels = 1>]
    order <file = "PROGRAM">>} {
  }

  // With parts those of dK and dV are shared among all threads, whatever the grid: two for each kv tile of 128 rows.
  // CHECK:      llvm.func @parts_prepare(
  // CHECK-SAME:   {dash.parameter = "workspace.turns"}, %[[DKTURNS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.dk_turns"}, %[[DVTURNS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.dv_turns"})
  // CHECK:        %[[END:.+]] = arith.muli %{{.+}}, %c2_i64
  // CHECK:        %[[GRID:.+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"
  // CHECK:        %[[BLOCKS:.+]] = arith.extsi %[[GRID]]
  // CHECK:        %[[STEP:.+]] = arith.muli %[[BLOCKS]], %c256_i64
  // CHECK:        scf.for %{{.+}} = %{{.+}} to %[[END]] step %[[STEP]]
  // CHECK:          llvm.getelementptr %[[DKTURNS]]
  // CHECK-NEXT:     llvm.store %c0_i32
  // CHECK:          llvm.getelementptr %[[DVTURNS]]
  // CHECK-NEXT:     llvm.store %c0_i32
  func.func @parts(%o: memref<?x?x?x64xbf16> {dash.tensor = #o64}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do64}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
    dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
    return
  }
  gpu.module @parts_kernels attributes {dash.program = #dash.program<"parts"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
           parts = 2, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>,
            <#dk64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>, <#dv64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>]
    maps[<#q64, rows = 64, panels = 1>, <#k64, rows = 128, panels = 1>, <#v64, rows = 128, panels = 1>,
         <#do64, rows = 64, panels = 1>, <#dk64, rows = 64, panels = 1>, <#dv64, rows = 64, panels = 1>]
    order <entry = "parts_order">>} {
  }

  // Delta that is given is read as LSE is: nothing is summed, no row of O or dO is loaded, and threads do not wait.
  // CHECK:      llvm.func @given_prepare(
  // CHECK-SAME:   {dash.parameter = "dv.stride.row"}, %[[DELTA:.+]]: !llvm.ptr<1> {dash.parameter = "delta"}, %{{.+}}: i64 {dash.parameter = "delta.stride.batch"}, %{{.+}}: i64 {dash.parameter = "delta.stride.head"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "lse"}
  // CHECK-SAME:   shared_bytes = 768,
  // CHECK-NOT:    ld.global.nc
  // CHECK-NOT:    nvvm.shfl.sync bfly
  // CHECK-NOT:    nvvm.barrier
  // CHECK:        llvm.getelementptr %[[DELTA]]
  // CHECK-NEXT:   %[[GIVEN:.+]] = llvm.load %{{.+}} -> f32
  // CHECK:        arith.select %{{.+}}, %[[GIVEN]], %{{.+}} : f32
  func.func @given(%delta: memref<?x?x?xf32> {dash.tensor = #delta}, %sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum64}) {
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%sum : memref<?x?x?x64xf32>)
    return
  }
  gpu.module @given_kernels attributes {dash.program = #dash.program<"given"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>,
            <#delta, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>]
    maps[<#q64, rows = 64, panels = 1>, <#k64, rows = 128, panels = 1>, <#v64, rows = 128, panels = 1>,
         <#do64, rows = 64, panels = 1>, <#dk64, rows = 64, panels = 1>, <#dv64, rows = 64, panels = 1>]
    order <entry = "given_order">>} {
  }

  // With a sink each warp of rows sums exp(sink - LSE) * delta, 0 where the LSE is infinite, in pairs; its first lane writes the sum.
  // CHECK:      llvm.func @sink_prepare(
  // CHECK-SAME:   %[[SINK:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "sink"}, %[[RUNS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.sink_sum"})
  // CHECK:        nvvm.barrier
  // CHECK:        %[[LSE:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:        %[[EMPTY:.+]] = arith.select %{{.+}}, %{{.+}}, %true
  // CHECK:        llvm.getelementptr %[[SINK]]
  // CHECK:        %[[SCORE:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK-NEXT:   %[[LOG:.+]] = arith.subf %[[SCORE]], %[[LSE]]
  // CHECK:        %[[POWER:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK:        %[[TERM:.+]] = arith.mulf %[[POWER]], %{{.+}} : f32
  // CHECK-NEXT:   arith.select %[[EMPTY]], %{{.+}}, %[[TERM]] : f32
  // CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
  // CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c2_i32
  // CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c4_i32
  // CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
  // CHECK:        nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c16_i32
  // CHECK:        scf.if %{{.+}} {
  // CHECK:          llvm.getelementptr %[[RUNS]]
  // CHECK:          llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  func.func @sink(%o: memref<?x?x?x64xbf16> {dash.tensor = #o64}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do64}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
    dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
    return
  }
  gpu.module @sink_kernels attributes {dash.program = #dash.program<"sink"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq64, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>,
            <#sink, shape ["heads"], alignment = 4, stride_multiple = 1>,
            <#dsink, shape ["batch", "heads"], alignment = 4, stride_multiple = 1>]
    maps[<#q64, rows = 64, panels = 1>, <#k64, rows = 128, panels = 1>, <#v64, rows = 128, panels = 1>,
         <#do64, rows = 64, panels = 1>, <#dk64, rows = 64, panels = 1>, <#dv64, rows = 64, panels = 1>]
    order <entry = "sink_order">>} {
  }
}
