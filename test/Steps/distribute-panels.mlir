// Slots have the widest panels that their columns fill, and at whose edges the columns begin that a warpgroup reads.
// RUN: sed s/x128xbf16/x96xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:512' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-hold-factors --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift sizes=q:512' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-outline-program --dash-peel-walks --dash-read-order --dash-distribute-tiles | FileCheck %s --check-prefix=WHOLE --implicit-check-not='#dash.swizzled<'

// Warpgroups read 48 columns of K each for dQ, so it has panels of 16. dS is 64 columns.
// CHECK-DAG: !swizzled32_128x96xbf16 = tensor<128x96xbf16, #dash.swizzled<32>>
// CHECK-DAG: !swizzled64_64x96xbf16 = tensor<64x96xbf16, #dash.swizzled<64>>
// CHECK-DAG: !swizzled64_128x96xbf16 = tensor<128x96xbf16, #dash.swizzled<64>>
// CHECK-DAG: !swizzled_128x64xbf16 = tensor<128x64xbf16, #dash.swizzled>
// CHECK:     dash.wait %k_tiles{{.*}} !swizzled32_128x96xbf16
// CHECK:     dash.wait %v_tiles{{.*}} !swizzled64_128x96xbf16

// WHOLE-DAG: !swizzled_128x128xbf16 = tensor<128x128xbf16, #dash.swizzled>
// WHOLE-DAG: !swizzled_64x128xbf16 = tensor<64x128xbf16, #dash.swizzled>
