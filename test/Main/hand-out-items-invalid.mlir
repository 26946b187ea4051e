// RUN: dash-opt %s --verify-diagnostics --dash-hand-out-items

!C = !dash.channel<tensor<64x128xbf16>, index>
func.func @no_loop() {
  dash.workers hands_out begins_ahead {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    // expected-error @+1 {{has no loop over items; run --dash-read-order first}}
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}
