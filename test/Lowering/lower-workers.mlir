// RUN: dash-opt %s --dash-lower-workers | FileCheck %s --implicit-check-not=dash.workers
// RUN: dash-opt %s --dash-lower-workers | FileCheck %s --check-prefix=STEP

// One entry for all roles, with what the launch needs. It takes no tensors: descriptors say where they are.
// CHECK:      llvm.func @attention_bwd_main(%[[MAPS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}, %[[LSE2:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.lse2"}, %[[DELTA:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.delta"}, %[[SUM:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"}, %[[TURNS:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.turns"}, %[[ORDER:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %{{.+}}: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "q_rows"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %{{.+}}: f32 {dash.parameter = "scale"})
// CHECK-SAME:   dash.entry = {block = array<i32: 384, 1, 1>, cluster = array<i32: 1, 1, 1>, cooperative = true, grid = ["workers", "1", "1"], role = "main", shared_bytes = 231424 : i64, when = "always"}

// Two barriers a slot, full and empty. Whole warpgroups arrive once a warp, and so eight times; the copy engine's slots have
// one arrival, of who starts it; of the adding warps only one has a slot. k and v have one slot:
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// q and do have two:
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// ds, written and read by the warpgroups:
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.+}}, %c8_i32
// dq, written by the warpgroups and added by one warp:
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK:        nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-NOT:    mbarrier.init
// CHECK:        nvvm.fence.mbarrier.init
// CHECK-NEXT:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:        nvvm.barrier

// The warps of the first warpgroup give registers away, so that the others have more.
// CHECK:        nvvm.setmaxregister decrease 24
// Role load-q: one thread. Each copy says at the slot's barrier how many bytes will come: 64 rows of 256 bytes and of 4.
// CHECK-COUNT-2: nvvm.fence.proxy.acquire <gpu>
// CHECK:        mbarrier.try_wait.parity
// CHECK:        nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16640_i32
// CHECK:        nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}}, box[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]
// CHECK:        nvvm.cp.async.bulk.shared.cluster.global {{.+}}, %c256_i32
// CHECK:        mbarrier.try_wait.parity
// CHECK:        nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16640_i32
// CHECK:        nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:        nvvm.cp.async.bulk.shared.cluster.global {{.+}}, %c256_i32
// Role reduce: the ordered add, which ordered-add.test reads in PTX. Its two warps take every other step.
// CHECK-NOT:    cp.async
// CHECK:        scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c2_i32
// CHECK:        ld.acquire.gpu.global.b32
// CHECK:        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$1], [$0], 32768;"
// CHECK:        "red.release.gpu.global.add.s32 [$0], 1;"
// Role load-kv: tiles of an item.
// CHECK:        nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c32768_i32
// CHECK:        nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:        nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c32768_i32
// CHECK:        nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT:    wgmma

// Role compute, a copy for each warpgroup: which part is its own is a constant.
// CHECK:        nvvm.setmaxregister increase 240
// CHECK:        wgmma.mma_async
// CHECK:        nvvm.barrier id = %c1_i32{{.*}} number_of_threads = %c256_i32
// CHECK:        "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c2_i32{{.*}}, %c256_i32
// The gradients leave through the warpgroup's rows of a slot; who releases it has waited until they are read.
// CHECK:        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$4], {$0, $1, $2, $3};"
// CHECK:        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK:        nvvm.barrier id = %c3_i32{{.*}} number_of_threads = %c128_i32
// CHECK:        nvvm.cp.async.bulk.tensor.global.shared.cta {{.+}}, box[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]
// CHECK:        nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:        nvvm.cp.async.bulk.commit.group
// CHECK:        nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK:        nvvm.barrier id = %c3_i32{{.*}} number_of_threads = %c128_i32
// CHECK:        "stmatrix.
// CHECK:        wgmma.mma_async
// CHECK:        nvvm.barrier id = %c2_i32{{.*}} number_of_threads = %c256_i32
// CHECK:        "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c1_i32{{.*}}, %c256_i32
// CHECK:        nvvm.barrier id = %c4_i32{{.*}} number_of_threads = %c128_i32
// CHECK-NOT:    nvvm.setmaxregister

