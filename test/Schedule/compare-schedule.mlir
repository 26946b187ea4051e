// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='workers=4 sizes=q:1024' --dash-compare -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='workers=4 sizes=q:1024' --dash-compare='format=svg output=%t.svg' -o /dev/null
// RUN: FileCheck %s --check-prefix=PICTURE < %t.svg
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='workers=4 level=batch sizes=q:1024' --dash-compare -o /dev/null | FileCheck %s --check-prefix=BATCH --implicit-check-not=unordered

// All kinds on one problem, shortest first.
// CHECK-LABEL: kinds of order for @attention_bwd: causal mask, q x kv rows 1024 x 1024, 1 heads over 1 kv heads, 4 workers, level run
// CHECK-NEXT:  kind              makespan  of bound    turns  buffers     idle  dQ in flight  resident  form
// CHECK-NEXT:  symmetric-shift       29.8     1.047    0.0 %    0.0 %    0.0 %        0.5 MB         4  formulas
// CHECK-NEXT:  synthesized           29.8     1.047    0.0 %    0.0 %    0.0 %        0.5 MB         4  formulas
// CHECK-NEXT:  descending            34.3     1.205    7.8 %    3.5 %    0.9 %        0.5 MB         4  formulas
// CHECK-NEXT:  shift                 35.4     1.245    0.0 %    0.0 %   15.9 %        0.5 MB         4  formulas
// CHECK-NEXT:  unordered             35.4     1.245    0.0 %    0.0 %   15.9 %        0.5 MB         1  formulas
// CHECK-NEXT:  ascending             40.5     1.421   16.0 %    3.3 %    6.2 %        0.5 MB         4  formulas

// The pictures of all of them in one file.
// PICTURE:     <svg
// PICTURE:     >symmetric-shift of @attention_bwd<
// PICTURE:     >ascending of @attention_bwd<

// An order that keeps no level is no alternative to one that does.
// BATCH: level batch
