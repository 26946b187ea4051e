// RUN: dash-opt %s -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// Something has to be handed on.
func.func @has_a_slot(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op depth must be from 1 to 65536, got 0}}
    %tiles = dash.channel "k" depth(0) : !C
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

// A place is both.
func.func @has_offsets_and_strides(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op needs both offsets and strides, or neither}}
    %tiles = "dash.channel"() <{name = "k", depth = 1, offsets = array<i64: 1024>}> : () -> !C
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

// A row vector may lie apart from the tile that it belongs to.
func.func @has_a_place_for_each_element(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op needs an offset and a stride for each of the 2 elements of a slot, got 1 and 2}}
    %tiles = dash.channel "q" depth(1) at([1024], [16384, 256]) : !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>
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

// 64 rows of 128 columns of 2 bytes.
func.func @slots_do_not_overlap(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op element 0 has 16384 bytes, which do not fit a stride of 1024}}
    %tiles = dash.channel "q" depth(2) at([1024], [1024]) : !dash.channel<tensor<64x128xbf16>>
  }
  return
}

// -----

// A slot has a size.
// expected-error @below {{a slot holds ranked tensors of static shape, then indices, got 'f32'}}
func.func private @slot_of_numbers(!dash.channel<f32>)

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

// The end of a ring is a product of its depth.
func.func @rings_end(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op depth must be from 1 to 65536, got 9223372036854775807}}
    %tiles = dash.channel "k" depth(0x7fffffffffffffff) at([1024], [32768]) : !C
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

// No chip has memory there.
func.func @lies_in_shared_memory(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{'dash.channel' op offsets and strides must be from 0 to 2147483647, got -1024}}
    %tiles = dash.channel "k" depth(1) at([-1024], [32768]) : !C
  }
  return
}

// -----

// Bytes are counted in bits of elements.
// expected-error @below {{a slot holds tiles of integers or floats, got 'tensor<64x64xcomplex<f32>>'}}
func.func private @slot_of_pairs(!dash.channel<tensor<64x64xcomplex<f32>>>)

// -----

// Places are counted in bytes.
// expected-error @below {{a tile of a slot has at most 2147483647 bytes, got 'tensor<4611686018427387904x8xf32>'}}
func.func private @slot_of_everything(!dash.channel<tensor<4611686018427387904x8xf32>>)

// -----

!C = !dash.channel<tensor<128x128xbf16>>

// The arrivals at full, and those at empty.
func.func @has_two_barriers() {
  dash.workers {
    // expected-error @below {{'dash.channel' op needs two barriers, full and empty, got 1}}
    %tiles = dash.channel "k" depth(1) barriers([0]) : !C
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>>

// A phase without arrivals never ends.
func.func @somebody_arrives() {
  dash.workers {
    // expected-error @below {{'dash.channel' op needs two numbers of arrivals, full and empty, each at least 1, got array<i64: 0, 1>}}
    %tiles = dash.channel "k" depth(1) arrivals([0, 1]) : !C
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>>

// One for each barrier.
func.func @both_barriers_have_arrivals() {
  dash.workers {
    // expected-error @below {{'dash.channel' op needs two numbers of arrivals, full and empty, each at least 1, got array<i64: 1>}}
    %tiles = dash.channel "k" depth(1) arrivals([1]) : !C
  }
  return
}

// -----

// Indices come last, because they are read together.
// expected-error @below {{a slot holds ranked tensors of static shape, then indices, got 'tensor<64xf32>'}}
func.func private @indices_stand_behind_tiles(!dash.channel<index, tensor<64xf32>>)

// -----

// As many as one load brings.
// expected-error @below {{a slot holds at most 4 indices, got 5}}
func.func private @slot_of_indices(!dash.channel<tensor<64xf32>, index, index, index, index, index>)
