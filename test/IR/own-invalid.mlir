// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @own_is_a_side(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{expected the side that items own (q or kv), got 'o'}}
  dash.items unscheduled own(o) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @walk_is_the_other_side(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{items that own q walk kv, got 'q'}}
  dash.items unscheduled own(q) walk(q) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @items_that_own_q_have_no_turn(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op of items that own q tiles takes 3 block arguments (sequence, head, q tile), got 4}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi, %turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @their_walks_have_no_turn(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
    // expected-error @below {{'dash.walk' op in 'dash.items' that own q tiles takes 2 indices (kv head, kv tile) and 0 carried values, got 3 block arguments}}
    dash.walk (%kv_head, %kv, %turn) {
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>

func.func @they_add_nothing_across_items(%q: !T, %k: !T, %v: !T, %dq: !S) {
  %t = arith.constant dense<1.0> : tensor<64x128xf32>
  // expected-note @below {{the items}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.reduce' op adds across items, but items that own q tiles finish their sums: carry it through the walk and use 'dash.store'}}
      dash.reduce %t into %dq[%seq, %head, %qi] : tensor<64x128xf32> into !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>

dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step>)

func.func @nor_in_turns(%q: !T, %k: !T, %v: !T, %dq: !S) {
  %t = arith.constant dense<1.0> : tensor<64x128xf32>
  // expected-note @below {{the items}}
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.ordered_reduce' op adds across items, but items that own q tiles finish their sums: carry it through the walk and use 'dash.store'}}
      dash.ordered_reduce %t into %dq[%seq, %head, %qi] turn(%kv) : tensor<64x128xf32> into !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step, turn(kv, q) = kv>)

func.func @order_is_of_the_same_side(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op has items that own q tiles, but schedule '@order' was made for items that own kv tiles}}
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %qi) {
  }
  return
}

// -----

// expected-error @below {{'dash.schedule' op items that own q tiles sum nothing across items, so they are in 1 part, got 2}}
dash.schedule @parts kind("ascending") level(run) parts(2) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step>)

// -----

// expected-error @below {{'dash.schedule' op items that own q tiles sum nothing across items, so adds cannot be unordered}}
dash.schedule @unordered kind("ascending") level(run) parts(1) workers(1) width(1) unordered
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step>)

// -----

// expected-error @below {{'dash.schedule' op items that own q tiles sum nothing across items, so nothing can be kept apart, got 'all'}}
dash.schedule @apart kind("ascending") level(run) parts(1) workers(1) width(1) apart(all)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step>)

// -----

// expected-error @below {{'dash.schedule' op formulas are of items that own q, but the problem's own kv}}
dash.schedule @sides kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 128]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step>)

// -----

// expected-error @below {{expected '>'}}
func.func private @no_turn_where_q_is_owned() attributes {a = #dash.formulas<item(i) = (i, 0, 0), worker(unit) = unit, visit(q, step) = step, turn(kv, q) = 0>}
