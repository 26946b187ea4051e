// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @levels
// CHECK-SAME: a = #dash.level<run>, b = #dash.level<batch>, c = #dash.level<machine>, d = #dash.level<world>, e = #dash.level<row>
func.func private @levels() attributes {a = #dash.level<run>, b = #dash.level<batch>,
                                        c = #dash.level<machine>, d = #dash.level<world>,
                                        e = #dash.level<row>}
