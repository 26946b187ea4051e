// RUN: dash-opt %s --dash-lower-workers -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// The module of kernels is what the entry goes to.
func.func @needs_a_module_of_kernels(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// It says what they are kernels of.
func.func @kernels_say_whose_they_are(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @kernels_say_whose_they_are_kernels {
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// And whether workers wait for each other.
func.func @kernels_say_min_workers(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
// expected-error @below {{does not say how many workers must run at once ('min_workers'); run --dash-outline-program to make it}}
gpu.module @kernels_say_min_workers_kernels attributes {dash.program = {name = "kernels_say_min_workers", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// Registers and shared memory are planned.
func.func @needs_a_plan(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  // expected-error @below {{has no plan of registers and shared memory; run --dash-plan-buffers first}}
  dash.workers registers(168) {
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
gpu.module @needs_a_plan_kernels attributes {dash.program = {name = "needs_a_plan", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// So is each channel.
func.func @channels_need_a_place(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{has no place in shared memory; run --dash-plan-buffers first}}
    %k_tiles = dash.channel "k" depth(1) : !C
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
gpu.module @channels_need_a_place_kernels attributes {dash.program = {name = "channels_need_a_place", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// So is each role.
func.func @roles_need_registers(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{has no registers; run --dash-plan-buffers first}}
    dash.role "load" warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
gpu.module @roles_need_registers_kernels attributes {dash.program = {name = "roles_need_registers", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// Two warpgroups share the rows of a kv tile.
func.func @two_warpgroups_multiply(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    // expected-error @below {{multiplies, which kernels do with 8 warps, got 4}}
    dash.role "compute" warps(4) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        %1 = dash.matmul %0, transpose %0 : (!B, !B) -> tensor<128x128xf32>
      }
    }
  }
  return
}
gpu.module @two_warpgroups_multiply_kernels attributes {dash.program = {name = "two_warpgroups_multiply", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// A slot that is added is released by one warp, not by a warpgroup.
func.func @at_most_three_warps_load_or_add(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{loads or adds, which kernels do with 1 to 3 warps, got 4}}
    dash.role "load" warps(4) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
gpu.module @at_most_three_warps_load_or_add_kernels attributes {dash.program = {name = "at_most_three_warps_load_or_add", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// What to do stands beside tiles: those of the item alone do not say it.
func.func @steps_say_what_to_do(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    // expected-error @below {{must get a tile of each item and one of each step}}
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        dash.walk (%head, %qi, %turn) {
          %1 = dash.matmul %0, transpose %0 : (!B, !B) -> tensor<128x128xf32>
        }
      }
    }
  }
  return
}
gpu.module @steps_say_what_to_do_kernels attributes {dash.program = {name = "steps_say_what_to_do", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// A role that loads has one thread for it.
func.func @load_releases_nothing(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
        dash.put %0 into %k_tiles : !B into !C
        // expected-error @below {{is nothing that a role that loads can do there}}
        dash.release %k_tiles : !C
      }
    }
  }
  return
}
gpu.module @load_releases_nothing_kernels attributes {dash.program = {name = "load_releases_nothing", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// In its walk too.
func.func @load_releases_nothing_in_a_walk(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
          dash.put %0 into %k_tiles : !B into !C
          // expected-error @below {{is nothing that a role that loads can do there}}
          dash.release %k_tiles : !C
        }
      }
    }
  }
  return
}
gpu.module @load_releases_nothing_in_a_walk_kernels attributes {dash.program = {name = "load_releases_nothing_in_a_walk", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>
!CQ = !dash.channel<tensor<64x128xf32>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// A role that adds does so step by step, and nothing in an item.
func.func @reduce_does_nothing_in_an_item(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}, %sum: !S) {
  dash.workers registers(168) shared_bytes(66560) {
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) : !CQ
    dash.role "reduce" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          %0 = dash.get %dq_tiles : !CQ -> tensor<64x128xf32>
          dash.ordered_reduce %0 into %sum[%seq, %head, %qi] turn(%turn) : tensor<64x128xf32> into !S
          dash.release %dq_tiles : !CQ
        }
        // expected-error @below {{is nothing that a role that adds can do there}}
        dash.release %dq_tiles : !CQ
      }
    }
  }
  return
}
gpu.module @reduce_does_nothing_in_an_item_kernels attributes {dash.program = {name = "reduce_does_nothing_in_an_item", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>
!B = tensor<128x128xbf16>
!CQ = !dash.channel<tensor<64x128xf32>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// It loads nothing.
func.func @reduce_loads_nothing(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}, %sum: !S) {
  dash.workers registers(168) shared_bytes(66560) {
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) : !CQ
    dash.role "reduce" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          %0 = dash.get %dq_tiles : !CQ -> tensor<64x128xf32>
          dash.ordered_reduce %0 into %sum[%seq, %head, %qi] turn(%turn) : tensor<64x128xf32> into !S
          dash.release %dq_tiles : !CQ
          // expected-error @below {{is nothing that a role that adds can do there}}
          %1 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
        }
      }
    }
  }
  return
}
gpu.module @reduce_loads_nothing_kernels attributes {dash.program = {name = "reduce_loads_nothing", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// A role that multiplies leaves loads to others.
func.func @compute_loads_nothing(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        dash.walk (%head, %qi, %turn) {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 {dash.order = 1, dash.stage = 0} : (!B, !B) -> tensor<128x128xf32>
        }
        // expected-error @below {{is nothing that a role that multiplies can do there}}
        %3 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
      }
    }
  }
  return
}
gpu.module @compute_loads_nothing_kernels attributes {dash.program = {name = "compute_loads_nothing", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// And knows only the ops of tiles.
func.func @compute_knows_only_tile_ops(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        dash.walk (%head, %qi, %turn) {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 {dash.order = 1, dash.stage = 0} : (!B, !B) -> tensor<128x128xf32>
          // expected-error @below {{is nothing that a role that multiplies can do there}}
          %3 = arith.constant 1.0 : f32
        }
      }
    }
  }
  return
}
gpu.module @compute_knows_only_tile_ops_kernels attributes {dash.program = {name = "compute_knows_only_tile_ops", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// There is a descriptor of what is read, by its name.
func.func @loads_need_a_descriptor(%q: !T {dash.name = "q"}, %k: !T {dash.name = "o"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{kernels cover 'q', 'k', 'v', 'do' here, got 'o'}}
        %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
        dash.put %0 into %k_tiles : !B into !C
      }
    }
  }
  return
}
gpu.module @loads_need_a_descriptor_kernels attributes {dash.program = {name = "loads_need_a_descriptor", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// So it needs one.
func.func @loads_need_a_name(%q: !T {dash.name = "q"}, %k: !T, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{kernels cover 'q', 'k', 'v', 'do' here, got memory without a name; run --dash-outline-program first}}
        %0 = dash.load %k[%seq, %kv_head, %kv] : !T -> !B
        dash.put %0 into %k_tiles : !B into !C
      }
    }
  }
  return
}
gpu.module @loads_need_a_name_kernels attributes {dash.program = {name = "loads_need_a_name", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// Of numbers a row, LSE is an argument and delta is memory of the function.
func.func @rows_are_lse_or_delta(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}, %d: !R {dash.name = "delta"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %l_tiles = dash.channel "l" depth(1) at([1024], [256]) : !dash.channel<tensor<64xf32>>
    dash.role "load" warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) {
          // expected-error @below {{kernels cover 'lse' here, got 'delta'}}
          %0 = dash.load %d[%seq, %head, %qi] : !R -> tensor<64xf32>
          dash.put %0 into %l_tiles : tensor<64xf32> into !dash.channel<tensor<64xf32>>
        }
      }
    }
  }
  return
}
gpu.module @rows_are_lse_or_delta_kernels attributes {dash.program = {name = "rows_are_lse_or_delta", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// A gradient goes out through a slot of a channel.
func.func @stores_need_a_channel(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}, %dk: !T {dash.name = "dk"}) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        %s = dash.walk (%head, %qi, %turn) init(%a = %zero) : tensor<128x128xf32> {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 accumulate(%a) {dash.order = 1, dash.stage = 1} : (!B, !B) -> tensor<128x128xf32>
          dash.yield %2 : tensor<128x128xf32>
        }
        // expected-error @below {{has no channel to go through ('dash.staging'); run --dash-place-releases first}}
        dash.store %s, %dk[%seq, %kv_head, %kv] {dash.staging = "x"} : tensor<128x128xf32> -> !T
      }
    }
  }
  return
}
gpu.module @stores_need_a_channel_kernels attributes {dash.program = {name = "stores_need_a_channel", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// And by a descriptor, which dq has none.
func.func @stores_need_a_descriptor(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}, %dk: !T {dash.name = "dq"}) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        %s = dash.walk (%head, %qi, %turn) init(%a = %zero) : tensor<128x128xf32> {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 accumulate(%a) {dash.order = 1, dash.stage = 1} : (!B, !B) -> tensor<128x128xf32>
          dash.yield %2 : tensor<128x128xf32>
        }
        // expected-error @below {{kernels cover 'dk', 'dv' here, got 'dq'}}
        dash.store %s, %dk[%seq, %kv_head, %kv] {dash.staging = "k"} : tensor<128x128xf32> -> !T
      }
    }
  }
  return
}
gpu.module @stores_need_a_descriptor_kernels attributes {dash.program = {name = "stores_need_a_descriptor", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// Each op of a walk has a place in its order of issue.
func.func @ops_need_an_order(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        dash.walk (%head, %qi, %turn) {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 {dash.order = 1, dash.stage = 0} : (!B, !B) -> tensor<128x128xf32>
          // expected-error @below {{has no 'dash.stage' and 'dash.order'; run --dash-order-products first}}
          dash.take_tensor_core
        }
      }
    }
  }
  return
}
gpu.module @ops_need_an_order_kernels attributes {dash.program = {name = "ops_need_an_order", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}

// -----

!T = memref<?x?x?x128xbf16>
!B = tensor<128x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// One value stands for this step's and the next one's: the next step's is made when this step's has been used.
func.func @values_are_used_before_the_next(%q: !T {dash.name = "q"}, %k: !T {dash.name = "k"}, %v: !T {dash.name = "v"}) {
  dash.workers registers(168) shared_bytes(66560) {
    %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : !C
    %q_tiles = dash.channel "q" depth(1) at([33792], [32768]) : !C
    dash.role "compute" warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %0 = dash.get %k_tiles : !C -> !B
        dash.walk (%head, %qi, %turn) {
          %1 = dash.get %q_tiles {dash.order = 0, dash.stage = 0} : !C -> !B
          %2 = dash.matmul %0, transpose %1 {dash.order = 1, dash.stage = 0} : (!B, !B) -> tensor<128x128xf32>
          // expected-error @below {{uses this step's value after the next step's was made: give it an 'dash.order' below 1}}
          %3 = dash.round %2 {dash.order = 2, dash.stage = 1} : tensor<128x128xf32> to !B
        }
      }
    }
  }
  return
}
gpu.module @values_are_used_before_the_next_kernels attributes {dash.program = {name = "values_are_used_before_the_next", program = {
    head_dim = 128, tiles = {q = 64, kv = 128}, mask = "full", deterministic = true, min_workers = 2}}} {
}
