// RUN: dash-opt %s --dash-insert-trace=every=-1 -verify-diagnostics

// expected-error @below {{traced items must be one in 1 to 1048576, or in 0, which leaves it to the level; got one in -1}}
module @fewer_than_none {
}
