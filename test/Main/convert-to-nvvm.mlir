// RUN: dash-opt %s --dash-convert-to-nvvm -split-input-file | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s | dash-opt --dash-convert-to-nvvm -split-input-file | FileCheck %s --check-prefix=F16 --implicit-check-not=bf16

// The products and what is packed for them are of the tiles' type.
// F16:       m64n64k16.f32.f16.f16
// F16:       nvvm.convert.f32x2.to.f16x2

#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
// Two warpgroups of a consumer, the second of which is here: a tile in registers is its registers.
// CHECK-LABEL: llvm.func @consumer
// CHECK-SAME:    %[[MAPS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}
// CHECK-SAME:    %[[SCALE:[^ ]+]]: f32 {dash.parameter = "scale"}
// CHECK:         %[[BASE:.+]] = llvm.ptrtoint
// CHECK:         dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2)
// What threads have all along; then the descriptors that the role uses, made by another kernel.
// CHECK:           %[[TO_BASE_2:.+]] = arith.mulf %[[SCALE]], %{{.+}} : f32
// CHECK:           scf.if
// CHECK:             llvm.getelementptr %[[MAPS]]
// CHECK:             nvvm.fence.proxy.acquire <gpu>
// Rows 64 to 127 of K, 8 KB behind its first: four words at a time.
// CHECK:           arith.addi %{{.+}}, %c8192_i32
// CHECK-COUNT-4:   nvvm.ldmatrix %{{.+}} {{.*}}num = 4
// The loop carries 32 registers for 64x64 sums of this warpgroup.
// CHECK:           %{{.+}}:32 = scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// The use's slot and phase, of two slots.
// CHECK:             arith.andi %{{.+}}, %c1_i32
// CHECK:             arith.divui %{{.+}}, %c2_i32
// CHECK:             mbarrier.try_wait
// LSE of the thread's columns: 16 numbers in 16 bytes each.
// CHECK-COUNT-4:     llvm.load {{.*}} -> vector<4xf32>
// An instruction a step of 16, within one assembly; rows 64 to 127 of A begin 512 units of 16 bytes on.
// CHECK:             wgmma.fence.sync.aligned;{{.*}}, 66048;{{.*}}m64n64k16{{.*}}wgmma.commit_group.sync.aligned;
// CHECK:             wgmma.wait_group.sync.aligned 0;
// Logarithms to base 2, -inf where the mask hides, and exponentials behind the branch.
// CHECK:             %[[LEAD:[^ ]+]] = nvvm.shfl.sync {{ ?}}idx
// CHECK-COUNT-32:    llvm.call_intrinsic "llvm.fma.f32"({{.*}}%[[TO_BASE_2]]
// CHECK:             %{{.+}}:32 = scf.if
// CHECK:               %[[LOG_OF_0:.+]] = arith.constant 0xFF800000 : f32
// CHECK-COUNT-32:      arith.select %{{.+}}, %[[LOG_OF_0]], %{{.+}} : f32
// CHECK-COUNT-32:    llvm.nvvm.ex2.approx.ftz.f32
// Rounded in pairs: 16 words, which are A of the next product as they are.
// CHECK-COUNT-16:    nvvm.convert.f32x2.to.bf16x2
// CHECK:             wgmma.fence.sync.aligned;{{.*}}m64n64k16
// The warp is done with the slot when all of its lanes are.
// CHECK:             nvvm.bar.warp.sync
// CHECK:             @$0 mbarrier.arrive
// CHECK:             scf.yield
// The gradient leaves through the warpgroup's rows of a slot.
// CHECK:           arith.mulf %{{.+}}, %[[SCALE]]
// CHECK-COUNT-4:   stmatrix
// CHECK:           nvvm.barrier id = %c4_i32{{.*}} number_of_threads = %c128_i32
// CHECK:           scf.if
// CHECK:             nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:             nvvm.cp.async.bulk.commit.group
#rows = #dash.fragment<accumulator, rows by 2>
#factor = #dash.fragment<operand, rows by 2>
#row = #dash.fragment<per_column, replicated by 2>
!K = tensor<128x64xbf16, #dash.swizzled>
!Q = tensor<64x64xbf16, #dash.swizzled>
!P = tensor<128x64xf32, #rows>
!H = tensor<128x64xbf16, #factor>
!L = tensor<64xf32, #row>
!CK = !dash.channel<!K>
!CQ = !dash.channel<!Q, tensor<64xf32>, index>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, rows = 64, panels = 1>, <#dk, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
  llvm.func @consumer(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"},
                      %order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
                      %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"},
                      %scale: f32 {dash.parameter = "scale"}) attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    %dk = dash.tensor #dk : memref<?x?x?x64xbf16>
    dash.workers registers(168) shared_bytes(66560) {
      %k_tiles = dash.channel "k" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 8]) : !CK
      %q_tiles = dash.channel "q" depth(2) at([17408, 33792, 64], [8192, 256, 16]) barriers([16, 32])
        arrivals([1, 8]) : !CQ
      dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zeros = arith.constant dense<0.0> : !P
        %n = dash.num_items
        %k = dash.slot_tile %k_tiles[%c0] element(0) : !CK -> !K
        %k_rows = dash.load_factor %k : !K -> !H
        %sums = scf.for %use = %c0 to %n step %c1 iter_args(%sum = %zeros) -> !P {
          %slot, %phase = dash.ring %q_tiles[%use] : !CQ
          dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !CQ
          %q = dash.slot_tile %q_tiles[%slot] element(0) : !CQ -> !Q
          %lse = dash.load_row %q_tiles[%slot] element(1) : !CQ -> !L
          %s = dash.matmul %k, transpose %q async : (!K, !Q) -> !P
          %s_done = dash.wgmma_wait %s pending(0) : !P -> !P
          %lead = dash.read_indices %q_tiles[%slot] : !CQ -> index
          %log = dash.log_probability %s_done, %lse scale(%scale) : !P, !L
          %shown = dash.hide %log band(%lead, %c0) : !P
          %p = dash.exp2 %shown : !P
          %h = dash.round %p : !P to !H
          %next = dash.matmul %h, %q accumulate(%sum) async : (!H, !Q) -> !P
          %done = dash.wgmma_wait %next pending(0) : !P -> !P
          dash.mbarrier_arrive %q_tiles empty[%slot] by warp : !CQ
          scf.yield %done : !P
        }
        %rounded = dash.round %sums scale(%scale) : !P to !H
        dash.store_fragment %rounded to %k_tiles[%c0] element(0) slice(0) : !H to !CK
        dash.sync_warpgroup
        dash.copy_out %k_tiles[%c0] element(0) to %dk[%c0, %c0, %c0] slice(0) : !CK to memref<?x?x?x64xbf16>
      }
    }
    llvm.return
  }
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
// A producer and a reducer are a thread; the order's records are loads of 16 bytes.
// CHECK-LABEL: llvm.func @one_thread
// CHECK-SAME:    %[[LSE:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.lse2"}
// CHECK-SAME:    %[[TURNS:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.turns"}
// CHECK:         dash.role "load" producer
// CHECK:           nvvm.fence.proxy.acquire <gpu>
// CHECK-COUNT-3:   llvm.load {{.*}} -> vector<4xi32>
// The mask's edge, and what the slot's indices say.
// CHECK:           arith.muli %{{.+}}, %c64_i32
// CHECK:           arith.muli %{{.+}}, %c-128_i32
// A slot that was never used is empty: the other parity.
// CHECK:           arith.xori %{{.+}}, %c1_i32
// CHECK:           mbarrier.try_wait
// CHECK:           llvm.store %{{.+}}, %{{.+}} : i32, !llvm.ptr<3>
// CHECK:           nvvm.mbarrier.arrive.expect_tx
// CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:           llvm.getelementptr %[[LSE]]
// CHECK:           nvvm.cp.async.bulk.shared.cluster.global
// CHECK:         dash.role "reduce" reducer
// CHECK:           dash.warp_of_role
// CHECK:           llvm.getelementptr %[[TURNS]]
// CHECK:           ld.acquire.gpu
// CHECK:           cp.reduce.async.bulk{{.*}}add.f32
// CHECK:           nvvm.cp.async.bulk.commit.group
// CHECK:           scf.if
// CHECK:             red.release.gpu
// CHECK:           } else {
// CHECK:             llvm.store %c-1_i32{{.*}} atomic syncscope("device") monotonic
//               Whoever waits for the sum acquires what tells that it is complete.
// CHECK:             red.release.gpu
// CHECK:             llvm.store %c-1_i32{{.*}} atomic syncscope("device") release
// CHECK:           nvvm.mbarrier.arrive
!CQ = !dash.channel<tensor<64x64xbf16, #dash.swizzled>, tensor<64xf32>, index>
!CD = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, columns by 2>>>
!S = memref<?x?x?x64xf32>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<#q, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
  llvm.func @one_thread(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"},
                        %lse2: !llvm.ptr<1> {dash.parameter = "workspace.lse2"},
                        %sums: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"},
                        %turns: !llvm.ptr<1> {dash.parameter = "workspace.turns"},
                        %order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
                        %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    %q = dash.tensor #q : memref<?x?x?x64xbf16>
    %lse = dash.tensor #lse : memref<?x?x?xf32>
    %dq = dash.tensor #dq_sum : !S
    dash.workers registers(168) shared_bytes(66560) {
      %q_tiles = dash.channel "q" depth(2) at([17408, 33792, 64], [8192, 256, 16]) barriers([16, 32])
        arrivals([1, 8]) : !CQ
      %dq_tiles = dash.channel "dq" depth(1) at([34816], [16384]) barriers([0, 8]) arrivals([8, 1]) : !CD
      dash.role "load" producer warps(1) registers(24) {
        %c0 = arith.constant 0 : index
        %sequence, %kv_head, %kv, %first_head, %first_visit, %visits, %rounds = dash.read_item[%c0]
        %head, %tile, %turn, %is_last = dash.read_visit %first_visit[%c0] heads(%first_head, %c0)
        %lead = dash.band_lead at(%sequence, %kv, %tile) mask(<causal>) tiles(<q = 64, kv = 128>)
        %slot, %phase = dash.ring %q_tiles[%c0] : !CQ
        dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !CQ
        dash.write_indices %lead to %q_tiles[%slot] : !CQ
        dash.mbarrier_expect %q_tiles[%slot] bytes(8448) : !CQ
        dash.copy_in %q[%sequence, %head, %tile] to %q_tiles[%slot] element(0) : memref<?x?x?x64xbf16> to !CQ
        dash.copy_in %lse[%sequence, %head, %tile] to %q_tiles[%slot] element(1) : memref<?x?x?xf32> to !CQ
      }
      dash.role "reduce" reducer warps(2) registers(24) {
        %c0 = arith.constant 0 : index
        %warp = dash.warp_of_role
        dash.acquire_turn %dq[%c0, %c0, %warp] turn(%c0) : !S
        dash.bulk_add %dq_tiles[%c0] into %dq[%c0, %c0, %warp] : !CD into !S
        nvvm.cp.async.bulk.commit.group
        dash.release_turn %dq[%c0, %c0, %warp] last(%c0) : !S
        dash.release_turn %dq[%c0, %c0, %warp] last(%c0) signals_completion : !S
        dash.mbarrier_arrive %dq_tiles empty[%c0] by thread : !CD
      }
    }
    llvm.return
  }
}
