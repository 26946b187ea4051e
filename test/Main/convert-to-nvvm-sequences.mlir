// RUN: dash-opt %s --dash-convert-to-nvvm --cse | FileCheck %s

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
// What the order buffer says of a sequence is read once an item, behind the item's own record: steps read their visit, and no more.
// CHECK-LABEL: llvm.func @once_an_item
// CHECK-SAME:    %[[ORDER:[^ ]+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}
// CHECK:         dash.role "load" producer
// CHECK:           scf.for
// CHECK-COUNT-2:     llvm.load {{.*}} -> vector<4xi32>
// CHECK:             %[[BYTES:.+]] = arith.muli %{{.+}}, %c48_i64
// CHECK-NEXT:        %[[RECORD:.+]] = llvm.getelementptr %[[ORDER]][%[[BYTES]]]
// CHECK-NEXT:        %[[OF_QUERIES:.+]] = llvm.getelementptr %[[RECORD]][%c32_i64
// CHECK:             %[[ROWS:.+]] = llvm.load %[[OF_QUERIES]] {{.*}} -> vector<4xi32>
// CHECK:             scf.for
// CHECK:               llvm.load {{.*}} -> vector<4xi32>
// CHECK-NOT:           llvm.load {{.*}}
// Behind the end of the sequence is the end of the dimension of rows.
// CHECK:               arith.subi %{{.+}}, %{{.+}} : i32
// CHECK:               nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT:           llvm.load {{.*}}
// CHECK:               nvvm.cp.async.bulk.shared.cluster.global
// CHECK:         dash.role "reduce" reducer
// CHECK:           scf.for
// CHECK-COUNT-3:     llvm.load {{.*}} -> vector<4xi32>
// CHECK:             scf.for
// CHECK:               llvm.load {{.*}} -> vector<4xi32>
// CHECK:               ld.acquire.gpu
// CHECK-NOT:           llvm.load {{.*}}
// CHECK:               cp.reduce.async.bulk{{.*}}add.f32
// CHECK-NOT:           llvm.load {{.*}}
// CHECK:               red.release.gpu
!CQ = !dash.channel<tensor<64x64xbf16, #dash.swizzled>, tensor<64xf32>, index>
!CD = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, columns by 2>>>
!S = memref<?x?x?x64xf32>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = batch, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    derived [<name = "sequences", expression = "bounds - 1">]
    maps[<#q, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
  llvm.func @once_an_item(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"},
                          %lse2: !llvm.ptr<1> {dash.parameter = "workspace.lse2"},
                          %sums: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"},
                          %turns: !llvm.ptr<1> {dash.parameter = "workspace.turns"},
                          %order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
                          %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"},
                          %q_tiles_of_all: i32 {dash.parameter = "q_tiles"})
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
        %c1 = arith.constant 1 : index
        %items = dash.num_items
        scf.for %place = %c0 to %items step %c1 {
          %sequence, %kv_head, %kv, %first_head, %first_visit, %visits, %rounds = dash.read_item[%place]
          scf.for %visit = %c0 to %visits step %c1 {
            %head, %tile, %turn, %is_last = dash.read_visit %first_visit[%visit] heads(%first_head, %c0)
            %lead = dash.band_lead at(%sequence, %kv, %tile) mask(<causal>) tiles(<q = 64, kv = 128>)
            %slot, %phase = dash.ring %q_tiles[%visit] : !CQ
            dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !CQ
            dash.write_indices %lead to %q_tiles[%slot] : !CQ
            dash.mbarrier_expect %q_tiles[%slot] bytes(8448) : !CQ
            dash.copy_in %q[%sequence, %head, %tile] to %q_tiles[%slot] element(0) : memref<?x?x?x64xbf16> to !CQ
            dash.copy_in %lse[%sequence, %head, %tile] to %q_tiles[%slot] element(1) : memref<?x?x?xf32> to !CQ
          }
        }
      }
      dash.role "reduce" reducer warps(2) registers(24) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %items = dash.num_items
        scf.for %place = %c0 to %items step %c1 {
          %sequence, %kv_head, %kv, %first_head, %first_visit, %visits, %rounds = dash.read_item[%place]
          scf.for %visit = %c0 to %visits step %c1 {
            %head, %tile, %turn, %is_last = dash.read_visit %first_visit[%visit] heads(%first_head, %c0)
            dash.acquire_turn %dq[%sequence, %head, %tile] turn(%turn) : !S
            dash.bulk_add %dq_tiles[%c0] into %dq[%sequence, %head, %tile] : !CD into !S
            nvvm.cp.async.bulk.commit.group
            dash.release_turn %dq[%sequence, %head, %tile] last(%is_last) : !S
            dash.mbarrier_arrive %dq_tiles empty[%c0] by thread : !CD
          }
        }
      }
    }
    llvm.return
  }
}
