// A warpgroup that left out as many steps as a channel has slots would wait for ever: it holds the slot of its last product.
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:2' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-skip-hidden-steps -o %t.mlir
// DEFINE: %{rest} = --dash-read-order --dash-distribute-tiles --dash-sink-waits --dash-hoist-releases --dash-hoist-stores --dash-begin-items --dash-insert-waits --dash-split-warpgroups --dash-outline-workers --dash-lower-prepare --dash-finish-program --dash-verify-waits --dash-verify-protocol -o /dev/null
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: dash-opt %{rest} %t.mlir
// RUN: sed 's/hidden(1)/hidden(2)/' %t.mlir | not dash-opt %{rest} 2>&1 | FileCheck %s --check-prefix=TWO
// CHECK: dash.channel "v" depth(2)
// CHECK: hidden(1)
// TWO: error: roles wait for ever, on a list of 1 items of 3 steps
// TWO: note: role 'load-kv', waits for use 2 of channel 'v' to be empty
// TWO: note: role 'compute0', waits for use 2 of channel 'v' to be full
// TWO: note: role 'compute1', waits for the tensor core
