// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @search_version() attributes
  // expected-error @below {{'version' must be at least 1, got 0}}
  {a = #dash.search<version = 0, budget = 131072, dq_limit = 0>}

// -----

func.func private @search_budget() attributes
  // expected-error @below {{'budget' must be at least 1, got 0}}
  {a = #dash.search<version = 1, budget = 0, dq_limit = 0>}

// -----

func.func private @search_dq_limit() attributes
  // expected-error @below {{'dq_limit' must be at least 0, got -1}}
  {a = #dash.search<version = 1, budget = 1, dq_limit = -1>}
