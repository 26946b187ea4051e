// RUN: sed 's/ scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300+40,kv:300+70,heads:2,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-sequences --dash-lower-order --dash-lower-prepare --dash-finish-program -o %t.mlir
// RUN: dash-opt %t.mlir --dash-convert-to-nvvm --cse | FileCheck %s

// A consumer reads the end of its sequence's keys once an item. Steps compare with it, and read their own header only.
// CHECK-LABEL: dash.role "compute0" consumer
// CHECK:         scf.for
// CHECK:           llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xi32>
// CHECK:           %[[BYTES:.+]] = arith.muli %{{.+}}, %c48_i64 : i64
// CHECK-NEXT:      %[[RECORD:.+]] = llvm.getelementptr %{{.+}}[%[[BYTES]]]
// CHECK-NEXT:      %[[OF_KEYS:.+]] = llvm.getelementptr %[[RECORD]][%c48_i64]
// CHECK-NEXT:      %[[KEYS:.+]] = llvm.load %[[OF_KEYS]] {{.*}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:           %[[ROWS:.+]] = llvm.extractelement %[[KEYS]][%c1_i32
// CHECK:           arith.subi %[[ROWS]], %{{.+}} : i32
// CHECK:           scf.for
// CHECK-NOT:         !llvm.ptr<1>
// CHECK:             arith.subi %[[ROWS]], %{{.+}} : i32
// Behind the walk: where its rows begin and end. A row of the LSE behind the end is another sequence's, or of none.
// CHECK:           llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// CHECK:           %[[OF_QUERIES:.+]] = llvm.getelementptr %[[RECORD]][%c32_i64
// CHECK:           %[[QUERIES:.+]] = llvm.load %[[OF_QUERIES]] {{.*}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-DAG:       %[[END:.+]] = llvm.extractelement %[[QUERIES]][%c0_i32
// CHECK-DAG:       %[[OWN:.+]] = llvm.extractelement %[[QUERIES]][%c1_i32
// CHECK:           arith.subi %[[END]], %[[OWN]] : i32
// CHECK:           arith.cmpi slt, %{{.+}}, %[[OWN]] : i32
// CHECK:           llvm.store {{.*}} : f32, !llvm.ptr<1>
// O leaves by the copy engine, whose dimension of rows ends where the sequence does.
// CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta
