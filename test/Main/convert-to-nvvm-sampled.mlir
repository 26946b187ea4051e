// RUN: dash-opt %s --dash-convert-to-nvvm | FileCheck %s

// Each body of a sampled item reads the thread anew: what both used would be spilled in both where records take registers. A record
// ends at a clock that was read before, if it says so.
// CHECK-LABEL: llvm.func @sampled
// CHECK:         dash.role "compute0"
// CHECK:           scf.for
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          llvm.inline_asm {{.*}}%tid.x;
// CHECK:               %[[ITEM:.*]] = llvm.inline_asm {{.*}}%clock;
// CHECK:               %[[UNTIL:.*]] = llvm.inline_asm {{.*}}%clock;
// CHECK:               nvvm.barrier
// CHECK-NOT:           %clock;
// CHECK:               st.global.v4.b32 {{.*}}, %[[UNTIL]], %[[ITEM]], %{{.*}}, %{{.*}} :
// CHECK:             } else {
// CHECK-NEXT:          llvm.inline_asm {{.*}}%tid.x;
// CHECK-NOT:           st.global
// CHECK:               nvvm.barrier
// CHECK:           llvm.return
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, rows = 64, panels = 1>] order <entry = "attention_bwd_order">
    trace <level = all, every = 4, records = 100, lanes = ["load", "load 1", "load 2", "load 3", "compute"], names = ["q"]>>} {
  llvm.func @sampled(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"},
                     %order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %trace: !llvm.ptr<1> {dash.parameter = "workspace.trace"},
                     %heads: i32 {dash.parameter = "heads"}, %q_rows: i32 {dash.parameter = "q_rows"},
                     %kv_rows: i32 {dash.parameter = "kv_rows"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(128) shared_bytes(66560) trace(100) trace_every(4) {
      dash.role "load" producer warps(4) registers(24) {
        %begin = dash.trace begin
        %end = dash.trace end
      }
      dash.role "compute0" consumer warps(4) registers(160) warpgroup(0 of 1) {
        %begin = dash.trace begin
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %items = dash.num_items
        %true = arith.constant true
        scf.for %item = %c0 to %items step %c1 {
          scf.if %true {
            %at = dash.trace item numbers(%item)
            %then = dash.clock
            dash.sync_warpgroup
            %now = dash.trace copies since(%at) until(%then)
            %behind = dash.trace item_end numbers(%item)
          } else {
            dash.sync_warpgroup
          }
        }
        %end = dash.trace end
      }
    }
    llvm.return
  }
}
