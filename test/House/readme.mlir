// What README.md shows.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift workers=8 sizes=q:1024,kv:1024,heads:4' \
// RUN:   --dash-verify-schedule --dash-report-schedule='format=table max-steps=6' -o scheduled.mlir \
// RUN:   | FileCheck %s

// CHECK:      schedule symmetric-shift of @attention_bwd
// CHECK:      makespan {{.*}}, lower bound
