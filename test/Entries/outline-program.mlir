// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,heads:16' \
// RUN:   --dash-check-kernels --dash-assign-roles --dash-outline-program | FileCheck %s --check-prefix=FORMULAS
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=ascending workers=2 form=table' \
// RUN:   --dash-check-kernels --dash-assign-roles --dash-outline-program | FileCheck %s --check-prefix=TABLE --implicit-check-not=tickets
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=ascending workers=2 form=table' \
// RUN:   --dash-check-kernels --dash-assign-roles --dash-outline-program=tickets=true | FileCheck %s --check-prefix=TICKETS
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=ascending workers=2 form=table' | FileCheck %s --check-prefix=PROVEN
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=shift parts=6 sizes=q:4096,heads:2,kv-heads:1' \
// RUN:   --dash-check-kernels --dash-assign-roles --dash-outline-program | FileCheck %s --check-prefix=RUNS

// An order of formulas serves all sizes, and all workers must be there.
// FORMULAS:      gpu.module @attention_bwd_kernels attributes {dash.formulas = #dash.formulas<
// FORMULAS:      dash.program = #dash.program<"attention_bwd" facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "symmetric-shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
// FORMULAS-SAME: sizes[<name = "batch", min = 1, max = 65535>, <name = "heads", min = 1, max = 65535>, <name = "kv_heads", min = 1, max = 65535>, <name = "q_rows", min = 1, max = 2097152>, <name = "kv_rows", min = 1, max = 2097152>]
// FORMULAS-SAME: constraints[<expression = "heads % kv_heads", equals = 0, message = "heads must be a multiple of kv_heads">]
// FORMULAS-SAME: derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">, <name = "kv_tiles", expression = "ceildiv(kv_rows, 128)">]
// FORMULAS-SAME: tensors[<#q, shape["batch", "heads", "q_rows", "128"], alignment = 16, stride_multiple = 8>, {{.+}}, <#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>, {{.+}}, <#dv, shape["batch", "kv_heads", "kv_rows", "128"], alignment = 16, stride_multiple = 8>]
// FORMULAS-SAME: maps[<#q, rows = 64, panels = 2>, <#k, rows = 128, panels = 2>, <#v, rows = 128, panels = 2>, <#do, rows = 64, panels = 2>, <#dk, rows = 64, panels = 1>, <#dv, rows = 64, panels = 1>]
// FORMULAS-SAME: workspace[<name = "descriptors", bytes = "768", alignment = 128, before = any, after = any>, {{.+}}, <name = "dq_sum", bytes = "4*batch*heads*q_tiles*64*128", alignment = 128, before = any, after = any>, <name = "turns", bytes = "4*batch*heads*q_tiles", alignment = 16, before = any, after = any>, <name = "order", bytes = "4*(align(9 + workers, 8) + 8*batch*kv_heads*kv_tiles + 4*q_tiles*kv_tiles)", alignment = 16, before = entry, after = any>]
// FORMULAS-SAME: order <entry = "attention_bwd_order">>} {

// More parts than query heads are runs of q tiles, also at other sizes.
// RUNS:      gpu.module @attention_bwd_kernels attributes {dash.formulas = #dash.formulas<
// RUNS:      <expression = "(kv_heads*6) % heads", equals = 0, message = "the 6 parts of a kv head must be a multiple of its query heads">
// RUNS-SAME: dash.runs} {

