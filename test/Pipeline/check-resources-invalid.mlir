// RUN: dash-opt %s --dash-check-resources -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling=slots=ds:1 --dash-tile --dash-apply-schedule='workers=132 sizes=q:4096' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources 2>&1 | FileCheck %s --check-prefix=DS
// RUN: sed 's/scale(%%scale)$/& tiling(#dash.tiling<tiles = <q = 64, kv = 256>, columns = 128, structure = alternating, splits = {dk = 4 x 1, dp = 4 x 1, dq = 1 x 4, dv = 4 x 1, s = 4 x 1}, hold = [], slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>)/' %dash_examples/bwd-causal.mlir \
// RUN:   | not dash-opt --dash-tile --dash-apply-schedule='workers=132 sizes=q:4096' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/x128xbf16/x64xbf16/; s/scale(%%scale)$/& tiling(#dash.tiling<tiles = <q = 128, kv = 128>, columns = 64, structure = alternating, splits = {dk = 2 x 1, dp = 2 x 1, dq = 2 x 1, dv = 2 x 1, s = 2 x 1}, hold = [], slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>)/' %dash_examples/bwd-causal.mlir \
// RUN:   | not dash-opt --dash-tile --dash-apply-schedule='workers=132 sizes=q:4096' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources 2>&1 | FileCheck %s --check-prefix=TIGHT
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='workers=132 sizes=q:4096' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers \
// RUN:   | sed -e '/dash.release.%%ds_tiles/d' -e 's/^\(.*\)dash.commit\(.%%ds_tiles.*\)/\1dash.release\2\n&/' | not dash-opt --dash-check-resources 2>&1 | FileCheck %s --check-prefix=EXCHANGE
// RUN: not dash-opt %s --dash-check-resources=target=sm_80 -split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// What is not described cannot be checked.
// TARGET: error: unknown target 'sm_80', expected one of sm_90a

// What the role has put and not committed it has not waited for.
// EXCHANGE: error: releases a slot of channel 'ds' that has not been waited for

// One slot of dS cannot be written for this step while products of the last still read it.
// DS: error: roles wait for each other for ever
// DS: note: role 'compute', warpgroup 0, waits for an empty slot of channel 'ds', which has 1

// Tiles of 256 rows of K and V leave no room.
// SHARED: error: slots take {{[0-9]+}} bytes of shared memory, but a block has 232448: fewer slots of channels, or fewer rows of tiles (--dash-choose-tiling)
// SHARED: note: channel 'k' takes 1 x 65536 bytes


