// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @unscheduled_has_3_arguments(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op unscheduled takes 3 block arguments (sequence, kv head, kv tile), got 4}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @scheduled_has_4_arguments(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op scheduled takes 4 block arguments (sequence, kv head, kv tile, turn), got 0}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) () {
  }
  return
}

// -----

func.func @arguments_are_indices(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>,
    %v: memref<?x?x?x128xbf16>) {
  // expected-error @below {{'dash.items' op block argument 1 must be of type 'index', got 'i32'}}
  "dash.items"(%q, %k, %v) <{level = #dash.level<run>, mask = #dash.mask<full>,
                         tiles = #dash.tiles<q = 64, kv = 128>}> ({
  ^bb0(%seq: index, %kv_head: i32, %kv: index):
  }) : (memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>) -> ()
  return
}

// -----

!Q = memref<?x?x?x128xbf16>
!KV = memref<?x?x?x128xf16>

func.func @elements_agree(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op 'k' must have elements of the type of 'q', 'bf16', got 'f16'}}
  dash.items unscheduled over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!Q = memref<?x?x?x128xbf16>
!K = memref<?x?x512x128xbf16>
!V = memref<?x?x500x128xbf16>

func.func @k_and_v_fit(%q: !Q, %k: !K, %v: !V) {
  // expected-error @below {{'dash.items' op 'v' must have the rows of 'k', 512, got 500}}
  dash.items unscheduled over(%q, %k, %v : !Q, !K, !V)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!Q = memref<?x?x128xbf16>
!KV = memref<?x?x?x128xbf16>

func.func @over_has_rank_4(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op operand #0 must be 4D memref of bfloat16 type or 16-bit float values, but got 'memref<?x?x128xbf16>'}}
  dash.items unscheduled over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @phase_is_stated(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{expected 'unscheduled' or 'order(@schedule)'}}
  dash.items scheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @private_name(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op '@private_name' is not a 'dash.schedule' in the nearest symbol table}}
  dash.items order(@private_name) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_tiles(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op tiles are #dash.tiles<q = 128, kv = 128>, but schedule '@order' was made for #dash.tiles<q = 64, kv = 128>}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 128, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_mask(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op mask is #dash.mask<causal>, but schedule '@order' was made for #dash.mask<full>}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_level(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op level is #dash.level<batch>, but schedule '@order' was made for #dash.level<run>}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(batch) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!Q = memref<?x8x?x128xbf16>
!KV = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_heads(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op heads are 8, but schedule '@order' was made for 16}}
  dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!Q = memref<?x?x?x128xbf16>
!KV = memref<?x8x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_kv_heads(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op kv heads are 8, but schedule '@order' was made for 4}}
  dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x64xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_head_dim(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op head dim is 64, but schedule '@order' was made for 128}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!QK = memref<?x?x?x128xbf16>
!V = memref<?x?x?x64xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_head_dim_v(%q: !QK, %k: !QK, %v: !V) {
  // expected-error @below {{'dash.items' op head dim of v is 64, but schedule '@order' was made for 128}}
  dash.items order(@order) over(%q, %k, %v : !QK, !QK, !V)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!Q = memref<?x?x?x128xbf16>
!KV = memref<2x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_batch(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op sequences are 2, but schedule '@order' was made for 4}}
  dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!Q = memref<?x?x2000x128xbf16>
!KV = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_q_rows(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op q rows are 2000, but schedule '@order' was made for 3000}}
  dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!Q = memref<?x?x?x128xbf16>
!KV = memref<?x?x3000x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_kv_rows(%q: !Q, %k: !KV, %v: !KV) {
  // expected-error @below {{'dash.items' op kv rows are 3000, but schedule '@order' was made for 2000}}
  dash.items order(@order) over(%q, %k, %v : !Q, !KV, !KV)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_number_of_sequences(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op sequences are 1, but schedule '@order' was made for 4}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) sequences(<[3000, 2000]>) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_has_sequences(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op sequence 2 is [3000, 2001], but schedule '@order' was made for [3000, 2000]}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) sequences(<2 x [3000, 2000], [3000, 2001], [3000, 2000]>) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[1, 1], [2, 2]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @schedule_of_several_lengths(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op needs 'sequences': schedule '@order' was made for sequences of different lengths}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(2) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @parts_do_not_store(%q: !T, %k: !T, %v: !T, %t: tensor<128x128xf32>, %dk: !T) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.store' op is written by each of the 2 parts of a kv head, one over the other: use 'dash.ordered_reduce'}}
    dash.store %t, %dk[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @keys_are_cut_for_q_tiles(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op cuts keys for items that own kv tiles: only items that own q tiles walk keys}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) cut(1024) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @pieces_are_whole_tiles(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op cuts keys into pieces of 1000 rows, expected a multiple of the kv tile, 128}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) cut(1000) (%seq, %head, %qi, %piece_head) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @pieces_have_a_head(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op of items that own q tiles takes 4 block arguments (sequence, head, q tile, head among the pieces), got 3}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) cut(1024) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>

func.func @pieces_are_written_apart(%q: !T, %k: !T, %v: !T, %row: tensor<64xf32>, %lse: !R) {
  // expected-note @below {{of these items}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) cut(1024) (%seq, %head, %qi, %piece_head) {
    // expected-error @below {{'dash.store_row' op is written by each piece of the keys, one over the other: write at the head among the pieces, the last block argument of 'dash.items'}}
    dash.store_row %row, %lse[%seq, %head, %qi] : tensor<64xf32> -> !R
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("ascending") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[1, 2000]>, own = q, cut = 512>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(q, step) = step>)

func.func @schedule_is_of_the_same_pieces(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op kv rows of a piece are 1024, but schedule '@order' was made for 512}}
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) cut(1024) (%seq, %head, %qi, %piece_head) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @heads_are_folded_for_q_tiles(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op folds heads into the q tiles of items that own kv tiles: only items that own q tiles do}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @folds_are_of_bands(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op folds heads under a mask with a bitmap or a union: only bands are served, so drop the fold}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<causal, union = #dash.union<columns = 4, window = [8, -1]>>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x12x?x128xbf16>
!K = memref<?x4x?x128xbf16>

func.func @folded_heads_share_a_kv_head(%q: !T, %k: !K, %v: !K) {
  // expected-error @below {{'dash.items' op q tiles fold 8 heads, which must divide the query heads of a kv head, got 12 heads over 4}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !K, !K)
      tiles(<q = 16, kv = 128, fold = 8>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tiles_have_rows_of_all_heads(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<full>) level(run) (%seq, %head, %qi) {
    // expected-error @below {{'dash.load' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 16}}
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<16x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("ascending") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[1, 2000]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(q, step) = step>)

func.func @schedule_is_of_the_same_fold(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op tiles are #dash.tiles<q = 16, kv = 128, fold = 4>, but schedule '@order' was made for #dash.tiles<q = 64, kv = 128>}}
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x12x?x128xbf16>
!K = memref<?x4611686018427387904x?x128xbf16>

func.func @heads_are_counted_whatever_they_are(%q: !T, %k: !K, %v: !K) {
  // expected-error @below {{heads of 'q' must be a multiple}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !K, !K)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x0x?x128xbf16>

func.func @heads_are_there(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{heads of}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 16, kv = 128, fold = 4>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}
