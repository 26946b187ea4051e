// RUN: sed 's/ scale(%%scale)/& sink(%%sink : memref<?xf32>) fold(8)/; s/%%scale: f32)/%%scale: f32, %%sink: memref<?xf32>)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:30,kv:300,batch:1,heads:8,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program -o %t.mlir
// RUN: FileCheck %s --check-prefix=PREPARE --input-file=%t.mlir
// RUN: dash-opt %t.mlir --dash-convert-to-nvvm -o %t.nvvm.mlir
// RUN: FileCheck %s --input-file=%t.nvvm.mlir
// RUN: FileCheck %s --check-prefix=COPY --input-file=%t.nvvm.mlir

// A box of Q is 64 columns of 16 rows of eight heads; heads of a row are side by side. Groups of eight heads are a dimension behind rows.
// PREPARE:      llvm.func @attention_fwd_prepare({{.+}}%[[STEP:[^:]+]]: i64 {dash.parameter = "q.stride.head"}, %[[ROW:[^:]+]]: i64 {dash.parameter = "q.stride.row"}{{.+}}%[[HEADS:[^:]+]]: i32 {dash.parameter = "heads"}
// PREPARE:        %[[GROUPS:.+]] = arith.divui %[[HEADS]], %c8
// PREPARE:        "llvm.nvvm.tensormap.replace.box.dim"(%{{.+}}, %c0_i32{{[^,]*}}, %c64_i32
// PREPARE:        "llvm.nvvm.tensormap.replace.box.dim"(%{{.+}}, %c1_i32{{[^,]*}}, %c8_i32
// PREPARE:        "llvm.nvvm.tensormap.replace.global.dim"(%{{.+}}, %c1_i32{{[^,]*}}, %c8_i32
// PREPARE:        "llvm.nvvm.tensormap.replace.box.dim"(%{{.+}}, %c2_i32{{[^,]*}}, %c16_i32
// PREPARE:        "llvm.nvvm.tensormap.replace.global.dim"(%{{.+}}, %c3_i32{{[^,]*}}, %[[GROUPS]])

// K and V are copied at once, Q by panels: at columns 0 and 64 of all eight heads.
// COPY:         nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}} box[%[[ZERO:c0_i32[^,]*]], %{{[0-9]+}}, %c0_i32{{[^,]*}}, %{{[0-9]+}}, %{{[0-9]+}}]
// COPY:       dash.role "load-q" producer
// COPY:         arith.muli %{{.+}}, %c16_i32
// COPY:         nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}} box[%c0_i32{{[^,]*}}, %c0_i32{{[^,]*}}, %[[FIRST:[0-9]+]], %[[GROUP:[0-9]+]], %[[SEQ:[0-9]+]]]
// COPY:         nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}} box[%c64_i32{{[^,]*}}, %c0_i32{{[^,]*}}, %[[FIRST]], %[[GROUP]], %[[SEQ]]]
// O leaves by panels of eight rows of eight heads, those of a warpgroup.
// COPY:         nvvm.cp.async.bulk.tensor.global.shared.cta {{.+}} box[%c0_i32{{[^,]*}}, %c0_i32{{[^,]*}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}]

// CHECK-LABEL: dash.role "compute
// The sink is that of the row's head: eight times the item's, and the row's last three bits.
// CHECK:         %[[MINE:.+]] = arith.andi %{{.+}}, %c7_i32_{{.+}}
// CHECK-NEXT:    %[[HEAD:.+]] = arith.addi %{{.+}}, %[[MINE]]
// CHECK:         arith.extsi %[[HEAD]]
// CHECK:         llvm.load {{.+}} -> f32
// The mask's edge is where it is for the row of the sequence: the tile's row over eight.
// CHECK:         scf.if
// CHECK:           arith.shrui %{{.+}}, %c3_i32
// CHECK:           arith.select
// The LSE of a row goes to its head, too.
// CHECK:         llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// CHECK:         arith.shrui %{{.+}}, %c3_i32
// CHECK:         arith.andi %{{.+}}, %c7_i32
// CHECK:         llvm.store %{{.+}} : f32, !llvm.ptr<1>