// Head dim 64 with 128 rows of Q: tiles would fit but for the rows of LSE and delta, and ptxas would spill in every step.
// TIGHT: error: needs about 272 registers a thread (64 for what walks carry, 192 for tiles in flight, 16 for addresses), but has 240: lower the rows of tiles
// TIGHT: note: most are in flight here

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' to check; run --dash-assign-roles first}}
module {
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

// Everything is counted in bytes and registers.
func.func @has_a_plan(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{has no plan of its buffers; run --dash-plan-buffers first}}
  dash.workers registers(168) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// What is alive at once hangs on it.
func.func @has_an_order_of_issue(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
                // expected-error @below {{has ops without a place in its order of issue; run --dash-order-products first}}
          dash.walk (%head, %qi, %turn) {
            %r = dash.matmul %t, transpose %t
              : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
          }
        dash.release %k_tiles : !C
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

// An instruction that multiplies takes four warps.
func.func @multiplies_by_warpgroups(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    // expected-error @below {{multiplies, so it needs whole warpgroups of 4 warps, got 6}}
    dash.role "compute" consumer warps(6) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// 1024 threads.
func.func @a_block_has_32_warps(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{has 36 warps, but a block has at most 32}}
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(32) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// Two barriers a slot.
func.func @barriers_fit(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{barriers and indices of slots take 1152 bytes, but 1008 are left for them}}
  dash.workers registers(168) shared_bytes(2360320) {
    %k_tiles = dash.channel "k" depth(72) at([1024], [32768]) barriers([0, 576]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// What to lower is in the notes.
func.func @shared_memory_fits(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{slots take 263168 bytes of shared memory, but a block has 232448: fewer slots of channels, or fewer rows of tiles (--dash-choose-tiling)}}
  dash.workers registers(168) shared_bytes(263168) {
    // expected-note @below {{channel 'k' takes 8 x 32768 bytes}}
    %k_tiles = dash.channel "k" depth(8) at([1024], [32768]) barriers([0, 64]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// A tile on top of barriers would set them.
func.func @barriers_come_first(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{element 0 of slot 0 starts at byte 0, but must start at a multiple of 1024 behind the first 1024, which are left for barriers}}
    %k_tiles = dash.channel "k" depth(1) at([0], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// mbarriers have a place of their own.
func.func @barriers_lie_in_front(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{barriers start at byte 1024, but must start at a multiple of 8 and end within the first 1008}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 1024]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// And 8 bytes.
func.func @barriers_are_aligned(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{barriers start at byte 4, but must start at a multiple of 8 and end within the first 1008}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([4, 16]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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
!C = !dash.channel<tensor<128x128xbf16>, index>

// Indices stand with the barriers.
func.func @indices_lie_in_front(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(34816) {
    // expected-error @below {{element 1 of slot 0 starts at byte 33792, but an index must lie in the first 1008, at a multiple of 4}}
    %k_tiles = dash.channel "k" depth(1) at([1024, 33792], [32768, 16]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t, %kv into %k_tiles : tensor<128x128xbf16>, index into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t, %told = dash.wait %k_tiles : !C -> tensor<128x128xbf16>, index
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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
!C = !dash.channel<tensor<128x128xbf16>, index>

// An index that is a barrier would be neither.
func.func @indices_do_not_lie_on_barriers(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-note @below {{which ends at byte 16}}
    // expected-error @below {{a slot of channel 'k' starts at byte 8, inside one of channel 'k'}}
    %k_tiles = dash.channel "k" depth(1) at([1024, 8], [32768, 16]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t, %kv into %k_tiles : tensor<128x128xbf16>, index into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t, %told = dash.wait %k_tiles : !C -> tensor<128x128xbf16>, index
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// Copies swizzle by address.
func.func @tiles_start_where_swizzles_do(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(34816) {
    // expected-error @below {{element 0 of slot 0 starts at byte 1280, but must start at a multiple of 1024 behind the first 1024, which are left for barriers}}
    %k_tiles = dash.channel "k" depth(1) at([1280], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// Two tiles in one place.
func.func @slots_lie_apart(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(34816) {
    // expected-note @below {{which ends at byte 33792}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    // expected-error @below {{a slot of channel 'more' starts at byte 2048, inside one of channel 'k'}}
    %more = dash.channel "more" depth(1) at([2048], [32768]) barriers([16, 24]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// At launch every thread gets the same.
func.func @a_block_has_65536_registers(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{176 registers for each of 384 threads are 67584, but a block has 65536}}
  dash.workers registers(176) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// As the instruction that asks for them has it.
func.func @registers_come_in_eights(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    // expected-error @below {{registers of a role must be a multiple of 8 from 24 to 240, got 20}}
    dash.role "load" producer warps(4) registers(20) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// The instruction is for whole warpgroups.
func.func @a_warpgroup_has_one_number(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(2) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    // expected-error @below {{shares a warpgroup with role 'load', so it must have as many registers, 24, got 32}}
    dash.role "load-more" producer warps(1) registers(32) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// The numbers of a kernel that hung.
func.func @roles_draw_from_one_pool(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{roles ask for 65536 registers, but 168 for each of 384 threads at launch are 64512: the last warpgroup would wait for ever}}
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    // expected-note @below {{role 'load' asks for 32 in each of 128 threads}}
    dash.role "load" producer warps(4) registers(32) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    // expected-note @below {{role 'compute' asks for 240 in each of 256 threads}}
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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
!T64 = memref<?x?x?x64xbf16>
!C = !dash.channel<tensor<64x64xbf16>>

// Slots that nobody fills have no barrier between two roles.
func.func @one_leaves_through_own_slots(%q: !T, %k: !T, %v: !T, %dq: !T64) {
  dash.workers registers(168) shared_bytes(9216) {
    // expected-error @below {{channel 'out', which no role fills, must be the way out of one, got 2}}
    %out_tiles = dash.channel "out" depth(1) at([1024], [8192]) barriers([0, 8]) : !C
    dash.role "one" consumer warps(4) registers(168) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = arith.constant dense<1.0> : tensor<64x64xf32>
        %first = arith.constant 0 : index
        dash.store %t, %dq[%first, %first, %first] through %out_tiles : !C ahead(0) : tensor<64x64xf32> -> !T64
      }
    }
    dash.role "other" consumer warps(4) registers(168) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = arith.constant dense<1.0> : tensor<64x64xf32>
        %first = arith.constant 0 : index
        dash.store %t, %dq[%first, %first, %first] through %out_tiles : !C ahead(0) : tensor<64x64xf32> -> !T64
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

// No role would ever get it.
func.func @channels_have_two_sides(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{channel 'k' must have one role that puts and at least one that waits, got 1 and 0}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = arith.constant dense<1.0> : tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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

// A result takes the place of a tile that its role still holds.
func.func @results_take_the_place_of_what_is_held(%q: !T, %k: !T, %v: !T, %dk: !T, %i: index) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
        // expected-error @below {{lets a result take the place of a loaded tile in a slot of channel 'k' that its role does not hold: it stands before the wait, or behind the release}}
        dash.store %r, %dk[%i, %i, %i] through %k_tiles : !C ahead(0) : tensor<128x128xf32> -> !T
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

// The role that fills slots knows which are empty.
func.func @results_leave_through_own_slots(%q: !T, %k: !T, %v: !T, %dk: !T, %i: index) {
  dash.workers registers(168) shared_bytes(33792) {
    %p_tiles = dash.channel "p" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "make" consumer warps(4) registers(168) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %r = arith.constant dense<1.0> : tensor<128x128xf32>
        %p = dash.round %r : tensor<128x128xf32> to tensor<128x128xbf16>
        dash.put %p into %p_tiles : tensor<128x128xbf16> into !C
        dash.commit %p_tiles : !C
      }
    }
    dash.role "compute" consumer warps(4) registers(168) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %p_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %p_tiles : !C
        // expected-error @below {{lets a result of role 'compute' leave through channel 'p', which role 'make' fills: only that one knows which slots are empty}}
        dash.store %r, %dk[%i, %i, %i] through %p_tiles : !C ahead(0) : tensor<128x128xf32> -> !T
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

// They leave behind the slots of an item's steps, by which they are numbered.
func.func @results_leave_behind_steps(%q: !T, %k: !T, %v: !T, %dk: !T, %i: index) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "compute" consumer warps(8) registers(168) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %r = arith.constant dense<1.0> : tensor<128x128xf32>
        %p = dash.round %r : tensor<128x128xf32> to tensor<128x128xbf16>
        dash.put %p into %k_tiles : tensor<128x128xbf16> into !C
        dash.commit %k_tiles : !C
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        dash.release %k_tiles : !C
        // expected-error @below {{lets a result leave through channel 'k', which is filled 1 in an item and 0 in a step: expected one that only steps fill}}
        dash.store %r, %dk[%i, %i, %i] through %k_tiles : !C ahead(0) : tensor<128x128xf32> -> !T
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

// The second slot would never be empty again.
func.func @what_is_put_is_waited_for(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'load' puts slots of channel 'k' 2 in an item and 0 in a step, but role 'compute' waits for them 1 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// Nor here.
func.func @what_is_waited_for_is_released(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'compute' waits for slots of channel 'k' 1 in an item and 0 in a step, but releases them 0 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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

// A slot that another role reads.
func.func @who_waits_releases(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'load' releases slots of channel 'k', but role 'compute' waits for them}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
        dash.release %k_tiles : !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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

// Hardware says by itself that it has copied a tile; threads do not.
func.func @what_threads_write_is_committed(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'load' puts slots of channel 'k' 1 in an item and 0 in a step, but commits them 0 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = arith.constant dense<0.0> : tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// What is not written yet cannot be seen.
func.func @commits_behind_puts(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = arith.constant dense<0.0> : tensor<128x128xbf16>
          // expected-error @below {{commits a slot of channel 'k' that has not been put}}
          dash.commit %k_tiles : !C
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// What was not got is not ours to release.
func.func @releases_behind_gets(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{releases a slot of channel 'k' that has not been waited for}}
          dash.release %k_tiles : !C
          %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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

// Each has what the other waits for.
func.func @roles_do_not_wait_for_each_other(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{roles wait for each other for ever}}
  dash.workers registers(168) shared_bytes(66560) {
    %a_tiles = dash.channel "a" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    %b_tiles = dash.channel "b" depth(1) at([33792], [32768]) barriers([16, 24]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-note @below {{role 'load', warpgroup 0, waits for a full slot of channel 'b'}}
        %b = dash.wait %b_tiles : !C -> tensor<128x128xbf16>
        dash.release %b_tiles : !C
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t into %a_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "compute" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-note @below {{role 'compute', warpgroup 0, waits for a full slot of channel 'a'}}
        %a = dash.wait %a_tiles : !C -> tensor<128x128xbf16>
        dash.put %a into %b_tiles : tensor<128x128xbf16> into !C
        dash.commit %b_tiles : !C
        dash.release %a_tiles : !C
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

!S = !dash.channel<tensor<64x128xf32>>

// The first of two warps that add has uses 0, 2 and 4: with three slots it would reach the second one in its second phase, and could
// not see whether its first is over.
func.func @phases_are_told_apart(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(99328) {
    // expected-note @below {{the channel has 3 slots}}
    %sum_tiles = dash.channel "sum" depth(3) at([1024], [32768]) barriers([0, 24]) : !S
    dash.role "reduce" reducer warps(2) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          // expected-error @below {{role 'reduce', warp 0, waits for phase 1 of slot 1 of channel 'sum' and has not waited for phase 0: a parity cannot tell them apart}}
          %t = dash.wait %sum_tiles : !S -> tensor<64x128xf32>
          dash.release %sum_tiles : !S
        }
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %one = arith.constant dense<1.0> : tensor<64x128xf32>
        dash.walk (%head, %qi, %turn) stages(1) {
          dash.put %one into %sum_tiles stage(0) : tensor<64x128xf32> into !S
          dash.commit %sum_tiles stage(0) : !S
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
!C = !dash.channel<tensor<128x128xbf16>>

// Several roles may read a channel. Each of them releases, and a slot is empty when all have.
func.func @each_reader_releases(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'dk' waits for slots of channel 'k' 1 in an item and 0 in a step, but releases them 0 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t0 into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "dv" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
      }
    }
    dash.role "dk" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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

// Once: what one releases twice would stand for another.
func.func @each_reader_releases_once(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'dk' waits for slots of channel 'k' 1 in an item and 0 in a step, but releases them 2 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t0 into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "dv" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
      }
    }
    dash.role "dk" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
        dash.release %k_tiles : !C
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

// What only one of them waits for would never be empty again.
func.func @each_reader_waits(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'load' puts slots of channel 'k' 1 in an item and 0 in a step, but role 'dk' waits for them 2 in an item and 0 in a step}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t0 into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "dv" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
      }
    }
    dash.role "dk" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t2 = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
        dash.release %k_tiles : !C
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

// A role that does not read.
func.func @readers_release(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    // expected-error @below {{role 'load' releases slots of channel 'k', but role 'dv' or role 'dk' waits for them}}
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t0 into %k_tiles : tensor<128x128xbf16> into !C
        dash.release %k_tiles : !C
      }
    }
    dash.role "dv" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
      }
    }
    dash.role "dk" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
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

// A reader's slot is not its own before its wait.
func.func @each_reader_releases_behind_its_wait(%q: !T, %k: !T, %v: !T) {
  dash.workers registers(168) shared_bytes(33792) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) barriers([0, 8]) : !C
    dash.role "load" producer warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t0 = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %t0 into %k_tiles : tensor<128x128xbf16> into !C
      }
    }
    dash.role "dv" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.release %k_tiles : !C
      }
    }
    dash.role "dk" consumer warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{releases a slot of channel 'k' that has not been waited for}}
        dash.release %k_tiles : !C
        %t = dash.wait %k_tiles : !C -> tensor<128x128xbf16>
        %r = dash.matmul %t, transpose %t
          : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
      }
    }
  }
  return
}
