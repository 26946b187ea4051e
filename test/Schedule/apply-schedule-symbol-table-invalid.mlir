// RUN: dash-opt %s --allow-unregistered-dialect --dash-apply-schedule='workers=2' -verify-diagnostics

!T = memref<1x1x256x64xbf16>

// The symbols of an unknown op are unknown: there is no place for the order.
"host.launch"() ({
^bb0(%q: !T):
  // expected-error @below {{has no symbol table above it to hold its order}}
  dash.items unscheduled over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv) {
  }
  "host.end"() : () -> ()
}) : () -> ()
