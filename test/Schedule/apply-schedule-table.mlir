// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=descending form=table workers=2 sizes=q:256' --dash-verify-schedule | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=descending form=table workers=2 sizes=q:2560' --mlir-elide-elementsattrs-if-larger=8 | FileCheck %s --check-prefix=ELIDED

// Rows of items are (worker, sequence, kv head, part, kv tile, part turn), rows of visits (head, q tile, turn).
// CHECK:      order(#dash.table<
// CHECK-SAME:     items = dense<{{\[}}[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>
// CHECK-SAME:     visits = dense<{{\[}}[0, 1, 0], [0, 0, 0], [0, 1, 1]]> : tensor<3x3xi32>

// ELIDED: order(#dash.table<items = dense_resource<__elided__> : tensor<20x6xi32>, visits = dense_resource<__elided__> : tensor<420x3xi32>>)
