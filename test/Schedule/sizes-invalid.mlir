// RUN: dash-opt %s --dash-apply-schedule='sizes=q:100+200,kv:100+200,kv-heads:3' -verify-diagnostics -split-input-file

// Rows are known, and differ from the sum of the sequences.
func.func @rows_are_the_sum(%q: memref<1x3x400x64xbf16>, %k: memref<1x3x?x64xbf16>) {
  // expected-error @below {{sizes: the sequences have 300 q rows together, but the types say 400}}
  dash.items unscheduled over(%q, %k, %k : memref<1x3x400x64xbf16>, memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

func.func @list_in_a_batch_of_one(%q: memref<2x3x?x64xbf16>, %k: memref<2x3x?x64xbf16>) {
  // expected-error @below {{a list of sequences lies in a batch of 1, got 2}}
  dash.items unscheduled over(%q, %k, %k : memref<2x3x?x64xbf16>, memref<2x3x?x64xbf16>, memref<2x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

func.func @list_of_the_problem(%q: memref<1x3x?x64xbf16>, %k: memref<1x3x?x64xbf16>) {
  // expected-error @below {{sizes: q and kv differ from the 2 sequences of the problem}}
  dash.items unscheduled over(%q, %k, %k : memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) sequences(<2 x [100, 100]>) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

func.func @heads_are_grouped(%q: memref<1x4x?x64xbf16>, %k: memref<1x?x?x64xbf16>) {
  // expected-error @below {{heads must be a multiple of kv-heads, got 4 and 3}}
  dash.items unscheduled over(%q, %k, %k : memref<1x4x?x64xbf16>, memref<1x?x?x64xbf16>, memref<1x?x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

func.func @tiles_come_first(%q: memref<1x3x300x64xbf16>, %lse: memref<1x3x300xf32>, %dq: memref<1x3x300x64xbf16>,
                            %dk: memref<1x3x300x64xbf16>, %dv: memref<1x3x300x64xbf16>) {
  // expected-error @below {{has no tiles to order yet; run --dash-tile first}}
  dash.attention_bwd
      ins(%q, %q, %q, %q, %lse, o = %q : memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>,
          memref<1x3x300x64xbf16>, memref<1x3x300xf32>, memref<1x3x300x64xbf16>)
      outs(%dq, %dk, %dv : memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>)
      mask(<causal>) level(run)
  return
}

// -----

// expected-warning @below {{no unscheduled 'dash.items' to order}}
module {}

// -----

func.func @reduce_has_a_turn(%q: memref<1x3x300x64xbf16>, %t: tensor<64x64xf32>, %s: memref<1x3x300x64xf32>) {
  dash.items unscheduled over(%q, %q, %q : memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>, memref<1x3x300x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{stands outside 'dash.walk', which gives turns}}
    dash.reduce %t into %s[%seq, %kv_head, %kv] : tensor<64x64xf32> into memref<1x3x300x64xf32>
  }
  return
}

// -----

// The longest of the sequences has 200 rows.
func.func @bits_are_those_of_the_longest(%q: memref<1x3x?x64xbf16>) {
  // expected-error @below {{'bits' must have 4 columns (q blocks), for the longest sequence's 200 query rows, got 5}}
  dash.items unscheduled over(%q, %q, %q : memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>, memref<1x3x?x64xbf16>)
      tiles(<q = 64, kv = 128>) mask(<blocks = #dash.blocks<q = 64, kv = 128, bits = dense<1> : tensor<2x5xi1>>>)
      level(run) (%seq, %kv_head, %kv) {
  }
  return
}
