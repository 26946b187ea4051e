// RUN: dash-opt %s --dash-insert-trace=records=2 -verify-diagnostics

// expected-error @below {{records of a lane must be from 3 to 16777216, got 2}}
module @too_few {
}
