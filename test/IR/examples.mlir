// The two programs that every page talks about read and print in every form.
// RUN: dash-opt %dash_examples/bwd-full.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: dash-opt %dash_examples/bwd-causal.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,CAUSAL
// RUN: dash-opt --emit-bytecode %dash_examples/bwd-causal.mlir | dash-opt | FileCheck %s --check-prefixes=CHECK,CAUSAL

// CHECK-LABEL: func.func @attention_bwd(
// CHECK:         dash.attention_bwd
// CHECK-NEXT:      ins({{.+}}, o = %{{.+}} : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-NEXT:      outs(
// FULL-NEXT:       mask(<full>) level(run) scale(%{{.+}})
// CAUSAL-NEXT:     mask(<causal>) level(run) scale(%{{.+}})
