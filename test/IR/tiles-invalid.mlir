// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{tile size 'q' must be a multiple of 16 from 16 to 256, got 60}}
func.func private @tiles_q_multiple_of_16() attributes {a = #dash.tiles<q = 60, kv = 128>}

// -----

// expected-error @below {{tile size 'kv' must be a multiple of 16 from 16 to 256, got 272}}
func.func private @tiles_kv_at_most_256() attributes {a = #dash.tiles<q = 64, kv = 272>}

// -----

// expected-error @below {{tile size 'q' must be a multiple of 16 from 16 to 256, got 0}}
func.func private @tiles_q_at_least_16() attributes {a = #dash.tiles<q = 0, kv = 128>}

// -----

// expected-error @below {{'fold' must be a power of two from 1 to 64, got 6}}
func.func private @folds_are_powers_of_two() attributes {a = #dash.tiles<q = 16, kv = 128, fold = 6>}

// -----

// expected-error @below {{'fold' must be a power of two from 1 to 64, got -2}}
func.func private @some_heads_are_folded() attributes {a = #dash.tiles<q = 16, kv = 128, fold = -2>}

// -----

// expected-error @below {{tile size 'q' times a fold of 8 must be a multiple of 16 from 16 to 256, got 1 times 8}}
func.func private @tiles_of_folds_have_16_rows() attributes {a = #dash.tiles<q = 1, kv = 128, fold = 8>}

// -----

// expected-error @below {{tile size 'q' times a fold of 4 must be a multiple of 16 from 16 to 256, got 9223372036854775807 times 4}}
func.func private @tiles_of_folds_have_256_rows() attributes {a = #dash.tiles<q = 9223372036854775807, kv = 128, fold = 4>}

// -----

// expected-error @below {{tile size 'kv' must be a multiple of 16 from 16 to 256, got 8}}
func.func private @folds_are_of_q() attributes {a = #dash.tiles<q = 16, kv = 8, fold = 8>}
