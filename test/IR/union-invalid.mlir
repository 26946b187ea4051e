// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @there_are_first_columns() attributes
  // expected-error @below {{'columns' of a union must be from 1 to 2147483647, got 0}}
  {a = #dash.union<columns = 0, window = [512, -1]>}

// -----

func.func private @window_of_a_union() attributes
  // expected-error @below {{left and right of a union's window must be from -1 (no bound) to 2147483647, got [-2, 0]}}
  {a = #dash.union<columns = 4, window = [-2, 0]>}
