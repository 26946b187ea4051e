// RUN: dash-opt %s --dash-keep-apart -verify-diagnostics

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' with a reducer; run --dash-assign-roles first}}
module {
}
