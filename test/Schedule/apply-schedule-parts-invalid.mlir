// RUN: dash-opt %s --dash-apply-schedule='parts=2 workers=2' -verify-diagnostics

!T = memref<1x2x256x64xbf16>
!K = memref<1x1x256x64xbf16>

func.func @scale_is_known_after_the_items(%q: !T, %k: !K, %t: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %k : !T, !K, !K) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv) {
    %scale = arith.constant 0.125 : f32
    // expected-error @below {{with parts its scale is applied after 'dash.items', so it must be defined before}}
    dash.store %t, %k[%seq, %kv_head, %kv] scale(%scale) : tensor<128x64xf32> -> !K
  }
  return
}
