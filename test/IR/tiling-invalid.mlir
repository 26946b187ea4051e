// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{a product is split among 1 to 8 warpgroups, got 16 x 1}}
func.func private @many_warpgroups() attributes {split = #dash.split<16 x 1>}

// -----

// expected-error @below {{warpgroups split the rows of a product or its columns, not both, got 2 x 2}}
func.func private @rows_and_columns() attributes {split = #dash.split<2 x 2>}

// -----

// expected-error @below {{'columns' must be a positive multiple of 8, got 12}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 12, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {}>

// -----

// expected-error @below {{'columns_v' must be a positive multiple of 8, got 12}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, columns_v = 12, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {}>

// -----

// expected-error @below {{'columns_v' are stated where they are not 'columns', got 128 of both}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, columns_v = 128, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {}>

// -----

// expected-error @below {{a tiling has a split at least}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {}, hold = [], slots = {}>

// -----

// expected-error @below {{products must be split among as many warpgroups, got 2 of 'dk' and 3 of 's'}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {dk = 2 x 1, s = 3 x 1}, hold = [], slots = {}>

// -----

// expected-error @below {{channel 'q' must have a slot at least, got 0}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {q = 0}>

// -----

// expected-error @below {{channel 'out' must have a slot at least, got -1}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {out = -1}>

// -----

// expected-error @below {{holds 'p', which has no slots}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [p], slots = {q = 1}>

// -----

// expected-error @below {{expected each name once, got 'q' twice}}
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {q = 1, q = 2}>

// -----

!T = memref<?x?x?x128xbf16>
#tiling = #dash.tiling<tiles = <q = 128, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [], slots = {}>
func.func @tiles_of_another(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{has a tiling of #dash.tiles<q = 128, kv = 128>, but its tiles are #dash.tiles<q = 64, kv = 128>}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv) {
  }
  return
}
