// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,heads:16' --dash-outline-program | FileCheck %s --check-prefix=FORMULAS
// RUN: dash-opt %s --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending workers=2 form=table' --dash-outline-program | FileCheck %s --check-prefix=TABLE

// An order of formulas serves all sizes, and all workers must be there.
// FORMULAS:      func.func @attention_bwd(%{{.+}}: {{.+}} {dash.name = "q"}, {{.+}}, %{{.+}}: f32 {dash.name = "scale"})
// FORMULAS:      gpu.module @attention_bwd_kernels attributes {dash.formulas = #dash.formulas<
// FORMULAS:      dash.program = {constraints = [{equals = 0 : i64, expression = "heads % kv_heads", message = "heads must be a multiple of kv_heads"}],
// FORMULAS-SAME: derived = {kv_tiles = "ceildiv(kv_rows, 128)", q_tiles = "ceildiv(q_rows, 64)"}, name = "attention_bwd",
// FORMULAS-SAME: order = {entry = "attention_bwd_order", source = "entry"},
// FORMULAS-SAME: program = {deterministic = true, element = "bf16", head_dim = 128 : i64, head_dim_v = 128 : i64, kind = "symmetric-shift", level = "run", mask = "causal", min_workers = 132 : i64, parts = 1 : i64, tiles = {kv = 128 : i64, q = 64 : i64}, width = 132 : i64, workers = 132 : i64},
// FORMULAS-SAME: sizes = {batch = {max = 65535 : i64, min = 1 : i64}, heads = {max = 65535 : i64, min = 1 : i64}, kv_heads = {max = 65535 : i64, min = 1 : i64}, kv_rows = {max = 2097152 : i64, min = 1 : i64}, q_rows = {max = 2097152 : i64, min = 1 : i64}},
// FORMULAS-SAME: tensors = [{access = "read", alignment = 16 : i64, element = "bf16", name = "q", shape = ["batch", "heads", "q_rows", "128"], stride_multiple = 8 : i64}, {{.+}}, {access = "read", alignment = 4 : i64, element = "f32", name = "lse", shape = ["batch", "heads", "q_rows"], stride_multiple = 1 : i64}, {{.+}}, {access = "write", alignment = 16 : i64, element = "bf16", name = "dv", shape = ["batch", "kv_heads", "kv_rows", "128"], stride_multiple = 8 : i64}],
// FORMULAS-SAME: workspace = [{after = "any", alignment = 128 : i64, bytes = "768", initial = "any", name = "descriptors"}, {{.+}}, {after = "any", alignment = 128 : i64, bytes = "4*batch*heads*q_tiles*64*128", initial = "any", name = "dq_sum"}, {after = "zero", alignment = 16 : i64, bytes = "4*batch*heads*q_tiles", initial = "zero", name = "turns"}, {after = "any", alignment = 16 : i64, bytes = "4*(align(9 + workers, 8) + 8*batch*kv_heads*kv_tiles + 4*q_tiles*kv_tiles)", initial = "entry", name = "order"}]}} {

// A table is for its sizes, and comes as a buffer: a header; lists, each of one item; items of two tasks; visits.
// TABLE:      gpu.module @small_kernels attributes {dash.order = dense<[
// TABLE-SAME: 1, 2, 2, 8, 16, 32, 4, 0,
// TABLE-SAME: 0, 1, 2, 0, 0, 0, 0, 0,
// TABLE-SAME: 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 0, 2, 2, 1, 0,
// TABLE-SAME: 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1]> : tensor<48xi32>,
// TABLE-SAME: order = {command = "dash-opt PROGRAM --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending level=run workers=2 form=table sizes=q:200,kv:256,batch:1,heads:1,kv-heads:1'", source = "file"}
// TABLE-SAME: sizes = {batch = {value = 1 : i64}, heads = {value = 1 : i64}, kv_heads = {value = 1 : i64}, kv_rows = {value = 256 : i64}, q_rows = {value = 200 : i64}}
// TABLE-SAME: bytes = "192", initial = "file", name = "order"
!Q = memref<1x1x200x64xbf16>
!K = memref<1x1x256x64xbf16>
!R = memref<1x1x200xf32>
func.func @small(%q: !Q, %k: !K, %v: !K, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !K, %dv: !K) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !K, !K, !Q, !R, !Q)
                     outs(%dq, %dk, %dv : !Q, !K, !K) mask(<full>) level(run)
  return
}
