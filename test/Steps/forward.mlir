// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles -o %t.mlir
// RUN: FileCheck %s --check-prefix=LAYOUTS --input-file=%t.mlir
// RUN: dash-opt %t.mlir --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program --dash-verify-waits --dash-verify-protocol | FileCheck %s --check-prefix=WAITS

// A thread has numbers of the rows that it has of an accumulator.
// LAYOUTS-DAG: !acc_128x128_rows2 = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
// LAYOUTS-DAG: !per_row_128_rows2 = tensor<128xf32, #dash.fragment<per_row, rows by 2>>
// LAYOUTS-DAG: !per_row_128x4_rows2 = tensor<128x4xf32, #dash.fragment<per_row, rows by 2>>
// LAYOUTS-DAG: !operand_128x128xbf16_rows2 = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
// LAYOUTS:     scf.for {{.*}} -> (!acc_128x128_rows2, !per_row_128_rows2, !per_row_128x4_rows2, !per_row_128_rows2, !operand_128x128xbf16_rows2)
// LAYOUTS:       dash.hide %{{.+}} q_rows : !acc_128x128_rows2
// LAYOUTS:       dash.running_max {{.*}} : !acc_128x128_rows2, !per_row_128_rows2
// LAYOUTS:       dash.running_sum {{.*}} : !acc_128x128_rows2, !per_row_128x4_rows2, !per_row_128_rows2

// S is waited for with O in flight, and K goes back then. V goes back when O is complete, before P is
// rounded over the factor that O has read. O leaves through slots of its own.
// WAITS-LABEL: dash.role "compute0" consumer warps(4)
// WAITS:       scf.for
// WAITS:       scf.for
// WAITS-NEXT:    dash.take_tensor_core
// WAITS:         dash.mbarrier_wait %k_tiles full
// WAITS:         %[[S:.+]] = dash.matmul {{.*}} async
// WAITS-NEXT:    %[[SCALED:.+]] = dash.rescale
// WAITS:         dash.mbarrier_wait %v_tiles full
// WAITS:         %[[O:.+]] = dash.matmul %[[P:.+]], %{{.+}} accumulate(%[[SCALED]]) async
// WAITS-NEXT:    dash.give_tensor_core
// WAITS-NEXT:    %[[DONE:.+]] = dash.wgmma_wait %[[S]] pending(1)
// WAITS-NEXT:    dash.hide %[[DONE]]
// WAITS-NEXT:    dash.mbarrier_arrive %k_tiles empty
// WAITS-NEXT:    dash.running_max
// WAITS-NEXT:    dash.wgmma_wait %[[O]] pending(0) pinned factors(%[[P]]
// WAITS-NEXT:    dash.mbarrier_arrive %v_tiles empty
// WAITS-NEXT:    dash.exponential
// WAITS-NEXT:    dash.running_sum
// WAITS-NEXT:    dash.round
// WAITS:       dash.mbarrier_arrive %q_tiles empty
// WAITS:       dash.finish
// WAITS:       dash.store_row
// WAITS:       dash.mbarrier_wait %out_tiles empty[{{.*}}] {{.*}} borrows
// WAITS:       dash.copy_out %out_tiles
