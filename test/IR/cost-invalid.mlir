// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @cost_compute_positive() attributes
  // expected-error @below {{'compute' must be above 0 and at most 1e100, got -1.0}}
  {a = #dash.cost<compute = -1.0, reduce = 1.0, latency = 0.0, buffers = 1>}

// -----

func.func private @cost_reduce_is_a_number() attributes
  // expected-error @below {{'reduce' must be from 0 to 1e100, got nan}}
  {a = #dash.cost<compute = 1.0, reduce = 0x7FF8000000000000, latency = 0.0, buffers = 1>}

// -----

func.func private @cost_latency_not_negative() attributes
  // expected-error @below {{'latency' must be from 0 to 1e100, got -0.5}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = -0.5, buffers = 1>}

// -----

func.func private @cost_latency_finite() attributes
  // expected-error @below {{'latency' must be from 0 to 1e100, got inf}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0x7FF0000000000000, buffers = 1>}

// -----

func.func private @cost_buffers_positive() attributes
  // expected-error @below {{'buffers' must be at least 1, got 0}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 0>}

// -----

func.func private @cost_sums_stay_finite() attributes
  // expected-error @below {{'reduce' must be from 0 to 1e100, got 1.0e+200}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0e200, latency = 0.0, buffers = 1>}

// -----

func.func private @cost_boundary_not_negative() attributes
  // expected-error @below {{'boundary' must be from 0 to 1e100, got -0.5}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1, boundary = -0.5>}

// -----

func.func private @cost_piece_not_negative() attributes
  // expected-error @below {{'piece' must be from 0 to 1e100, got -0.5}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1, piece = -0.5>}

// -----

func.func private @cost_parts_come_last() attributes
  // expected-error @below {{expected boundary, piece, convert or gather, each at most once and in this order}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1, piece = 0.5, boundary = 0.5>}

// -----

func.func private @cost_gather_not_negative() attributes
  // expected-error @below {{'gather' must be from 0 to 1e100, got -0.5}}
  {a = #dash.cost<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1, gather = -0.5>}
