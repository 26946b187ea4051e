// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @tiles
// CHECK-SAME: any_order = #dash.tiles<q = 256, kv = 16>, usual = #dash.tiles<q = 64, kv = 128>
func.func private @tiles() attributes {usual = #dash.tiles<q = 64, kv = 128>,
                                       any_order = #dash.tiles<kv = 16, q = 256>}

// CHECK-LABEL: func.func private @folds
// CHECK-SAME: few = #dash.tiles<q = 2, kv = 128, fold = 64>, none = #dash.tiles<q = 64, kv = 128>, wide = #dash.tiles<q = 48, kv = 128, fold = 4>
func.func private @folds() attributes {few = #dash.tiles<q = 2, kv = 128, fold = 64>,
                                       none = #dash.tiles<q = 64, kv = 128, fold = 1>,
                                       wide = #dash.tiles<q = 48, kv = 128, fold = 4>}
