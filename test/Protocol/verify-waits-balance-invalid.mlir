// RUN: dash-opt %s --dash-verify-waits -verify-diagnostics -split-input-file

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>

// A slot that is kept in each turn of a loop.
func.func @kept_in_each_turn(%n: index, %c: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-error @below {{waits for slots of channel 'k' to be full 1 times more than it gives them on in each turn}}
      scf.for %i = %c0 to %n step %c1 {
        %slot, %phase = dash.ring %k_tiles[%i] : !K
        dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      }
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>

// Given back in one branch only.
func.func @given_back_in_one_branch(%n: index, %c: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      // expected-error @below {{waits for slots of channel 'k' to be full -1 times more than it gives them on in one branch, and 0 times in the other}}
      scf.if %c {
        dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      }
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>

// Acquired, and never filled.
func.func @never_filled(%n: index, %c: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    // expected-error @below {{waits for slots of channel 'k' to be empty 1 times more than it gives them on by the role's end}}
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles empty[%slot] phase(%phase) : !K
    }
  }
  return
}
