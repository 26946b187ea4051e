// RUN: dash-opt %s --dash-outline-workers | FileCheck %s

// Descriptors copy panels as slots have them: what is loaded in one box, what is stored panel by panel.
// CHECK: gpu.module @attention_bwd_kernels
// CHECK-SAME:  maps[<#q, rows = 64, panels = 3, bytes = 64>, <#dk, rows = 64, panels = 1, bytes = 32>, <#v, rows = 128, panels = 1>]
#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 96>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 96>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 96>
!T = memref<?x?x?x96xbf16>
!CQ = !dash.channel<tensor<64x96xbf16, #dash.swizzled<64>>>
!CK = !dash.channel<tensor<64x96xbf16, #dash.swizzled<32>>>

func.func @attention_bwd(%q: !T {dash.tensor = #q}, %dk: !T {dash.tensor = #dk}) {
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %q_tiles = dash.channel "q" depth(1) at([1024], [12288]) barriers([0, 8]) arrivals([1, 4]) : !CQ
    %k_tiles = dash.channel "k" depth(1) at([13312], [12288]) barriers([16, 24]) arrivals([1, 4]) : !CK
    dash.role "load-q" producer warps(1) registers(24) {
      dash.copy_in %q[%zero, %zero, %zero] to %q_tiles[%zero] element(0) : !T to !CQ
    }
    dash.role "compute" consumer warps(4) registers(240) {
      dash.copy_out %k_tiles[%zero] element(0) to %dk[%zero, %zero, %zero] slice(0) : !CK to !T
    }
  }
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<#q, rows = 64, panels = 1>, <#dk, rows = 64, panels = 1>, <#v, rows = 128, panels = 1>]
    order <entry = "attention_bwd_order">>} {
}
