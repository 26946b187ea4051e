// RUN: sed s/BYTES/128/g %s | dash-opt --dash-convert-to-nvvm | FileCheck %s --check-prefixes=CHECK,B128
// RUN: sed s/BYTES/64/g %s | dash-opt --dash-convert-to-nvvm | FileCheck %s --check-prefixes=CHECK,B64
// RUN: sed s/BYTES/32/g %s | dash-opt --dash-convert-to-nvvm | FileCheck %s --check-prefixes=CHECK,B32

// Panels of 64, 32 and 16 columns. High words of descriptors: eight rows / 16, and mode 1, 2 or 3 from bit 30.
// CHECK-LABEL: llvm.func @consumer
// Rows 64 to 127 of K; a row of a panel has four, two or one steps of 16 columns.
// CHECK:         dash.role "compute1"
// B128:            arith.addi %{{.+}}, %c8192_i32
// B128-COUNT-4:    nvvm.ldmatrix
// B64:             arith.addi %{{.+}}, %c4096_i32
// B64-COUNT-2:     nvvm.ldmatrix
// B64:             arith.addi %{{.+}}, %c8192_i32
// B64:             nvvm.ldmatrix
// B32:             arith.addi %{{.+}}, %c2048_i32
// B32:             nvvm.ldmatrix
// B32:             arith.addi %{{.+}}, %c4096_i32
// B32:             nvvm.ldmatrix
// B32:             arith.addi %{{.+}}, %c8192_i32
// Both factors by rows: steps are 2 units of 16 bytes in a panel, and a panel has 128 rows of A and 64 of B.
// B128:            wgmma.fence{{.*}}, 66048;{{.*}}, 1073741888}{{.*}}, 65536;{{.*}}, 1073741888}{{.*}}, 66050;{{.*}}, 65538;
// B64:             wgmma.fence{{.*}}, 65792;{{.*}}, 2147483680}{{.*}}, 65536;{{.*}}, 2147483680}{{.*}}, 65794;{{.*}}, 65538;{{.*}}, 66304;{{.*}}, 65792;
// B32:             wgmma.fence{{.*}}, 65664;{{.*}}, 3221225488}{{.*}}, 65536;{{.*}}, 3221225488}{{.*}}, 65920;{{.*}}, 65664;{{.*}}, 66176;{{.*}}, 65792;
// B by columns: from panel to panel in the upper half of the low word, 16 rows a step.
// B128:            wgmma.fence{{.*}}, 33554432;{{.*}}, 33554560;
// B64:             wgmma.fence{{.*}}, 16777216;{{.*}}, 2147483680}{{.*}}, 16777280;
// B32:             wgmma.fence{{.*}}, 8388608;{{.*}}, 3221225488}{{.*}}, 8388640;
// The result leaves panel by panel.
// B128-COUNT-1:    nvvm.cp.async.bulk.tensor.global.shared.cta
// B64-COUNT-2:     nvvm.cp.async.bulk.tensor.global.shared.cta
// B32-COUNT-4:     nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NOT:       nvvm.cp.async.bulk.tensor
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#rows = #dash.fragment<accumulator, rows by 2>
#factor = #dash.fragment<operand, rows by 2>
!K = tensor<128x64xbf16, #dash.swizzled<BYTES>>
!Q = tensor<64x64xbf16, #dash.swizzled<BYTES>>
!P = tensor<128x64xf32, #rows>
!H = tensor<128x64xbf16, #factor>
!CK = !dash.channel<!K>
!CQ = !dash.channel<!Q>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<#dk, rows = 64, panels = 1, bytes = BYTES>]
    order <entry = "attention_bwd_order">>} {
  llvm.func @consumer(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}, %heads: i32 {dash.parameter = "heads"},
                      %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    %dk = dash.tensor #dk : memref<?x?x?x64xbf16>
    dash.workers registers(168) shared_bytes(66560) {
      %k_tiles = dash.channel "k" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 8]) : !CK
      %q_tiles = dash.channel "q" depth(1) at([17408], [8192]) barriers([16, 32]) arrivals([1, 8]) : !CQ
      dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
        %c0 = arith.constant 0 : index
        %k = dash.slot_tile %k_tiles[%c0] element(0) : !CK -> !K
        %q = dash.slot_tile %q_tiles[%c0] element(0) : !CQ -> !Q
        %k_rows = dash.load_factor %k : !K -> !H
        %s = dash.matmul %k, transpose %q async : (!K, !Q) -> !P
        %r = dash.matmul %k_rows, %q async : (!H, !Q) -> !P
        %s_done, %r_done = dash.wgmma_wait %s, %r pending(0) factors(%k_rows : !H) : !P, !P -> !P, !P
        %rounded = dash.round %r_done : !P to !H
        dash.store_fragment %rounded to %k_tiles[%c0] element(0) slice(0) : !H to !CK
        dash.sync_warpgroup
        dash.copy_out %k_tiles[%c0] element(0) to %dk[%c0, %c0, %c0] slice(0) : !CK to memref<?x?x?x64xbf16>
      }
    }
    llvm.return
  }
}
