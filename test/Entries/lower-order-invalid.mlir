// RUN: dash-opt %s --dash-lower-order -verify-diagnostics

// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = step, turn(kv, q) = kv>} {
}
