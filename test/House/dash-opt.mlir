// What users of mlir-opt expect of dash-opt. Each line is one of their habits.

// Pipelines, and the IR between their passes:
// RUN: dash-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --mlir-print-ir-after-all 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AFTER
// Time of each pass, and statistics (a heading only: Debian's LLVM is built without counters):
// RUN: dash-opt %s --cse --mlir-timing -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: dash-opt %s --cse --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS
// A reproducer, and a run from it:
// RUN: dash-opt %s --pass-pipeline='builtin.module(cse)' --mlir-generate-reproducer=%t.mlir -o /dev/null
// RUN: FileCheck %s --check-prefix=REPRODUCER --input-file=%t.mlir
// RUN: dash-opt %t.mlir --run-reproducer | FileCheck %s
// Bytecode and back:
// RUN: dash-opt %s --emit-bytecode -o %t.mlirbc
// RUN: dash-opt %t.mlirbc | FileCheck %s
// Optimisation remarks as a setting, editors' positions, and a name for the version:
// RUN: dash-opt %s --remarks-filter='dash.*' | FileCheck %s
// RUN: dash-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATION
// Help about dash and MLIR; what LLVM adds is hidden, and works:
// RUN: dash-opt --help | FileCheck %s --check-prefix=HELP --implicit-check-not='{{ --(nvptx|aarch64|amdgpu|x86|wasm|riscv|polly|debugify|instcombine|lto)-}}'
// RUN: dash-opt --help-hidden | FileCheck %s --check-prefix=HIDDEN
// RUN: dash-opt %s --aarch64-use-aa | FileCheck %s
// RUN: dash-opt --version | FileCheck %s --check-prefix=VERSION

// CHECK-LABEL: func.func @host
// CHECK:         arith.addi
// AFTER:       IR Dump After Canonicalizer
// TIMING:      Execution time report
// STATISTICS:  Pass statistics report
// REPRODUCER:  mlir_reproducer
// HELP-DAG:      --allow-unregistered-dialect
// HELP-DAG:      --mlir-print-ir-after-all
// HELP-DAG:      --dash-plan-buffers
// HELP-DAG:        --slots=
// HELP-DAG:      --dash-to-ptx
// HELP-DAG:        --kind=
// HIDDEN-DAG:    --aarch64-use-aa
// HIDDEN-DAG:    --dash-to-ptx
// LOCATION:    loc("{{.*}}dash-opt.mlir":[[# @LINE + 2]]
// VERSION:     LLVM 22
func.func @host(%a: index, %b: index) -> index {
  %sum = arith.addi %a, %b : index
  return %sum : index
}
