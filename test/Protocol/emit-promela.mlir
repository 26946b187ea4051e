// A producer hands numbers to a consumer through two slots: a process for each role, and steps between which others may come.
// RUN: dash-opt %s --dash-emit-promela -o /dev/null | FileCheck %s

!C = !dash.channel<index>

func.func @numbers() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 4]) : !C
    dash.role "load-c" producer warps(1) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %slot, %phase = dash.ring %c[%i] : !C
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        dash.write_indices %i to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "compute" consumer warps(4) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %slot, %phase = dash.ring %c[%i] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %number = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
  }
  return
}

// CHECK: #define SLOTS 2
// CHECK: #define CELLS 2
// CHECK: #define PROCESSES 2

// Numbers up to the next wait, or the end, are part of the step before.
// CHECK:      inline role0_load_c_numbers() {
// CHECK:        :: at == [[HEAD:[0-9]+]] ->
// CHECK-NEXT:     if
// CHECK-NEXT:     :: [[I:v[0-9]+]] < [[N:v[0-9]+]] ->
// CHECK-NEXT:       at = [[WAIT:[0-9]+]];
// CHECK-NEXT:     :: else ->
// CHECK-NEXT:       at = END; done();

// CHECK:      proctype role0_load_c(byte warp) {
// CHECK:            at == 0 ->
// CHECK-NEXT:       [[N]] = ITEMS; /* dash.num_items */
// CHECK-NEXT:       [[I]] = 0;
// CHECK-NEXT:       at = [[HEAD]];
// CHECK-NEXT:       role0_load_c_numbers();
// CHECK:            at == [[WAIT]] && EMPTY(0 + [[I]] % 2, (([[I]] / 2) % 2)) -> /* dash.mbarrier_wait */
// CHECK-NEXT:       put(0 + [[I]] % 2 * 1, 1, [[I]]); /* dash.write_indices */
// CHECK-NEXT:       arrive(2 * (0 + [[I]] % 2) + 0, 1); /* dash.mbarrier_arrive */
// CHECK-NEXT:       [[I]] = [[I]] + 1;
// CHECK-NEXT:       at = [[HEAD]];

// CHECK:      proctype role1_compute(byte warp) {
// CHECK:            FULL(0 + [[J:v[0-9]+]] % 2, (([[J]] / 2) % 2)) -> /* dash.mbarrier_wait */
// CHECK-NEXT:       see(0 + [[J]] % 2, (([[J]] / 2) % 2), 0 + [[J]] % 2 * 1, 1); /* dash.mbarrier_wait */
// CHECK-NEXT:       get(0 + [[J]] % 2 * 1, 1, [[J]] + 1); /* dash.read_indices */
// CHECK-NEXT:       arrive(2 * (0 + [[J]] % 2) + 1, 4); /* dash.mbarrier_arrive */

// CHECK:      arrivals[2] = 1;
// CHECK-NEXT: arrivals[3] = 4;
// CHECK:      run role0_load_c(0);
// CHECK-NEXT: run role1_compute(0);
