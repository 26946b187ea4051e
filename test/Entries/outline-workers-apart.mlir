// A program of two main kernels. The one that adds nothing is called after its result, takes no counters, and is launched plainly.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift split=dv output=%t' -o /dev/null
// RUN: python3 %dash_src/tools/scripts/list_entries.py %t.json | FileCheck %s
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift split=dv trace=all' -o /dev/null 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: bwd-causal.mlir:[[#]]:3: error: is the second main kernel of its program, and a trace is of one: trace a program that is tiled with split=none
// CHECK:      attention_bwd_order
// CHECK-NEXT: attention_bwd_prepare
// CHECK-NEXT: attention_bwd_main_dv always workers 384 132608 7{{$}}
// CHECK-NEXT: attention_bwd_main always workers 384 231424 10, cooperative
// CHECK-NEXT: attention_bwd_convert
