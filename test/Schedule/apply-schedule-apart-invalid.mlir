// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=unordered apart=all' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNORDERED
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=shift apart=parts' -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=shift apart=some' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORD

// UNORDERED: bwd-full.mlir:{{.+}} error: kind 'unordered' adds in no order, so a contribution has no turn to be kept apart by: take another kind, or apart=none
// ONE: bwd-full.mlir:{{.+}} error: apart=parts keeps what parts add to dK and dV, and the order is in one part: take more parts, or apart=all
// WORD: for the --apart option: expected one of none, parts, all, auto, found 'some'
