// RUN: dash-opt %s --dash-check-resources -verify-diagnostics

!K = !dash.channel<tensor<128x64xbf16>>

// Items are loops by now: where slots lie is checked all the same.
func.func @moved_over_another() {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-note @below {{which ends at byte 17408}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 4]) : !K
    // expected-error @below {{a slot of channel 'v' starts at byte 16384, inside one of channel 'k'}}
    %v_tiles = dash.channel "v" depth(1) at([16384], [16384]) barriers([16, 24]) arrivals([1, 4]) : !K
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}
