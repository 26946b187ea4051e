// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expected a mask (full or causal), got 'banded'}}
func.func private @mask_must_be_known() attributes {mask = #dash.mask<banded>}

// -----

// expected-error @below {{expected a mask (full or causal)}}
func.func private @mask_may_not_be_empty() attributes {mask = #dash.mask<>}

// -----

// expected-error @below {{a mask is either full or causal, got a second word 'full'}}
func.func private @mask_is_one_word() attributes {mask = #dash.mask<causal, full>}
