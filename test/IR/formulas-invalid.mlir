// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @formulas_condition_compares() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit, visit(kv, step) = step,
  // expected-error @below {{expected 'ge', 'le' or 'eq' in a condition of 'turn'}}
  turn(kv, q) = if kv then 0 else 1>}

// -----

// expected-error @below {{'worker' divides by 0, a constant that is not positive}}
func.func private @formulas_divisor_not_zero() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit mod 0, visit(kv, step) = step, turn(kv, q) = 0>}

// -----

// expected-error @below {{'visit' divides by -2, a constant that is not positive}}
func.func private @formulas_divisor_not_negative() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit,
  visit(kv, step) = if step floordiv -2 ge kv then kv else step, turn(kv, q) = 0>}

// -----

func.func private @formulas_names_are_fixed() attributes {a = #dash.formulas<
  // expected-error @below {{use of undeclared identifier}}
  item(i) = (i, 0, first), worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = 0>}

// -----

func.func private @formulas_inputs_are_fixed() attributes {a = #dash.formulas<
  // expected-error @below {{expected 'kv'}}
  item(i) = (i, 0, 0), worker(unit) = unit, visit(step, kv) = step, turn(kv, q) = 0>}

// -----

func.func private @formulas_number_of_results() attributes {a = #dash.formulas<
  // expected-error @below {{expected ','}}
  item(i) = (i, 0), worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = 0>}

// -----

func.func private @formulas_last_case_has_no_condition() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit, visit(kv, step) = step,
  // expected-error @below {{expected 'else'}}
  turn(kv, q) = if kv ge 0 then 0>}

// -----

func.func private @formulas_name_is_new() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit, visit(kv, step) = step,
  // expected-error @below {{'q' already has a meaning in 'turn', choose another name}}
  turn(kv, q) = let q = kv in q>}

// -----

// Fourteen names that double: each by itself is short, what they stand for is not.
func.func private @formulas_are_of_bounded_size() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit,
  visit(kv, step) = let a = kv + step * step, b = a + a * step, c = b + b * step, d = c + c * step, e = d + d * step,
    f = e + e * step, g = f + f * step, h = g + g * step, j = h + h * step, k = j + j * step, l = k + k * step,
    // expected-error @below {{an expression of 'visit' may have at most 16384 terms and operations once names are replaced by what they stand for, got }}
    m = l + l * step, n = m + m * step in n, turn(kv, q) = 0>}
