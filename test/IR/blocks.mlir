// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// RUN: dash-opt --mlir-elide-elementsattrs-if-larger=2 %s | dash-opt | FileCheck %s --check-prefix=ELIDED
// RUN: dash-opt --mlir-elide-elementsattrs-if-larger=2 %s | dash-opt --emit-bytecode | dash-opt | FileCheck %s --check-prefix=ELIDED

// Bits are a matrix of kv blocks by q blocks. What is elided still reads.
// CHECK-LABEL: func.func private @blocks
// CHECK-SAME{LITERAL}: a = #dash.blocks<q = 128, kv = 64, bits = dense<[[true, false, true], [true, true, false]]> : tensor<2x3xi1>>
// CHECK-SAME: b = #dash.blocks<q = 16, kv = 4096, bits = dense<false> : tensor<1x1xi1>>
// ELIDED-LABEL: func.func private @blocks
// ELIDED-SAME: bits = dense_resource<__elided__> : tensor<2x3xi1>
func.func private @blocks() attributes
  {a = #dash.blocks<q = 128, kv = 64, bits = dense<[[1, 0, 1], [1, 1, 0]]> : tensor<2x3xi1>>,
   b = #dash.blocks<q = 16, kv = 4096, bits = dense<0> : tensor<1x1xi1>>}

// The problem of a schedule has its bitmap in every form.
// CHECK-LABEL: func.func private @in_a_problem
// CHECK-SAME{LITERAL}: mask = <causal, blocks = #dash.blocks<q = 128, kv = 256, bits = dense<[[true, false]]> : tensor<1x2xi1>>>, heads = 16, kv_heads = 4, head_dim = 192, head_dim_v = 128, sequences = <2 x [256, 100], [10, 250]>
func.func private @in_a_problem() attributes
  {a = #dash.problem<tiles = <q = 64, kv = 128>,
                     mask = <causal, blocks = #dash.blocks<q = 128, kv = 256, bits = dense<[[1, 0]]> : tensor<1x2xi1>>>,
                     heads = 16, kv_heads = 4, head_dim = 192, head_dim_v = 128, sequences = <2 x [256, 100], [10, 250]>>}
