// Errors have a place, and are expected in tests, case by case.
// RUN: dash-opt %s -verify-diagnostics -split-input-file
// RUN: not dash-opt --dash-no-such-pass %s 2>&1 | FileCheck %s

// CHECK: Unknown command line argument '--dash-no-such-pass'

func.func @undefined_value() -> index {
  // expected-error @below {{use of undeclared SSA value name}}
  return %a : index
}

// -----

// expected-error @below {{unregistered dialect}}
"no_such_dialect.op"() : () -> ()
