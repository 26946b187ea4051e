// RUN: dash-opt %s --dash-keep-apart=gradients=parts -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=unordered apart=all' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNORDERED
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=shift apart=parts' -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-to-ptx='kind=shift apart=some' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORD

// UNORDERED: bwd-full.mlir:{{.+}} error: adds in no order, so a contribution has no turn to be kept by; use a schedule whose kind is not 'unordered'
// ONE: bwd-full.mlir:{{.+}} error: adds nothing of parts, whose contributions are to be kept apart: take more parts than one, or gradients=all
// WORD: Cannot find option named 'some'!

!DQ = !dash.channel<tensor<64x128xf32>>
!S = memref<?x?x?x128xf32>

func.func @contributions_need_turns(%sums: !S, %c0: index) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      // expected-error @below {{adds in no order, so a contribution has no turn to be kept by; use a schedule whose kind is not 'unordered'}}
      dash.reduce %t into %sums[%c0, %c0, %c0] : tensor<64x128xf32> into !S
      dash.release %dq_tiles[%c0] : !DQ
    }
  }
  return
}

// -----

func.func @one_part(%n: index) {
  dash.workers {
    // expected-error @below {{adds nothing of parts, whose contributions are to be kept apart: take more parts than one, or gradients=all}}
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}

// -----

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' with a reducer; run --dash-assign-roles first}}
module {
}
