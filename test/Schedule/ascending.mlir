// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Each kv tile starts on its diagonal; items are dealt in turn.
