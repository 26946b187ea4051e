// RUN: split-file %s %t
// RUN: dash-opt %t/none.mlir --dash-emit-promela -verify-diagnostics -o /dev/null
// RUN: dash-opt %t/turns.mlir --dash-emit-promela -verify-diagnostics -o /dev/null
// RUN: dash-opt %t/apart.mlir --dash-emit-promela -verify-diagnostics -o /dev/null
// RUN: not dash-opt %S/emit-promela.mlir --dash-emit-promela=output=%t/none/model.pml -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: cannot write the model to '{{.+}}/none/model.pml': {{.*}}No such file or directory

//--- none.mlir
// A model is one of a worker.
// expected-error @below {{expected one 'dash.workers' to make a model of, found 0}}
module {}

//--- turns.mlir
// The reduced worker has one role that takes turns.
func.func @two_take_turns(%dq: memref<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : memref<?x?x?x64xf32>
    }
    // expected-error @below {{takes turns, and so does role 'reduce'; a model has one role that does}}
    dash.role "again" reducer warps(1) {
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : memref<?x?x?x64xf32>
    }
  }
  return
}

//--- apart.mlir
// Pieces that take no turn are no steps of the reduced worker.
func.func @some_take_turns(%dq: memref<?x?x?x64xf32>, %dk: memref<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : memref<?x?x?x64xf32>
      // expected-error @below {{is of contributions that are kept apart, in a role that takes turns at other sums; a model has turns at all sums or at none}}
      dash.count_turns %dk[%c0, %c0, %c0] turn(%c0) last(%c0) : memref<?x?x?x64xf32>
    }
  }
  return
}
