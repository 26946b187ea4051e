// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @problem
// CHECK-SAME: #dash.problem<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4, head_dim = 192, head_dim_v = 128, sequences = <4 x [3000, 3000]>>
func.func private @problem() attributes
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4,
                     head_dim = 192, head_dim_v = 128, sequences = <4 x [3000, 3000]>>}

// CHECK-LABEL: func.func private @cut
// CHECK-SAME: sequences = <[1, 3000]>, own = q, cut = 1024>
func.func private @cut() attributes
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <causal, union = #dash.union<columns = 4, window = [512, -1]>>,
                     heads = 16, kv_heads = 4, head_dim = 192, head_dim_v = 128, sequences = <[1, 3000]>, own = q, cut = 1024>}

// CHECK-LABEL: func.func private @fold
// CHECK-SAME: #dash.problem<tiles = <q = 8, kv = 128, fold = 16>
// CHECK-SAME: own = q, cut = 1024>
func.func private @fold() attributes
  {a = #dash.problem<tiles = <q = 8, kv = 128, fold = 16>, mask = <causal>,
                     heads = 64, kv_heads = 4, head_dim = 192, head_dim_v = 128, sequences = <[1, 3000]>, own = q, cut = 1024>}