// A step in the middle of a walk: the loop that carries 2 x 64 sums of dK and dV, and 2 x 16 words of P and dS. First the
// turn at the tensor core, and dQ of the step before: of dS of both warpgroups, waited for, and K.
// STEP:         {{%.+}}:160 = scf.for
// STEP:         nvvm.barrier id = %c1_i32{{.*}} number_of_threads = %c256_i32
// STEP:         mbarrier.try_wait
// STEP:         wgmma.fence.sync.aligned;{{.+}}.m64n64k16.{{.+}}, da, db, adds, 1, 1, 1, 1;\0Awgmma.commit_group.sync.aligned;
// dK and dV: rounded tiles from registers, sums added to.
// STEP-NOT:     wgmma.wait_group
// STEP:         wgmma.fence.sync.aligned;{{.+}}.m64n128k16.{{.+}}, db, adds, 1, 1, 1;\0Awgmma.commit_group.sync.aligned;
// STEP-NOT:     wgmma.wait_group
// STEP:         wgmma.fence.sync.aligned;{{.+}}.m64n128k16.{{.+}}, db, adds, 1, 1, 1;\0Awgmma.commit_group.sync.aligned;
// While they run: dS of this step is published, dQ waited for and written, and its slot of dS released.
// STEP-NOT:     wgmma.wait_group
// STEP:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// STEP:         nvvm.bar.warp.sync
// STEP:         "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
// STEP:         "wgmma.wait_group.sync.aligned 2;"
// STEP:         "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
// STEP:         mbarrier.try_wait
// STEP-COUNT-8: "st.shared.v4.f32 [$4 + {{[0-9]+}}], {$0, $1, $2, $3};"
// dK done releases q; S of the next step, which starts from nothing.
// STEP:         "wgmma.wait_group.sync.aligned 1;"
// STEP:         "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
// STEP:         mbarrier.try_wait
// STEP-COUNT-4: llvm.load {{.+}} : !llvm.ptr<3> -> vector<4xf32>
// STEP-NOT:     wgmma.wait_group
// STEP:         wgmma.fence.sync.aligned;{{.+}}.m64n64k16.{{.+}}, da, db, starts, 1, 1, 0, 0;{{.+}}wgmma.commit_group.sync.aligned;
// dV done releases do; dP of the next step. Then the tensor core is the other warpgroup's, and dQ is published.
// STEP:         "wgmma.wait_group.sync.aligned 1;"
// STEP:         "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
// STEP:         mbarrier.try_wait
// STEP-COUNT-4: llvm.load {{.+}} : !llvm.ptr<3> -> vector<4xf32>
// STEP-NOT:     wgmma.wait_group
// STEP:         wgmma.fence.sync.aligned;{{.+}}.m64n64k16.{{.+}}, da, db, starts, 1, 1, 0, 0;{{.+}}wgmma.commit_group.sync.aligned;
// STEP:         "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c2_i32{{.*}}, %c256_i32
// STEP:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// STEP:         nvvm.bar.warp.sync
// STEP:         "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
// P once S is there, hidden where the mask's edge is; dS once dP is; into the slot that both warpgroups read next.
// STEP:         "wgmma.wait_group.sync.aligned 1;"
// STEP-COUNT-32: "llvm.nvvm.ex2.approx.ftz.f32"
// STEP:         llvm.load {{.+}} : !llvm.ptr<3> -> i32
// STEP:         {{%.+}}:32 = scf.if
// STEP:         "wgmma.wait_group.sync.aligned 0;"
// STEP:         mbarrier.try_wait
// STEP-COUNT-4: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$4], {$0, $1, $2, $3};"
// STEP:         scf.yield
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
!S = memref<?x?x?x128xf32>
!A = tensor<64x128xbf16>
!B = tensor<128x128xbf16>
!P = tensor<128x64xf32>
!H = tensor<128x64xbf16>
!F = tensor<128x128xf32>
!Q = tensor<64x128xf32>
!L = tensor<64xf32>
!CK = !dash.channel<tensor<128x128xbf16>>
!CQ = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>
!CS = !dash.channel<tensor<128x64xbf16>>
!CD = !dash.channel<tensor<64x128xf32>>

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
             head_dim_v = 128, sequences = <[256, 256]>>)
    cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = kv * 2 + step, turn(kv, q) = kv>)

