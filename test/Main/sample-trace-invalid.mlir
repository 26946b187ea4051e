// RUN: dash-opt %s --dash-sample-trace -verify-diagnostics -split-input-file

// A sum that lives across items may be of a product in flight.
!sum = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
func.func @carries_a_sum() {
  dash.workers trace(100) trace_every(4) {
    dash.role "compute" consumer warps(8) {
      %begin = dash.trace begin
      %zero = arith.constant dense<0.0> : !sum
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      // expected-error @below {{carries 'tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>' from item to item: expected numbers only, since a product may be in flight where some items are traced and some are not}}
      %sums = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!sum) {
        %at = dash.trace item numbers(%i)
        scf.yield %sum : !sum
      }
      %end = dash.trace end
    }
  }
  return
}
