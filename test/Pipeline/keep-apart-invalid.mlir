// RUN: dash-opt %s --dash-keep-apart -verify-diagnostics -split-input-file

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' with a reducer; run --dash-assign-roles first}}
module {
}

// -----

func.func @reducer_without_items() {
  dash.workers {
    // expected-error @below {{has no scheduled 'dash.items', whose order says what is kept apart; run --dash-apply-schedule and --dash-assign-roles first}}
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}
