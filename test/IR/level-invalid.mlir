// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func @level_must_be_known(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>,
    %v: memref<?x?x?x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      // expected-error @below {{expected a determinism level (run, batch, machine, world or row), got 'always'}}
      tiles(<q = 64, kv = 128>) mask(<full>) level(always) (%seq, %kv_head, %kv) {
  }
  return
}
