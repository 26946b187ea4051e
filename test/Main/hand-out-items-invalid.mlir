// RUN: dash-opt %s --split-input-file --verify-diagnostics --dash-hand-out-items

!C = !dash.channel<tensor<64x128xbf16>, index>
func.func @no_loop() {
  dash.workers hands_out {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    // expected-error @+1 {{has no loop over items; run --dash-read-order first}}
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x128xbf16>, index>
func.func @tells_nothing() {
  dash.workers hands_out {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    // expected-error @+1 {{tells of no item: expected a 'dash.write_indices' in its loop over items; run --dash-insert-waits first}}
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %seq, %head, %q, %first_head, %first_visit, %visits, %rounds = dash.read_item[%i]
      }
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x128xbf16>, index>
func.func @is_told_nothing() {
  dash.workers hands_out {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %seq, %head, %q, %first_head, %first_visit, %visits, %rounds = dash.read_item[%i]
        %slot, %phase = dash.ring %q_tiles[%i] : !C
        dash.write_indices %visits to %q_tiles[%slot] : !C
      }
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      // expected-error @+1 {{is told of no item: expected a 'dash.read_indices' of channel 'q'; run --dash-insert-waits first}}
      scf.for %i = %c0 to %n step %c1 {
        %slot, %phase = dash.ring %q_tiles[%i] : !C
        dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !C
      }
    }
  }
  return
}
