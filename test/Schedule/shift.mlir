// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:512,kv:512,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Columns are workers, rows are steps. No q tile of a head appears twice in one row.
