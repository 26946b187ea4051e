// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @table_columns() attributes
  // expected-error @below {{table 'items' must be dense elements of type tensor<Nx6xi32>, got 'tensor<2x5xi32>'}}
  {a = #dash.table<items = dense<0> : tensor<2x5xi32>, visits = dense<> : tensor<0x3xi32>>}

// -----

func.func private @table_element_type() attributes
  // expected-error @below {{table 'visits' must be dense elements of type tensor<Tx3xi32>, got 'tensor<2x3xi64>'}}
  {a = #dash.table<items = dense<0> : tensor<2x6xi32>, visits = dense<0> : tensor<2x3xi64>>}

// -----

func.func private @table_is_a_tensor() attributes
  // expected-error @below {{table 'items' must be dense elements of type tensor<Nx6xi32>, got 'vector<2x6xi32>'}}
  {a = #dash.table<items = dense<0> : vector<2x6xi32>, visits = dense<0> : tensor<2x3xi32>>}

// -----

func.func private @table_is_dense() attributes
  // expected-error @below {{table 'items' must be dense elements of type tensor<Nx6xi32>, got sparse elements of type 'tensor<2x6xi32>'}}
  {a = #dash.table<items = sparse<[[0, 0]], [1]> : tensor<2x6xi32>, visits = dense<0> : tensor<2x3xi32>>}
