// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{a list of sequences may not be empty, expected lengths or '?'}}
func.func private @sequences_not_empty() attributes {a = #dash.sequences<>}

// -----

// expected-error @below {{sequence 1 must have at least 1 query row, got 0}}
func.func private @sequences_q_positive() attributes {a = #dash.sequences<[1, 1], [0, 1]>}

// -----

// expected-error @below {{sequence 3 must have at least 1 key row, got -5}}
func.func private @sequences_kv_positive() attributes {a = #dash.sequences<3 x [1, 1], [1, -5]>}

// -----

// expected-error @below {{a run must have at least 1 sequence, got 0}}
func.func private @sequences_run_positive() attributes {a = #dash.sequences<0 x [1, 1]>}

// -----

// expected-error @below {{a list may have at most 1048576 sequences, got 1 and 1048576 more}}
func.func private @sequences_at_most_2_20() attributes {a = #dash.sequences<[1, 1], 1048576 x [2, 2]>}
