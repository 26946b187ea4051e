// RUN: dash-opt %s --dash-overlap-rounding -verify-diagnostics

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' whose sums are rounded; run --dash-assign-roles first}}
module {
}
