// Tiles of dS are copied as they lie in shared memory, 8192 bytes at once. A q tile of 128 rows has two.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 256 %dash_examples/bwd-causal.mlir ds > %t/kv.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-causal.mlir ds > %t/q.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-full.mlir ds > %t/full.mlir
// RUN: dash-opt %t/kv.mlir --dash-to-ptx=kind=ascending -o /dev/null --mlir-print-ir-after=dash-convert-to-nvvm 2>&1 | FileCheck %s --check-prefix=KEEPS
// RUN: dash-opt %t/q.mlir --dash-to-ptx=kind=longest-first -o /dev/null --mlir-print-ir-after=dash-convert-to-nvvm 2>&1 | FileCheck %s --check-prefix=READS
// RUN: dash-opt %t/full.mlir --dash-to-ptx=kind=longest-first -o /dev/null --mlir-print-ir-after=dash-convert-to-nvvm 2>&1 | FileCheck %s --check-prefix=FULL

// The first tile of the memory is zeros: threads of one block write 16 bytes each, twice.
// KEEPS-LABEL: llvm.func @attention_bwd_prepare(
// KEEPS-SAME:      %[[DS:[^:]+]]: !llvm.ptr<1> {dash.parameter = "ds"})
// KEEPS:         %[[TILE:.+]] = llvm.getelementptr %[[DS]][%{{.+}}]
// KEEPS:         llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// KEEPS:         %[[SECOND:.+]] = llvm.getelementptr %[[TILE]][%c4096_i64{{[^,]*}}]
// KEEPS:         llvm.store %{{.+}}, %[[SECOND]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// The number of a tile: sequences, heads, kv tiles, rows of 6 q tiles, and the one of zeros.
// KEEPS-LABEL: llvm.func @attention_bwd_main(
// KEEPS-SAME:      %[[DS:[^:]+]]: !llvm.ptr<1> {dash.parameter = "ds"}, %[[STRIDE:[^:]+]]: i64 {dash.parameter = "ds.stride.batch"}
// KEEPS:       dash.role "keep"
// KEEPS:         %[[UP:.+]] = arith.addi %{{.+}}, %c383_i32
// KEEPS:         %[[LINES:.+]] = arith.divui %[[UP]], %c384_i32
// KEEPS:         %[[LINE:.+]] = arith.muli %[[LINES]], %c6_i32
// KEEPS:         arith.muli %{{.+}}, %[[LINE]]
// KEEPS:         %[[AT:.+]] = arith.addi %{{.+}}, %c1_i32
// KEEPS:         %[[WIDE:.+]] = arith.extsi %[[AT]]
// KEEPS-NEXT:    arith.muli %[[WIDE]], %[[STRIDE]]
// KEEPS:         nvvm.cp.async.bulk.global.shared.cta %{{.+}}, %{{.+}}, %c8192_i32
// KEEPS-NEXT:    nvvm.cp.async.bulk.commit.group
// KEEPS-NEXT:    nvvm.cp.async.bulk.wait_group 0 {read}
// All are in memory before the kernel ends.
// KEEPS:         nvvm.cp.async.bulk.wait_group 0{{$}}
// KEEPS:       dash.role "load-kv"

// What the mask hides of 64 rows of q is copied from the tile of zeros.
// READS-LABEL: llvm.func @attention_bwd_prepare(
// READS-NOT:     dash.parameter = "ds"
// READS-LABEL: llvm.func @attention_bwd_main(
// READS:       dash.role "load-kv"
// READS:         nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16384_i32
// READS:         %[[TURNED:.+]] = arith.muli %{{.+}}, %c-64_i32{{.*}}
// READS-NEXT:    arith.addi %{{.+}}, %[[TURNED]]
// READS:         %[[LAST:.+]] = arith.addi %[[LEAD:.+]], %c63_i32_
// READS:         %[[HIDDEN:.+]] = arith.cmpi slt, %[[LAST]], %c0_i32
// READS:         arith.select %[[HIDDEN]], %c0_i32{{[^,]*}}, %[[FIRST:.+]] : i32
// READS:         nvvm.cp.async.bulk.shared.cluster.global {{.+}}, %c8192_i32
// READS:         %[[NEXT:.+]] = arith.addi %[[FIRST]], %c1_i32
// READS:         %[[LAST2:.+]] = arith.addi %[[LEAD]], %c127_i32
// READS:         arith.select %{{.+}}, %c0_i32{{[^,]*}}, %[[NEXT]] : i32
// READS:         nvvm.cp.async.bulk.shared.cluster.global {{.+}}, %c8192_i32
// READS:       dash.role "load-q"

// Nothing is hidden by a full mask.
// FULL:        dash.role "load-kv"
// FULL:          nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16384_i32
// FULL-NOT:      arith.select
// FULL:          nvvm.cp.async.bulk.shared.cluster.global
// FULL-NOT:      arith.select
// FULL:          nvvm.cp.async.bulk.shared.cluster.global
// REQUIRES: python, host-supports-nvptx
