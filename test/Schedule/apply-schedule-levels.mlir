// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift level=machine for-workers=2 workers=4 sizes=q:512,heads:2' --dash-report-schedule -o %t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=IR < %t.mlir
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift level=machine for-workers=2 workers=2 sizes=q:512,heads:2' -o %t.2.mlir
// RUN: grep -E 'visit|turn' %t.mlir > %t.formulas
// RUN: grep -E 'visit|turn' %t.2.mlir | diff %t.formulas -

// An order of level machine is made for two workers, in waves of two; four run two heads side by side.
// CHECK-LABEL: schedule shift
// CHECK:       order level machine, made for 2 workers
// CHECK:       step | w0 w1 w2 w3
// CHECK-NEXT:     0 | h0 0,0 h0 1,2 h1 0,0 h1 1,2
// CHECK-NEXT:     1 | h0 0,1 h0 1,3 h1 0,1 h1 1,3
// CHECK-NEXT:     2 | h0 0,2 h0 1,0 h1 0,2 h1 1,0
// CHECK-NEXT:     3 | h0 0,3 h0 1,1 h1 0,3 h1 1,1
// CHECK-NEXT:     4 | h0 2,0 h0 3,2 h1 2,0 h1 3,2

// The problem's level is at least what was asked for.
// IR: dash.schedule @attention_bwd_order kind("shift") level(machine) parts(1) workers(4) width(2)
// IR: dash.items order(@attention_bwd_order)
// IR-NEXT: level(machine)
