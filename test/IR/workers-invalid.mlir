// RUN: dash-opt %s -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// A worker reads from top to bottom: channels, then the roles that share them.
func.func @roles_stand_behind_channels(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op holds channels, then roles; got 'dash.channel'}}
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
    %tiles = dash.channel "k" depth(1) : !C
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Numbers that roles share are computed outside.
func.func @holds_nothing_else(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op holds channels, then roles; got 'arith.constant'}}
  dash.workers {
    %zero = arith.constant 0 : index
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// Options, reports and staging name channels.
func.func @channels_have_names_of_their_own(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op two channels are named 'k'}}
  dash.workers {
    %one = dash.channel "k" depth(1) : !C
    %two = dash.channel "k" depth(1) : !C
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// And roles.
func.func @roles_have_names_of_their_own(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op two roles are named 'load'}}
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// What one role puts is for the items of the other.
func.func @roles_run_the_same_items(%q: !T, %k: !T, %v: !T, %other: !T) {
  // expected-error @below {{'dash.workers' op role 'compute' must run the items of role 'load'}}
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
    dash.role "compute" consumer warps(1) {
      dash.items order(@order) over(%q, %k, %other : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// A slot of 32768 bytes behind the first 1024.
func.func @slots_end_within_shared_memory(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op 'shared_bytes' is 1024, but slots of channel 'k' end at byte 33792}}
  dash.workers shared_bytes(1024) {
    %tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// A worker needs a role.
func.func @has_a_role(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op needs a role}}
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// It runs items, and is not run by them.
func.func @stands_outside_of_items(%q: !T, %k: !T, %v: !T) {
  // expected-note @below {{inside this}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.workers' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.workers {
      %tiles = dash.channel "rows" depth(1) : !dash.channel<tensor<64xf32>>
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// All threads together have so many times their number.
func.func @registers_can_be_counted(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op 'registers' must be from 1 to 65536, got 9223372036854775807}}
  dash.workers registers(9223372036854775807) {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Memory is not owed.
func.func @shared_memory_is_not_negative(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op 'shared_bytes' must be from 0 to 2147483647, got -1}}
  dash.workers shared_bytes(-1) {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Uses of channels are numbered in all roles or in none.
func.func @all_items_are_loops_or_none(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op items of role 'load' are loops, and those of role 'compute' are not}}
  dash.workers {
    dash.role "load" producer warps(1) {
      %items = dash.num_items
    }
    dash.role "compute" consumer warps(4) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

// How consumers share the tensor core has two words.
func.func @structure_is_known() {
  // expected-error @below {{expected a structure (alternating or overlapping), got 'twisted'}}
  dash.workers structure(twisted) {
  }
  return
}

// -----

// Names are compared before a channel's own verifier has asked for one.
func.func @channel_without_name() {
  dash.workers {
    // expected-error @below {{'dash.channel' op requires attribute 'name'}}
    %tiles = "dash.channel"() <{depth = 1 : i64}> : () -> !dash.channel<index>
    dash.role "load" producer warps(1) {
    }
  }
  return
}

// -----

// Where items are drawn, one role knows which is next.
func.func @two_roles_draw() {
  // expected-error @below {{'dash.workers' op hands out items, which one role loads and the others are told of; got producers 'load-q' and 'load-kv'}}
  dash.workers hands_out {
    dash.role "load-q" producer warps(1) {
      %n = dash.num_items
    }
    dash.role "load-kv" producer warps(1) {
      %n = dash.num_items
    }
  }
  return
}

// -----

func.func @adds_have_an_order() {
  // expected-error @below {{'dash.workers' op hands out items, which one role loads and the others are told of; got a reducer, 'reduce'}}
  dash.workers hands_out {
    dash.role "load" producer warps(1) {
      %n = dash.num_items
    }
    dash.role "reduce" reducer warps(1) {
      %n = dash.num_items
    }
  }
  return
}

// -----

func.func @none_draws() {
  // expected-error @below {{'dash.workers' op hands out items, which one role loads and the others are told of; got no producer}}
  dash.workers hands_out {
    dash.role "compute" consumer warps(4) {
      %n = dash.num_items
    }
  }
  return
}

// -----

func.func @none_begins() {
  // expected-error @below {{'dash.workers' op begins items ahead, and has no consumer to do so}}
  dash.workers begins_ahead {
    dash.role "load" producer warps(1) {
      %n = dash.num_items
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
func.func @sums_would_grow(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.workers' op begins items ahead, which items of batches that own q tiles do; those of role 'compute' are of others}}
  dash.workers begins_ahead {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

func.func @records_are_of_lists() {
  // expected-error @below {{'dash.workers' op hands out items, and a trace says what each worker's own list has, so none is traced}}
  dash.workers trace(100) hands_out {
    dash.role "load" producer warps(1) {
      %n = dash.num_items
    }
  }
  return
}
