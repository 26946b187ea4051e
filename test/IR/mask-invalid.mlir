// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expected a mask rule (full, causal, window = [left, right], blocks = #dash.blocks<...> or union = #dash.union<...>), got 'banded'}}
func.func private @mask_must_be_known() attributes {mask = #dash.mask<banded>}

// -----

// expected-error @below {{expected a mask rule (full, causal, window = [left, right], blocks = #dash.blocks<...> or union = #dash.union<...>)}}
func.func private @mask_may_not_be_empty() attributes {mask = #dash.mask<>}

// -----

// expected-error @below {{expected a mask rule called 'banded', got 3 : i64}}
func.func private @rule_must_be_known() attributes {mask = #dash.mask<banded = 3>}

// -----

// expected-error @below {{'causal' is stated twice}}
func.func private @word_occurs_once() attributes {mask = #dash.mask<causal, window = [3, 0], causal>}

// -----

// expected-error @below {{'full' hides nothing, got another rule beside it}}
func.func private @full_stands_alone() attributes {mask = #dash.mask<causal, full>}

// -----

// expected-error @below {{left and right of a window must be from -1 (no bound) to 2147483647, got [-2, 0]}}
func.func private @window_left() attributes {mask = #dash.mask<window = [-2, 0]>}

// -----

// expected-error @below {{left and right of a window must be from -1 (no bound) to 2147483647, got [512, -7]}}
func.func private @window_right() attributes {mask = #dash.mask<causal, window = [512, -7]>}

// -----

// expected-error @below {{left and right of a window must be from -1 (no bound) to 2147483647, got [512, 2147483648]}}
func.func private @window_too_wide() attributes {mask = #dash.mask<window = [512, 2147483648]>}