func.func @attention_bwd(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"},
                         %do: !T {dash.name = "do"}, %lse: !R {dash.name = "lse"}, %dk: !T {dash.name = "dk"},
                         %dv: !T {dash.name = "dv"}, %scale: f32 {dash.name = "scale"}, %rows: index) {
  %delta = memref.alloc(%rows, %rows, %rows) : !R
  %sum = memref.alloc(%rows, %rows, %rows) : !S
  %zero = arith.constant dense<0.0> : !F
  dash.workers registers(168) shared_bytes(231424) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !CK
    %v_tiles = dash.channel "v" depth(1) at([33792], [32768]) : !CK
    %q_tiles = dash.channel "q" depth(2) at([66560, 230400], [81920, 256]) : !CQ
    %do_tiles = dash.channel "do" depth(2) at([82944, 230912], [81920, 256]) : !CQ
    %ds_tiles = dash.channel "ds" depth(2) at([99328], [81920]) : !CS
    %dq_tiles = dash.channel "dq" depth(2) at([115712], [81920]) : !CD
    dash.role "load-q" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          %0 = dash.load %q[%seq, %head, %qi] : !T -> !A
          %1 = dash.load %lse[%seq, %head, %qi] : !R -> !L
          dash.put %0, %1 into %q_tiles : !A, !L into !CQ
          %2 = dash.load %do[%seq, %head, %qi] : !T -> !A
          %3 = dash.load %delta[%seq, %head, %qi] : !R -> !L
          dash.put %2, %3 into %do_tiles : !A, !L into !CQ
        }
      }
    }
    dash.role "reduce" warps(2) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          %0 = dash.get %dq_tiles : !CD -> !Q
          dash.ordered_reduce %0 into %sum[%seq, %head, %qi] turn(%turn) : !Q into !S
          dash.release %dq_tiles : !CD
        }
      }
    }
    dash.role "load-kv" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
        dash.put %0 into %k_tiles : !B into !CK
        %1 = dash.load %v[%seq, %kv_head, %kv] : !T -> !B
        dash.put %1 into %v_tiles : !B into !CK
      }
    }
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %kt = dash.get %k_tiles : !CK -> !B
        %vt = dash.get %v_tiles : !CK -> !B
        %sums:2 = dash.walk (%head, %qi, %turn) init(%dk0 = %zero, %dv0 = %zero) : !F, !F {
          %qt, %l = dash.get %q_tiles {dash.order = 9, dash.stage = 0} : !CQ -> !A, !L
          %s = dash.matmul %kt, transpose %qt {dash.order = 10, dash.stage = 0} : (!B, !A) -> !P
          %dot, %d = dash.get %do_tiles {dash.order = 12, dash.stage = 0} : !CQ -> !A, !L
          %dp = dash.matmul %vt, transpose %dot {dash.order = 13, dash.stage = 0} : (!B, !A) -> !P
          %p = dash.probability %s, %l at(%seq, %kv, %qi) scale(%scale) {dash.order = 16, dash.stage = 0} : (!P, !L) -> !P
          %ph = dash.round %p {dash.order = 17, dash.stage = 0} : !P to !H
          %ds = dash.score_gradient %p, %dp, %d {dash.order = 18, dash.stage = 0} : (!P, !P, !L) -> !H
          dash.put %ds into %ds_tiles {dash.order = 19, dash.stage = 0} : !H into !CS
          dash.take_tensor_core {dash.order = 0, dash.stage = 1}
          %whole = dash.get %ds_tiles {dash.order = 1, dash.stage = 2} : !CS -> !H
          %c = dash.matmul transpose %whole, %kt {dash.order = 2, dash.stage = 2} : (!H, !B) -> !Q
          %dk1 = dash.matmul %ds, %qt accumulate(%dk0) {dash.order = 3, dash.stage = 1} : (!H, !A) -> !F
          %dv1 = dash.matmul %ph, %dot accumulate(%dv0) {dash.order = 4, dash.stage = 1} : (!H, !A) -> !F
          dash.publish %ds_tiles {dash.order = 5, dash.stage = 1} : !CS
          dash.release %ds_tiles {dash.order = 6, dash.stage = 2} : !CS
          dash.put %c into %dq_tiles {dash.order = 7, dash.stage = 2} : !Q into !CD
          dash.release %q_tiles {dash.order = 8, dash.stage = 1} : !CQ
          dash.release %do_tiles {dash.order = 11, dash.stage = 1} : !CQ
          dash.give_tensor_core {dash.order = 14, dash.stage = 1}
          dash.publish %dq_tiles {dash.order = 15, dash.stage = 2} : !CD
          dash.yield %dk1, %dv1 : !F, !F
        }
        dash.release %k_tiles : !CK
        dash.store %sums#1, %dv[%seq, %kv_head, %kv] {dash.staging = "v"} : !F -> !T
        dash.store %sums#0, %dk[%seq, %kv_head, %kv] scale(%scale) {dash.staging = "v"} : !F -> !T
        dash.release %v_tiles : !CK
      }
    }
  }
  return
}

gpu.module @attention_bwd_kernels attributes {dash.program = {name = "attention_bwd", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "causal", deterministic = true, min_workers = 2}}} {
}
