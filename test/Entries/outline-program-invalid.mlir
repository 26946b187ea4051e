// RUN: dash-opt %s --dash-outline-program -verify-diagnostics -split-input-file

// expected-warning @below {{no 'dash.workers' to make kernels of; run --dash-assign-roles first}}
module @nothing_to_do {
}

// -----

#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#formulas)
%q = builtin.unrealized_conversion_cast to !T
// expected-error @below {{kernels are made of functions, and this stands in none}}
dash.workers {
  dash.role "load" producer warps(1) {
    dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
        (%seq, %kv_head, %kv, %part_turn) {
    }
  }
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#formulas)
func.func @not_proven(%q: !T {dash.tensor = #q}) {
  // expected-error @below {{order '@order' is not proven: it has no min_workers; run --dash-verify-schedule first}}
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
          (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 64>
// A manifest calls the program by its function's name.
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#formulas)
// expected-error @below {{its kernels need a name to stand in a manifest: give the function one, in UTF-8}}
func.func @"not \FF UTF-8"(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v},
    %do: !T {dash.tensor = #do}, %o: !T {dash.tensor = #o}, %lse: memref<1x1x64xf32> {dash.tensor = #lse},
    %dq: !T {dash.tensor = #dq}, %dk: !T {dash.tensor = #dk}, %dv: !T {dash.tensor = #dv}) {
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
          (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
// `min_workers` is stated without a proof: there is no worker 5.
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<[[5, 0, 0, 0, 0, 0]]> : tensor<1x6xi32>, visits = dense<0> : tensor<1x3xi32>>)
func.func @other_table(%q: !T {dash.tensor = #q}) {
  // expected-error @below {{table of order '@order' is not one of its problem; --dash-verify-schedule says why}}
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
          (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#formulas)
// expected-error @below {{expected argument 0 to have a '#dash.tensor_role' ('dash.tensor') of its type, 'memref<1x1x64x64xbf16>', found none; run --dash-tile to put it there}}
func.func @no_names(%q: !T) {
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
          (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#formulas)
// expected-error @below {{its kernels would be called '@taken_kernels', which is taken}}
func.func @taken(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %do: !T {dash.tensor = #do},
                  %o: !T {dash.tensor = #o}, %lse: memref<1x1x64xf32> {dash.tensor = #lse}, %dq: !T {dash.tensor = #dq},
                  %dk: !T {dash.tensor = #dk}, %dv: !T {dash.tensor = #dv}) {
  dash.workers {
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
          (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
gpu.module @taken_kernels {
}
