// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @block_size_is_a_multiple_of_16() attributes
  // expected-error @below {{block size 'q' must be a multiple of 16 from 16 to 2147483647, got 100}}
  {a = #dash.blocks<q = 100, kv = 64, bits = dense<1> : tensor<2x2xi1>>}

// -----

func.func private @block_size_is_positive() attributes
  // expected-error @below {{block size 'kv' must be a multiple of 16 from 16 to 2147483647, got 0}}
  {a = #dash.blocks<q = 16, kv = 0, bits = dense<1> : tensor<2x2xi1>>}

// -----

func.func private @bits_are_i1() attributes
  // expected-error @below {{'bits' must be dense elements of type tensor<KVxQxi1>, got 'tensor<2x2xi8>'}}
  {a = #dash.blocks<q = 64, kv = 64, bits = dense<1> : tensor<2x2xi8>>}

// -----

func.func private @bits_are_there() attributes
  // expected-error @below {{'bits' must be dense elements of type tensor<KVxQxi1>, got 'tensor<0x2xi1>'}}
  {a = #dash.blocks<q = 64, kv = 64, bits = dense<> : tensor<0x2xi1>>}

// -----

func.func private @bits_are_dense() attributes
  // expected-error @below {{'bits' must be dense elements of type tensor<KVxQxi1>, got sparse elements of type 'tensor<2x2xi1>'}}
  {a = #dash.blocks<q = 64, kv = 64, bits = sparse<[[0, 0]], [1]> : tensor<2x2xi1>>}

// -----

func.func private @tiles_divide_blocks() attributes
  // expected-error @below {{block size 'q' must be a multiple of the q tile, 64, got 96}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>,
                     mask = <blocks = #dash.blocks<q = 96, kv = 128, bits = dense<1> : tensor<2x2xi1>>>,
                     heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64, sequences = <[192, 256]>>}

// -----

func.func private @bits_are_those_of_the_longest() attributes
  // expected-error @below {{'bits' must have 3 rows (kv blocks), for the longest sequence's 300 key rows, got 2}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>,
                     mask = <blocks = #dash.blocks<q = 128, kv = 128, bits = dense<1> : tensor<2x2xi1>>>,
                     heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64, sequences = <[200, 100], [100, 300]>>}

// -----

// expected-error @below {{'dash.schedule' op 'bits' are not in the text (dense_resource '__elided__'): print the module again without --mlir-elide-elementsattrs-if-larger}}
dash.schedule @bits_are_not_elided kind("shift") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>,
           mask = <blocks = #dash.blocks<q = 128, kv = 128, bits = dense_resource<__elided__> : tensor<3x2xi1>>>,
           heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64, sequences = <[200, 300]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = kv>)

// -----

!T = memref<?x?x?x64xbf16>
func.func @tiles_of_items_divide_blocks(%q: !T) {
  // expected-error @below {{'dash.items' op block size 'kv' must be a multiple of the kv tile, 128, got 64}}
  dash.items unscheduled over(%q, %q, %q : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<blocks = #dash.blocks<q = 64, kv = 64, bits = dense<1> : tensor<3x2xi1>>>)
      level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

// A batch of 2 has the types' lengths.
!T = memref<2x1x300x64xbf16>
!R = memref<2x1x300xf32>
func.func @bits_fit_a_batch(%q: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{'dash.attention_bwd' op 'bits' must have 3 columns (q blocks), for the longest sequence's 300 query rows, got 2}}
  dash.attention_bwd
      ins(%q, %q, %q, %q, %lse, o = %q : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<blocks = #dash.blocks<q = 128, kv = 128, bits = dense<1> : tensor<3x2xi1>>>) level(run)
  return
}

// -----

// Those of a batch of 1 may be cut into sequences by a list.
!T = memref<1x1x300x64xbf16>
!R = memref<1x1x300xf32>
func.func @bits_fit_a_list(%q: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{'dash.attention_bwd' op 'bits' must have 2 rows (kv blocks), for the longest sequence's 200 key rows, got 3}}
  dash.attention_bwd
      ins(%q, %q, %q, %q, %lse, o = %q : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<blocks = #dash.blocks<q = 128, kv = 128, bits = dense<1> : tensor<3x3xi1>>>) level(run)
      sequences(<[200, 200], [100, 100]>)
  return
}
