// RUN: dash-opt %s --dash-verify-protocol -verify-diagnostics -split-input-file

!C = !dash.channel<index>
// The arrivals of one reader alone: what the first gives back, the second may still read.
func.func @arrivals_of_one() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  dash.workers {
    // expected-error @below {{a slot of channel 'c' is empty behind 4 arrivals, but roles that give it back arrive 8 times}}
    %c = dash.channel "c" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        dash.write_indices %use to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    // expected-note @below {{role 'dv' arrives 4 times}}
    dash.role "dv" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
    // expected-note @below {{role 'dk' arrives 4 times}}
    dash.role "dk" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
  }
  return
}

// -----

!C = !dash.channel<index>
// A second release stands for that of another reader.
func.func @released_twice() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 8]) : !C
    dash.role "load" producer warps(1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        // expected-error @below {{writes element 0 of use 2 of channel 'c' without being ordered behind what reads it}}
        dash.write_indices %use to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "dv" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
    dash.role "dk" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        // expected-note @below {{this op}}
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
  }
  return
}

// -----

!C = !dash.channel<index>
// A slot that one reader keeps is never empty.
func.func @never_released() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{roles wait for ever, on a list of 0 items}}
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 8]) : !C
    dash.role "load" producer warps(1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        // expected-note @below {{role 'load', waits for use 2 of channel 'c' to be empty}}
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        dash.write_indices %use to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "dv" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        // expected-note @below {{role 'dv', waits for use 2 of channel 'c' to be full}}
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
    dash.role "dk" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        // expected-note @below {{role 'dk', waits for use 2 of channel 'c' to be full}}
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
      }
    }
  }
  return
}

// -----

!C = !dash.channel<index>
// A reader that releases before its wait reads what may be written.
func.func @released_before_the_wait() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 8]) : !C
    dash.role "load" producer warps(1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        // expected-error @below {{writes element 0 of use 2 of channel 'c' without being ordered behind what reads it}}
        dash.write_indices %use to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "dv" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
    dash.role "dk" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        // expected-note @below {{this op}}
        %told = dash.read_indices %c[%slot] : !C -> index
      }
    }
  }
  return
}

// -----

// Copies of a consumer are found by where they stand.
func.func @copies_stand_together() {
  dash.workers {
    dash.role "dk0" consumer warps(4) warpgroup(0 of 2) {
      dash.delay
    }
    dash.role "dv0" consumer warps(4) warpgroup(0 of 1) {
      dash.delay
    }
    // expected-error @below {{is warpgroup 1 of 2, and does not stand behind warpgroup 0 of the same consumer}}
    dash.role "dk1" consumer warps(4) warpgroup(1 of 2) {
      dash.delay
    }
  }
  return
}