// A table is for its sizes, and comes as a buffer: a header; lists, each of one item; items of two tasks; visits.
// TABLE:      gpu.module @small_kernels attributes {dash.order_buffer = dense<[
// TABLE-SAME: 1, 2, 2, 8, 16, 32, 4, 0,
// TABLE-SAME: 0, 1, 2, 0, 0, 0, 0, 0,
// TABLE-SAME: 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 0, 2, 2, 1, 0,
// TABLE-SAME: 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1]> : tensor<48xi32>,
// Two workers add to one tile, so both must be there. Only if they started in order would one do.
// TABLE-SAME: workers = 2, width = 2, min_workers = 2>
// TABLE-SAME: sizes[<name = "batch", min = 1, max = 1>, <name = "heads", min = 1, max = 1>, <name = "kv_heads", min = 1, max = 1>, <name = "q_rows", min = 200, max = 200>, <name = "kv_rows", min = 256, max = 256>]
// TABLE-SAME: <name = "order", bytes = "192", alignment = 16, before = file, after = any>]
// TABLE-SAME: order <file = "dash-opt PROGRAM --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending level=run workers=2 form=table sizes=q:200,kv:256,batch:1,heads:1,kv-heads:1'">>} {
#tiling = #dash.tiling<tiles = <q = 128, kv = 128>, columns = 64, structure = alternating,
                       splits = {dk = 2 x 1, dp = 2 x 1, dq = 2 x 1, dv = 2 x 1, s = 2 x 1}, hold = [],
                       slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>
!Q = memref<1x1x200x64xbf16>
!K = memref<1x1x256x64xbf16>
!R = memref<1x1x200xf32>
func.func @small(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q)
                     outs(%dq, %dk, %dv : !Q, !K, !K) mask(<full>) level(run) tiling(#tiling)
  return
}

// Workers with separate heads do not wait.
// TABLE:      gpu.module @heads_kernels
// TABLE-SAME: workers = 2, width = 2, min_workers = 1>
!HQ = memref<1x2x200x64xbf16>
!HK = memref<1x2x128x64xbf16>
!HR = memref<1x2x200xf32>
func.func @heads(%q: !HQ, %k: !HK, %v: !HK, %do: !HQ, %o: !HQ, %lse: !HR, %dq: !HQ, %dk: !HK, %dv: !HK) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !HQ, !HK, !HK, !HQ, !HR, !HQ)
                     outs(%dq, %dk, %dv : !HQ, !HK, !HK) mask(<full>) level(run) tiling(#tiling)
  return
}

// Workers that draw their indices start in order, and there is a word to draw from.
// TICKETS:      gpu.module @small_kernels
// TICKETS-SAME: workers = 2, width = 2, min_workers = 1>
// TICKETS-SAME: <name = "tickets", bytes = "4", alignment = 16, before = zero, after = zero>]
// PROVEN: dash.schedule @small_order kind("ascending") {{.+}} min_workers(1)

// A softcap is a fact; a sink and its gradient are tensors, and between the entries that compute it lie sums of runs of rows.
// RUN: sed -e 's/%%scale: f32)/%%scale: f32, %%sink: memref<?xf32>, %dsink: memref<?x?xf32>)/' \
// RUN:   -e 's/scale(%%scale)/scale(%%scale) sink(%%sink, %dsink : memref<?xf32>, memref<?x?xf32>) softcap(30.0)/' %dash_examples/bwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:4096' --dash-check-kernels --dash-assign-roles --dash-outline-program \
// RUN:   | FileCheck %s --check-prefix=SCORES
// SCORES:      gpu.module @attention_bwd_kernels
// SCORES:      min_workers = 132, softcap = 3.000000e+01 : f32>
// SCORES-SAME: <#dv, {{[^>]+}}>, <#sink, shape["heads"], alignment = 4, stride_multiple = 1>, <#dsink, shape["batch", "heads"], alignment = 4, stride_multiple = 1>]
// SCORES-SAME: <name = "sink_sum", bytes = "4*batch*heads*q_tiles*2", alignment = 128, before = any, after = any>]

// For a list, the gradient has a row for each sequence.
// RUN: sed -e 's/%%scale: f32)/%%scale: f32, %%sink: memref<?xf32>, %dsink: memref<?x?xf32>)/' \
// RUN:   -e 's/scale(%%scale)/scale(%%scale) sequences(<?>) sink(%%sink, %dsink : memref<?xf32>, memref<?x?xf32>)/' %dash_examples/bwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:4096' --dash-check-kernels --dash-assign-roles --dash-outline-program \
// RUN:   | FileCheck %s --check-prefix=SINKS
// SINKS:       gpu.module @attention_bwd_kernels
// SINKS:       <#dsink, shape["sequences", "heads"], alignment = 4, stride_multiple = 1>
