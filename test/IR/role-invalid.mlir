// RUN: dash-opt %s -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A role needs warps.
func.func @has_a_warp(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op warps must be from 1 to 65536, got 0}}
    dash.role "load" producer warps(0) {
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

// None is not the same as unknown.
func.func @has_registers(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op registers must be from 1 to 65536, got 0}}
    dash.role "load" producer warps(1) registers(0) {
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

// A role does its part of each item, and nothing beside.
func.func @runs_items(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op holds one scheduled 'dash.items' and nothing else, or loops}}
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
      %zero = arith.constant 0 : index
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

// Without an order roles could not agree on one.
func.func @runs_scheduled_items(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op holds one scheduled 'dash.items' and nothing else, or loops}}
    dash.role "load" producer warps(1) {
      dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {

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

// Steps of one walk are counted, and overlap.
func.func @walks_once(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op has 2 'dash.walk', expected one at most}}
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
        }
        dash.walk (%head, %qi, %turn) {
        }
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

// Warps of roles are added up.
func.func @warps_can_be_counted(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.role' op warps must be from 1 to 65536, got 9223372036854775807}}
    dash.role "load" producer warps(9223372036854775807) {
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

// Which item it is stands in the slot that a consumer waits for first.
func.func @consumers_do_not_read_items(%q: !T, %k: !T, %v: !T, %out: !T, %t: tensor<128x128xf32>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{'dash.store' op reads the order in a consumer, which is told what to do by indices in slots}}
        dash.store %t, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
      }
    }
  }
  return
}
