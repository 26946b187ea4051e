// RUN: dash-opt %s --dash-verify-protocol -verify-diagnostics -split-input-file

// Given twice.
func.func @given_twice() {
  dash.workers {
    dash.role "compute0" consumer warps(4) warpgroup(0 of 2) {
      // expected-note @below {{the last time}}
      dash.give_tensor_core
      // expected-error @below {{may give the tensor core to a warpgroup that has not taken it since the last time}}
      dash.give_tensor_core
    }
    dash.role "compute1" consumer warps(4) warpgroup(1 of 2) {
      dash.take_tensor_core
    }
  }
  return
}

// -----

// Given, and never taken.
func.func @never_taken() {
  dash.workers {
    dash.role "compute0" consumer warps(4) warpgroup(0 of 2) {
      // expected-error @below {{gives the tensor core to a warpgroup that never takes it}}
      dash.give_tensor_core
    }
    dash.role "compute1" consumer warps(4) warpgroup(1 of 2) {
      dash.delay
    }
  }
  return
}

// -----

// Taken, and never given: each waits for the other.
func.func @never_given() {
  // expected-error @below {{roles wait for ever, on a list of 0 items}}
  dash.workers {
    dash.role "compute0" consumer warps(4) warpgroup(0 of 2) {
      // expected-note @below {{role 'compute0', waits for the tensor core}}
      dash.take_tensor_core
      dash.give_tensor_core
    }
    dash.role "compute1" consumer warps(4) warpgroup(1 of 2) {
      // expected-note @below {{role 'compute1', waits for the tensor core}}
      dash.take_tensor_core
      dash.give_tensor_core
    }
  }
  return
}

// -----

// A turn that is never passed on.
func.func @turn_never_comes(%dq: memref<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{roles wait for ever, on a list of 0 items}}
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      // expected-note @below {{role 'reduce', warp 0, waits for turn 1 of a tile}}
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c1) : memref<?x?x?x64xf32>
    }
  }
  return
}

// -----

// Given on without having it.
func.func @turn_not_acquired(%dq: memref<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      // expected-error @below {{gives on a turn that the role has not acquired}}
      dash.release_turn %dq[%c0, %c0, %c0] last(%c0) : memref<?x?x?x64xf32>
    }
  }
  return
}

// -----

// No turn is given as the last one.
func.func @counter_stays(%dq: memref<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{the counter of a tile is 1 where all roles end, and must be -1: no turn was given as the chain's last}}
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : memref<?x?x?x64xf32>
      dash.release_turn %dq[%c0, %c0, %c0] last(%c0) : memref<?x?x?x64xf32>
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// Another tile's turn.
func.func @another_tiles_turn(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      // expected-error @below {{adds to a tile whose turn the role has not acquired}}
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c1] : !D into !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// Nothing is there to add to.
func.func @adds_first(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      // expected-error @below {{adds in the first turn of a chain, to sums without a store}}
      dash.bulk_add %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// The sum of the first turn is lost.
func.func @stores_second(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      dash.release_turn %dq[%c0, %c0, %c0] last(%c0) : !F
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c1) : !F
      // expected-error @below {{stores over what turns before have added}}
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// Only read: the sum may not be there yet.
func.func @released_too_early(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
      // expected-error @below {{gives on a turn whose add is not complete}}
      dash.release_turn %dq[%c0, %c0, %c0] last(%c1) : !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// A contribution is lost.
func.func @given_back_unadded(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      // expected-error @below {{gives back use 0 of channel 'd', of which it has not added element 0}}
      dash.mbarrier_arrive %d_tiles empty[%slot] by thread : !D
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// And here it counts twice.
func.func @added_twice(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      dash.release_turn %dq[%c0, %c0, %c0] last(%c0) : !F
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c1) : !F
      // expected-error @below {{adds use 0 of channel 'd' a second time}}
      dash.bulk_add %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// Apart from sums it would take the place of another contribution.
func.func @stored_twice(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c0] keep(%c0) : !D into !F
      // expected-error @below {{stores use 0 of channel 'd' a second time}}
      dash.bulk_store %d_tiles[%slot] into %dq[%c0, %c0, %c0] keep(%c1) : !D into !F
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>
!d = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!F = memref<?x?x?x64xf32>

// In no order, and never waited for.
func.func @ends_too_early(%dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %d_tiles = dash.channel "d" depth(1) arrivals([4, 1]) : !D
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !d
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.store_fragment %zero to %d_tiles[%slot] element(0) : !d to !D
      dash.mbarrier_arrive %d_tiles full[%slot] by warp : !D
    }
    // expected-error @below {{ends while copies or products are under way}}
    dash.role "reduce" reducer warps(1) {
      %slot, %phase = dash.ring %d_tiles[%c0] : !D
      dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
      dash.bulk_add %d_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !F
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
      dash.mbarrier_arrive %d_tiles empty[%slot] by thread : !D
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>
!T = memref<?x?x?x64xbf16>

// Copied out, and waited for until it is read, but not until it is in memory.
func.func @copied_out(%dk: !T) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !K
    // expected-error @below {{ends while copies or products are under way}}
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %zero to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !K to !T
      nvvm.cp.async.bulk.wait_group 0 {read}
    }
  }
  return
}

// -----

// A list of no items has no item 0.
func.func @no_such_item() {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "load" producer warps(1) {
      // expected-error @below {{reads item 0 of a list of 0}}
      %seq, %kv_head, %kv, %first_head, %first, %visits, %rounds = dash.read_item[%c0]
    }
  }
  return
}

// -----

// An item of no step has no visit.
func.func @no_such_visit() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    dash.role "load" producer warps(1) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %seq, %kv_head, %kv, %first_head, %first, %visits, %rounds = dash.read_item[%i]
        // expected-error @below {{reads visit 0 of round 0 of an item with 0 visits in 1 rounds}}
        %head, %q, %turn, %is_last = dash.read_visit %first[%c0] heads(%first_head, %c0)
      }
    }
  }
  return
}

// -----

// A loop that goes nowhere.
func.func @no_end() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    dash.role "load" producer warps(1) {
      // expected-error @below {{runs for ever: 4194304 instructions of all roles come to no end}}
      scf.for %i = %c0 to %c1 step %c0 {
      }
    }
  }
  return
}
