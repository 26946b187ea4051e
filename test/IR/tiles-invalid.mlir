// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{tile size 'q' must be a multiple of 16 from 16 to 256, got 60}}
func.func private @tiles_q_multiple_of_16() attributes {a = #dash.tiles<q = 60, kv = 128>}

// -----

// expected-error @below {{tile size 'kv' must be a multiple of 16 from 16 to 256, got 272}}
func.func private @tiles_kv_at_most_256() attributes {a = #dash.tiles<q = 64, kv = 272>}

// -----

// expected-error @below {{tile size 'q' must be a multiple of 16 from 16 to 256, got 0}}
func.func private @tiles_q_at_least_16() attributes {a = #dash.tiles<q = 0, kv = 128>}
