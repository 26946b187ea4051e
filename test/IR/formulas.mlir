// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// The example of the reference page.
// CHECK-LABEL: func.func private @example
// CHECK: item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
// CHECK: worker(unit) = unit mod workers,
// CHECK: visit(kv, step) = step + first,
// CHECK: turn(kv, q) = if q ge kv and kv eq 3 then q - kv else kv - first>
func.func private @example() attributes {a = #dash.formulas<
  item(i) = (i floordiv kv_tiles, i mod kv_tiles, i),
  worker(unit) = unit mod workers,
  visit(kv, step) = step + first,
  turn(kv, q) = if q ge kv and kv eq 3 then q - kv else kv - first
>}

// Several cases, of a function with several results too.
// CHECK-LABEL: func.func private @cases
// CHECK: item(i) = if i ge 2 then (i, 0, i) else if i eq 1 then (0, 1, i) else (0, i, i),
func.func private @cases() attributes {a = #dash.formulas<
  item(i) = if i ge 2 then (i, 0, i) else if i eq 1 then (0, 1, i) else (0, i, i),
  worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = kv>}

// Every size has its name in its place; products and divisors may be sizes.
// CHECK-LABEL: func.func private @sizes
// CHECK: item(i) = (i floordiv q_tiles, i ceildiv kv_tiles, i mod groups + i * width + i * workers),
// CHECK: worker(unit) = unit * workers,
// CHECK: visit(kv, step) = (kv * q_tiles + step * kv_tiles) mod width,
// CHECK: turn(kv, q) = kv * first + q * last + offset>
func.func private @sizes() attributes {a = #dash.formulas<
  item(i) = (i floordiv q_tiles, i ceildiv kv_tiles, i mod groups + i * width + i * workers),
  worker(unit) = unit * workers,
  visit(kv, step) = (kv * q_tiles + step * kv_tiles) mod width,
  turn(kv, q) = kv * first + q * last + offset>}

// Parentheses stand where they change the meaning, and nowhere else.
// CHECK-LABEL: func.func private @precedence
// CHECK: item(i) = ((i + 1) * 2, i * 2 floordiv 3 + 1, i),
// CHECK: visit(kv, step) = (kv - step) floordiv (width + 1) - (kv + step) * 3,
// CHECK: turn(kv, q) = q_tiles - kv - (q + 1) mod width - 5>
func.func private @precedence() attributes {a = #dash.formulas<
  item(i) = ((i + 1) * 2, i * 2 floordiv 3 + 1, i),
  worker(unit) = unit,
  visit(kv, step) = (kv - step) floordiv (width + 1) - 3 * (kv + step),
  turn(kv, q) = q_tiles - kv - (q + 1) mod width - 5>}

// A condition has positive terms on both sides; `le` is turned round.
// CHECK-LABEL: func.func private @conditions
// CHECK: turn(kv, q) = if q ge kv + 3 then 0 else if kv * 2 ge q then 1 else if q_tiles ge kv then 2 else if kv ge 0 then 3 else -kv>
func.func private @conditions() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit, visit(kv, step) = step,
  turn(kv, q) = if kv + 3 le q then 0 else if 0 le kv * 2 - q then 1
                else if kv le q_tiles then 2 else if kv ge 0 then 3 else -kv>}

// What occurs more than once gets a name, in the order in which it is needed; differences do not.
// CHECK-LABEL: func.func private @lets
// CHECK: visit(kv, step) = let t0 = kv_tiles ceildiv width, t1 = (kv + 1) * t0 in t1 mod t0 + (q_tiles - kv) * t1,
// CHECK: turn(kv, q) = let t0 = kv floordiv 2 in if q ge t0 then q - t0 else t0>
func.func private @lets() attributes {a = #dash.formulas<
  item(i) = (i, 0, 0), worker(unit) = unit,
  visit(kv, step) = let waves = kv_tiles ceildiv width, place = (kv + 1) * waves
                    in place mod waves + (q_tiles - kv) * place,
  turn(kv, q) = if q ge kv floordiv 2 then q - kv floordiv 2 else kv floordiv 2>}
