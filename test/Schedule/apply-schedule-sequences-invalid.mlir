// RUN: dash-opt %s --dash-apply-schedule='kind=synthesized sizes=q:100+200,heads:3,kv-heads:3' -verify-diagnostics -split-input-file

func.func @lengths_of_a_table_are_stated(%q: memref<1x3x?x64xbf16>) {
  // expected-error @below {{lengths of sequences that are known at run time only need an order by formulas, but that of kind 'synthesized' is a table: state the lengths, or take a kind with formulas for this mask: ascending, descending, shift, symmetric-shift}}
  dash.items unscheduled over(%q, %q, %q : memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) sequences(<?>) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

func.func @lengths_of_a_table_are_stated_of_a_union_too(%q: memref<1x3x?x64xbf16>) {
  // expected-error @below {{lengths of sequences that are known at run time only need an order by formulas, but that of kind 'synthesized' is a table: state the lengths, or take a kind with formulas for this mask: ascending, descending}}
  dash.items unscheduled over(%q, %q, %q : memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal, union = #dash.union<columns = 4, window = [512, -1]>>) level(run) sequences(<?>) (%seq, %kv_head, %kv) {
  }
  return
}
