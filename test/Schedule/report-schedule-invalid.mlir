// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='sizes=q:262144' -o %t.mlir
// RUN: not dash-opt %t.mlir --dash-report-schedule='format=svg output=%t.svg' -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not ls %t.svg
// RUN: not dash-opt %t.mlir --dash-report-schedule='max-steps=2 output=/dev/full' -o /dev/null 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not dash-opt %t.mlir --dash-report-schedule='format=trace output=%t.json' -o /dev/null 2>&1 | FileCheck %s --check-prefix=TRACE
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='sizes=q:128 compute=1e13' -o %t.slow.mlir
// RUN: not dash-opt %t.slow.mlir --dash-report-schedule='format=trace output=%t.json' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: not ls %t.json
// RUN: not dash-opt %t.mlir --dash-report-schedule='output=%t.none/report.txt' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not dash-opt %t.mlir --dash-report-schedule='max-steps=-1' -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not dash-opt %t.mlir --dash-report-schedule='format=pdf' -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: dash-opt %s --dash-report-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOTHING

// FULL: error: cannot write the report to '/dev/full': '/dev/full': No space left on device
// LARGE: error: a picture shows at most 4194304 tasks, got 8388608; report fewer heads or rows, or use format=json
// TRACE: mlir:{{[0-9]+:[0-9]+}}: error: a trace shows at most 2097152 tasks, got 8388608; report fewer heads or rows, or use format=json
// SLOW: mlir:{{[0-9]+:[0-9]+}}: error: a trace shows at most 1e+12 microseconds, got a makespan of 20000000000007.23; state costs in microseconds
// UNWRITABLE: error: cannot write the report to '{{.+}}.none/report.txt': {{.*}}No such file or directory
// NEGATIVE: error: max-steps and max-workers must be at least 0, got -1 and 12
// FORMAT: for the --format option: expected one of table, json, svg, trace, found 'pdf'
// NOTHING: warning: no scheduled 'dash.items' to report; run --dash-tile and --dash-apply-schedule first
module {}
