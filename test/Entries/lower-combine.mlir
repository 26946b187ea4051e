// RUN: dash-opt %s --dash-lower-combine | FileCheck %s --implicit-check-not=dash.combine --implicit-check-not=linalg.fill
// RUN: sed 's/bf16/f16/g' %s | dash-opt --dash-lower-combine | FileCheck %s --check-prefix=F16 --implicit-check-not=bf16
// F16: nvvm.convert.f32x2.to.f16x2 {{.+}}<rn>

#o = #dash.tensor_role<"o", side = q, access = write, kind = tile, element = bf16, columns = 40, width = 48>
#lse = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
#sink = #dash.tensor_role<"sink", side = q, access = read, kind = head, element = f32>
#o_pieces = #dash.tensor_role<"o", side = q, access = sum, kind = tile, element = f32, columns = 48>
#lse_pieces = #dash.tensor_role<"lse", side = q, access = sum, kind = log_row, element = f32>

// A block has 16 rows of a q tile, a warp one after the other of them.
// CHECK:      gpu.module @attention_fwd_kernels
// CHECK:        llvm.func @attention_fwd_combine(%{{.+}}: !llvm.ptr<1> {dash.parameter = "o"}, %{{.+}}: i64 {dash.parameter = "o.stride.batch"}, %{{.+}}: i64 {dash.parameter = "o.stride.head"}, %{{.+}}: i64 {dash.parameter = "o.stride.row"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "lse"}, {{.+}}: !llvm.ptr<1> {dash.parameter = "sink"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.o_pieces"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.lse_pieces"}, %{{.+}}: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "q_rows"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %{{.+}}: i32 {dash.parameter = "kv_pieces"})
// CHECK-SAME:     attributes {dash.entry = #dash.entry<combine, always, grid["batch*heads*q_tiles*4", "1", "1"], block[128, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>, gpu.kernel,
//               The largest LSE: lanes have a piece each.
// CHECK:          scf.for
// CHECK:            arith.maxnumf
// CHECK-COUNT-5:  nvvm.shfl.sync bfly
//               Four pieces are loaded before the first is added.
// CHECK:          scf.for
// CHECK-COUNT-4:    llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT:        llvm.load
// CHECK-COUNT-16:   "llvm.fma.f32"
// CHECK:            scf.yield
// CHECK:          arith.divf
// CHECK:          nvvm.convert.f32x2.to.bf16x2 {{.+}}<rn>
//               Lanes without columns write nothing.
// CHECK:          arith.cmpi slt, %{{.+}}, %c40
// CHECK:          llvm.store {{.+}} : vector<2xi32>, !llvm.ptr<1>
// CHECK:          llvm.return
func.func @attention_fwd(%op: memref<?x?x?x48xf32> {dash.tensor = #o_pieces}, %lp: memref<?x?x?xf32> {dash.tensor = #lse_pieces}, %o: memref<?x?x?x40xbf16> {dash.tensor = #o}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sink: memref<?xf32> {dash.tensor = #sink}) {
  %hidden = arith.constant 0xFF800000 : f32
  linalg.fill ins(%hidden : f32) outs(%lp : memref<?x?x?xf32>)
  dash.combine %op, %lp sink(%sink : memref<?xf32>) into %o, %lse cut(2048)
    : memref<?x?x?x48xf32>, memref<?x?x?xf32> into memref<?x?x?x40xbf16>, memref<?x?x?xf32>
  return
}
gpu.module @attention_fwd_kernels attributes {dash.program = #dash.program<"attention_fwd"
    facts <element = bf16, head_dim = 40, head_dim_v = 40, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = row, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1, own = q, cut = 2048>
    order <entry = "attention_fwd_order">>} {
}
