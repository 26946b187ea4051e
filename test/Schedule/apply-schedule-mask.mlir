// A kind whose formulas are not for the mask writes a table, and says so; a window has formulas in most kinds.
// RUN: dash-opt %dash_examples/bwd-blocks.mlir --dash-tile='q=256 kv=256' --dash-apply-schedule='kind=descending workers=2 sizes=q:1024' --dash-verify-schedule --remarks-filter='dash-apply.*' 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=2 sizes=q:1024' --dash-verify-schedule --remarks-filter='dash-apply.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile --dash-apply-schedule='kind=shift workers=2 sizes=q:1024' --dash-verify-schedule --remarks-filter='dash-apply.*' 2>&1 | FileCheck %s --check-prefix=FORMULAS

// BLOCKS: remark: [Missed] table | Category:dash-apply-schedule | Reason="schedule 'descending' has no formulas for mask 'causal, blocks 256 x 256': the order is a table, for these sizes only"
// BLOCKS: order(#dash.table<items = dense<{{.+}}> : tensor<4x6xi32>, visits = dense<
// BLOCKS-SAME{LITERAL}: [[0, 3, 0], [0, 2, 0], [0, 1, 0], [0, 0, 0], [0, 3, 1], [0, 1, 1], [0, 2, 1], [0, 3, 2]]> : tensor<8x3xi32>>)
// BLOCKS: dash.items order(@attention_bwd_order)
// BLOCKS: mask(<causal, blocks = #dash.blocks<

// WINDOW: remark: [Missed] table | Category:dash-apply-schedule | Reason="schedule 'symmetric-shift' has no formulas for mask 'window [512, 0]': the order is a table, for these sizes only"

// FORMULAS-NOT: Missed
// FORMULAS: order(#dash.formulas<
