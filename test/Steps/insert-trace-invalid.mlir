// RUN: dash-opt %s --dash-insert-trace -verify-diagnostics -split-input-file

!C = !dash.channel<tensor<64x128xbf16>>

func.func @behind_waits(%use: index) {
  dash.workers {
    %tiles = dash.channel "q" depth(2) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{is no wait and no arrival yet; run --dash-insert-waits first}}
      dash.release %tiles[%use] : !C
    }
  }
  return
}
