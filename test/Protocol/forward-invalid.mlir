// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program -o %t.mlir
// RUN: dash-opt %t.mlir --dash-verify-waits --dash-verify-protocol -o /dev/null
// RUN: sed -E 's/(dash.store_row %\w+, %\w+\[[^,]+), [^,]+, ([^]]+)\]/\1, \2, \2]/' %t.mlir | not dash-opt --dash-verify-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: sed -E 's/(dash.hide %\w+ band\((%\w+#)0, )%\w+#1\)/\1\20)/' %t.mlir | not dash-opt --dash-verify-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=TOLD
// RUN: sed '0,/dash.mbarrier_arrive %k_tiles empty/{/dash.mbarrier_arrive %k_tiles empty/d}' %t.mlir | not dash-opt --dash-verify-waits --dash-verify-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/ scale(%%scale)/& sequences(<[300, 300], [40, 70]>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=heads:2,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program -o %t.list.mlir
// RUN: dash-opt %t.list.mlir --dash-verify-waits --dash-verify-protocol -o /dev/null
// RUN: sed -E 's/(dash.hide .*) of\((%\w+)#1\)/\1 of(\2#2)/' %t.list.mlir | not dash-opt --dash-verify-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// RUN: sed -E 's/(dash.store_row %\w+, %\w+\[)[^,]+, ([^,]+), /\1\2, \2, /' %t.list.mlir | not dash-opt --dash-verify-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER

// The proof of the protocol knows the rows of what a forward's threads hold.
// ROW: error: hands what is of sequence 0, head {{[0-9]+}}, tile {{[0-9]+}} to sequence 0, head {{[0-9]+}}, tile {{[0-9]+}}
// TOLD: error: is told sequence 0, head 0, tile {{[0-9]+}}, and has rows of sequence 0, head 0, tile {{[0-9]+}}
// SEQUENCE: error: is told sequence 0, head 0, tile 0, and has rows of sequence 1, head 0, tile 0
// OTHER: error: hands what is of sequence 1, head 0, tile {{[0-9]+}} to sequence 0, head 0, tile {{[0-9]+}}
// KEPT: error: waits for slots of channel 'k' to be full 1 times more than it gives them on in each turn
