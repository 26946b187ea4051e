// What README.md shows.
// REQUIRES: host-supports-nvptx
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=attention' -o /dev/null && \
// RUN:   dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift workers=8 sizes=q:1024,kv:1024,heads:4' \
// RUN:   --dash-verify-schedule --dash-report-schedule='format=table max-steps=3' -o scheduled.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=attention.json

// CHECK:      schedule symmetric-shift of @attention_bwd
// CHECK:      makespan {{.*}}, lower bound

// MANIFEST: "name": "attention_bwd_main"
