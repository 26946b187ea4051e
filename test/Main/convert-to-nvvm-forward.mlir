// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program -o %t.mlir
// RUN: dash-opt %t.mlir --dash-convert-to-nvvm | FileCheck %s
// RUN: sed -E 's/(dash.exponential .*) scale\(%\w+\)/\1/' %t.mlir | not dash-opt --dash-convert-to-nvvm -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: sed -E '0,/^( *)dash.take_tensor_core/s//\1%%memory = memref.alloc() : memref<64xf32>\n\1dash.take_tensor_core/' %t.mlir | not dash-opt --dash-convert-to-nvvm -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEMORY

// SCALE: error: has another scale than the logarithm before: a kernel has one for all, a value in front of its workers
// What is not for the machine ends the conversion, where much of it has been done.
// MEMORY: error: failed to legalize operation 'memref.alloc'

// The factor on scores is NaN unless it is above 0, where hidden scores would not be the lowest.
// CHECK-LABEL: dash.role "compute0" consumer
// CHECK:         %[[SCALED:.+]] = arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK:         arith.cmpf ogt, %[[SCALED]], %{{.+}} : f32
// CHECK:         arith.constant 0x7FC00000 : f32
// CHECK:         %[[FACTOR:.+]] = arith.select
// The largest score of a row, of a thread and of the row's four; then its product, beside the slack.
// CHECK:         arith.maxnumf
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         arith.maxnumf
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         %[[MOST:.+]] = arith.mulf %{{.+}}, %[[FACTOR]]
// CHECK:         %[[LIMIT:.+]] = arith.addf %[[BEFORE:.+]], %{{.+}} : f32
// CHECK:         %[[MOVES:.+]] = arith.cmpf ogt, %[[MOST]], %[[LIMIT]]
// CHECK:         %[[AFTER:.+]] = arith.select %[[MOVES]], %[[MOST]], %[[BEFORE]]
// CHECK:         arith.select %[[MOVES]]
// In the loop, sums are scaled only where a row of the warp has another reference.
// CHECK:         scf.for
// CHECK:           %[[VOTE:.+]] = nvvm.vote.sync ballot
// CHECK:           arith.cmpi ne, %[[VOTE]]
// CHECK:           scf.if
// The wait for the output's product is behind the references, and ptxas may not move it in front.
// CHECK:           arith.maxnumf
// CHECK:           llvm.inline_asm {{.*}}setp.eq.b32 never, $0, -1;\0A@!never bra go;\0Atrap;\0Ago:
// CHECK-NEXT:      llvm.inline_asm {{.*}}"wgmma.wait_group.sync.aligned 0;"
// CHECK:           llvm.nvvm.ex2.approx
// CHECK:         arith.divf
// CHECK:         llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
