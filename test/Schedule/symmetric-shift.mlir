// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=symmetric-shift workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// A worker has a kv tile and its mirror image: all finish in the same step. No q tile appears twice in one row.
