// The programs that every page talks about read and print in every form.
// RUN: dash-opt %dash_examples/bwd-full.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: dash-opt %dash_examples/bwd-causal.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,CAUSAL
// RUN: dash-opt --emit-bytecode %dash_examples/bwd-causal.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,CAUSAL
// RUN: dash-opt %dash_examples/bwd-window.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,WINDOW
// RUN: dash-opt %dash_examples/bwd-blocks.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,BLOCKS
// RUN: dash-opt --emit-bytecode %dash_examples/bwd-blocks.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,BLOCKS
// RUN: dash-opt %dash_examples/bwd-union.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,UNION
// RUN: dash-opt --emit-bytecode %dash_examples/bwd-union.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,UNION

// CHECK-LABEL: func.func @attention_bwd(
// CHECK:         dash.attention_bwd
// CHECK-NEXT:      ins({{.+}}, o = %{{.+}} : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-NEXT:      outs(
// FULL-NEXT:       mask(<full>) level(run) scale(%{{.+}})
// CAUSAL-NEXT:     mask(<causal>) level(run) scale(%{{.+}})
// WINDOW-NEXT:     mask(<window = [512, 0]>) level(run) scale(%{{.+}})
// BLOCKS-NEXT:     mask(<causal, blocks = #dash.blocks<q = 256, kv = 256, bits = dense<{{.+}}> : tensor<4x4xi1>>>) level(run) scale(%{{.+}})
// UNION-NEXT:      mask(<causal, union = #dash.union<columns = 4, window = [512, -1]>>) level(run) scale(%{{.+}})
