// RUN: dash-opt %s --dash-verify-protocol -verify-diagnostics -split-input-file

!C = !dash.channel<index>

// What is run needs arrivals.
func.func @no_arrivals() {
  dash.workers {
    // expected-error @below {{does not say how many arrive at its barriers; run --dash-insert-waits first}}
    %c = dash.channel "c" depth(1) : !C
    dash.role "load" producer warps(1) {
      dash.delay
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// A consumer of two warpgroups is two processes.
func.func @not_split() {
  dash.workers {
    // expected-error @below {{is of 2 warpgroups; run --dash-split-warpgroups first}}
    dash.role "compute" consumer warps(8) {
      dash.take_tensor_core
      dash.give_tensor_core
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// What an op does must be known.
func.func @unknown_op() {
  dash.workers {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{is unknown to the proof of the protocol: what it does to slots and barriers must be said by SlotAccessInterface, SyncInterface or SumAccessInterface}}
      gpu.barrier
    }
  }
  return
}

// -----

// And what number it gives.
func.func @unknown_number() {
  %c1 = arith.constant 1 : index
  dash.workers {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{gives a number that the proof of the protocol does not know: how it is computed must be said in RoleProgram.cpp}}
      %use = arith.shli %c1, %c1 : index
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// A slot is that of a use.
func.func @no_use() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      // expected-error @below {{has a slot that is none of a use: the slot of a 'dash.ring' of its channel}}
      dash.mbarrier_wait %c empty[%c0] phase(%c0) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// The phase of another use.
func.func @wrong_phase() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-error @below {{waits with phase 1 for use 0, whose phase is 0}}
      dash.mbarrier_wait %c empty[%slot] phase(%c1) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// One slot is given, two are waited for.
func.func @waits_for_ever() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{roles wait for ever, on a list of 0 items}}
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
      dash.write_indices %c0 to %c[%slot] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c1] : !C
      // expected-note @below {{role 'compute', waits for use 1 of channel 'c' to be full}}
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// This role does not know that phase 0 is complete.
func.func @skips_a_phase() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      scf.for %i = %c0 to %c2 step %c1 {
        %slot, %phase = dash.ring %c[%i] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c1] : !C
      // expected-error @below {{waits until 2 phases are complete, and does not know that 1 are: a parity cannot tell them apart}}
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// The loader does not wait for this role, which comes too late.
func.func @too_late() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      scf.for %i = %c0 to %c2 step %c1 {
        %slot, %phase = dash.ring %c[%i] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-error @below {{waits until 1 phases are complete, but 2 may be: a parity cannot tell them apart}}
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// Or in time, but by luck.
func.func @by_luck() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    %d = dash.channel "d" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
      %d0, %d_phase = dash.ring %d[%c0] : !C
      dash.mbarrier_wait %d full[%d0] phase(%d_phase) : !C
      %next, %next_phase = dash.ring %c[%c1] : !C
      // expected-error @below {{may complete phase 1 before a wait for the phase before has looked}}
      dash.mbarrier_arrive %c full[%next] by thread : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-note @below {{this wait}}
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
    }
    dash.role "other" producer warps(1) {
      %d0, %d_phase = dash.ring %d[%c0] : !C
      dash.mbarrier_arrive %d full[%d0] by thread : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// Four warps arrive where two are counted.
func.func @arrives_too_often() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 2]) : !C
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-error @below {{arrives 2 times more than the 2 arrivals that complete a phase}}
      dash.mbarrier_arrive %c empty[%slot] by warp : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// Read before the wait.
func.func @read_without_wait() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-note @below {{this op}}
      dash.write_indices %c0 to %c[%slot] : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-error @below {{reads element 0 of use 0 of channel 'c' without being ordered behind what writes it}}
      %i = dash.read_indices %c[%slot] : !C -> index
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// Read where nothing is.
func.func @nothing_there() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      // expected-error @below {{reads element 0 of use 0 of channel 'c' before anything is written there}}
      %i = dash.read_indices %c[%slot] : !C -> index
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// What lies there is of another use.
func.func @another_use() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c1] : !C
      // expected-note @below {{this op wrote it}}
      dash.write_indices %c0 to %c[%slot] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
      // expected-error @below {{reads element 0 of use 0 of channel 'c' where use 1 lies}}
      %i = dash.read_indices %c[%slot] : !C -> index
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// Written before it is read.
func.func @written_before_it_is_read() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    %d = dash.channel "d" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.write_indices %c0 to %c[%slot] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
      %d0, %d_phase = dash.ring %d[%c0] : !C
      dash.mbarrier_wait %d full[%d0] phase(%d_phase) : !C
      // expected-error @below {{writes element 0 of use 0 of channel 'c' without being ordered behind what reads it}}
      dash.write_indices %c0 to %c[%slot] : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
      // expected-note @below {{this op}}
      %i = dash.read_indices %c[%slot] : !C -> index
    }
    dash.role "other" producer warps(1) {
      %d0, %d_phase = dash.ring %d[%c0] : !C
      dash.mbarrier_arrive %d full[%d0] by thread : !C
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!k = tensor<64x64xbf16, #dash.swizzled>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>
!s = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>

// A slot is given back while a product reads it.
func.func @written_while_a_product_reads(%k: memref<?x?x?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) arrivals([1, 4]) : !K
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles empty[%slot] phase(%phase) : !K
      dash.mbarrier_expect %k_tiles[%slot] bytes(8192) : !K
      dash.copy_in %k[%c0, %c0, %c0] to %k_tiles[%slot] element(0) : memref<?x?x?x64xbf16> to !K
      %next, %next_phase = dash.ring %k_tiles[%c1] : !K
      dash.mbarrier_wait %k_tiles empty[%next] phase(%next_phase) : !K
      // expected-error @below {{writes element 0 of use 1 of channel 'k' while a copy or a product still reads it}}
      dash.copy_in %k[%c0, %c0, %c0] to %k_tiles[%next] element(0) : memref<?x?x?x64xbf16> to !K
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k0 = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-note @below {{this op}}
      %s = dash.matmul %k0, transpose %k0 async : (!k, !k) -> !s
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!k = tensor<64x64xbf16, #dash.swizzled>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>
!s = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>

// Results leave through the slot, and are no factor.
func.func @results_lie_there() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !K
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      // expected-note @below {{this op wrote it}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      %t = dash.slot_tile %ds_tiles[%slot] element(0) : !K -> !k
      // expected-error @below {{reads element 0 of use 0 of channel 'ds' where slice 0 of a consumer's results lies}}
      %s = dash.matmul %t, transpose %t async : (!k, !k) -> !s
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x128xbf16, #dash.fragment<operand, rows by 1>>

// Of a tile that leaves in two pieces the slot has the other one.
func.func @the_other_piece(%dk: memref<?x?x?x128xbf16>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !C
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !C
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !C
      // expected-note @below {{this op wrote it}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !C
      // expected-error @below {{reads element 0 of use 0 of channel 'ds' where slice 0 of a consumer's results lies}}
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(1) : !C to memref<?x?x?x128xbf16>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>

// dK's copy would take what was dV.
func.func @leaves_once(%dv: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !C
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !C
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !C
      // expected-note @below {{this op wrote it}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !C
      dash.copy_out %ds_tiles[%slot] element(0) to %dv[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x64xbf16>
      // expected-error @below {{copies element 0 of use 0 of channel 'ds' out, and nothing has been written there since it has left}}
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x64xbf16>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x128xbf16, #dash.fragment<operand, rows by 1>>

// Half of the tile stays behind.
func.func @leaves_whole(%dk: memref<?x?x?x128xbf16>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !C
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !C
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !C
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !C
      // expected-error @below {{copies results out of which slice 1 of tile (0, 0, 0) leaves 0 times from warpgroup 0, expected 1: as often as all slices of all results}}
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x128xbf16>
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!W = !dash.channel<tensor<64x128xbf16, #dash.swizzled>>
!p = tensor<64x128xbf16, #dash.fragment<operand, rows by 1>>

// Half of a tile, and then all of it.
func.func @leaves_in_one_width(%dk: memref<?x?x?x128xbf16>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %narrow = dash.channel "ds" depth(1) arrivals([4, 4]) : !C
    %wide = dash.channel "v" depth(1) arrivals([4, 4]) : !W
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %narrow[%c0] : !C
      %there, %phase_there = dash.ring %wide[%c0] : !W
      dash.mbarrier_wait %narrow empty[%slot] phase(%phase) borrows : !C
      dash.mbarrier_wait %wide empty[%there] phase(%phase_there) borrows : !W
      dash.store_fragment %p to %narrow[%slot] element(0) slice(0) : !p to !C
      dash.store_fragment %p to %wide[%there] element(0) slice(0) : !p to !W
      // expected-note @below {{this op copies it too}}
      dash.copy_out %narrow[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x128xbf16>
      // expected-error @below {{copies out a tile in slices of another width}}
      dash.copy_out %wide[%there] element(0) to %dk[%c0, %c0, %c0] slice(0) : !W to memref<?x?x?x128xbf16>
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>

// dV leaves for two tiles, and dK for one.
func.func @leave_alike(%dv: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) arrivals([4, 4]) : !C
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !C
      %slot_1, %phase_1 = dash.ring %ds_tiles[%c1] : !C
      %slot_2, %phase_2 = dash.ring %ds_tiles[%c2] : !C
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !C
      dash.mbarrier_wait %ds_tiles empty[%slot_1] phase(%phase_1) borrows : !C
      dash.mbarrier_wait %ds_tiles empty[%slot_2] phase(%phase_2) borrows : !C
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !C
      dash.store_fragment %p to %ds_tiles[%slot_1] element(0) slice(0) : !p to !C
      dash.store_fragment %p to %ds_tiles[%slot_2] element(0) slice(0) : !p to !C
      dash.copy_out %ds_tiles[%slot] element(0) to %dv[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x64xbf16>
      dash.copy_out %ds_tiles[%slot_1] element(0) to %dv[%c0, %c0, %c1] slice(0) : !C to memref<?x?x?x64xbf16>
      // expected-error @below {{copies results out of which slice 0 of tile (0, 0, 1) leaves 0 times from warpgroup 0, expected 1: as often as all slices of all results}}
      dash.copy_out %ds_tiles[%slot_2] element(0) to %dk[%c0, %c0, %c0] slice(0) : !C to memref<?x?x?x64xbf16>
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>

// The slot stays empty, but the role that fills it next waits until the results have left.
func.func @results_still_leave(%dk: memref<?x?x?x64xbf16>) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !K
    dash.role "compute" consumer warps(4) {
      %p = arith.constant dense<0.0> : !p
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      // expected-note @below {{this op}}
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !K to memref<?x?x?x64xbf16>
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
      // expected-error @below {{writes element 0 of use 0 of channel 'ds' while a copy or a product still reads it}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!k = tensor<64x64xbf16, #dash.swizzled>
!p = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>
!s = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>

// The slot of this factor is unknown.
func.func @unnamed_factor() {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "compute" consumer warps(4) {
      %k0 = arith.constant dense<0.0> : !k
      // expected-error @below {{has a factor in a slot that no 'dash.slot_tile' names}}
      %s = dash.matmul %k0, transpose %k0 async : (!k, !k) -> !s
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// A slot that is filled and never emptied.
func.func @not_empty_at_the_end() {
  %c0 = arith.constant 0 : index
  dash.workers {
    // expected-error @below {{slot 1 of channel 'c' is not empty where all roles end}}
    %c = dash.channel "c" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %c[%c1] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
    }
  }
  return
}

// -----

!C = !dash.channel<index>

// There is nothing in front of the first use.
func.func @use_before_the_first() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %use = arith.subi %c0, %c1 : index
      %slot, %phase = dash.ring %c[%use] : !C
      // expected-error @below {{is at use -1 of channel 'c', and uses are counted from 0}}
      dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
    }
  }
  return
}

// -----

// Two warpgroups are number 0 and 1.
func.func @no_such_warpgroup() {
  dash.workers {
    // expected-error @below {{is warpgroup 2 of 2, which are counted from 0}}
    dash.role "compute" consumer warps(4) warpgroup(2 of 2) {
      dash.delay
    }
  }
  return
}

// -----

!C = !dash.channel<index, index>
!P = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
// What hides looks at the kv tile again, so its slot must still be held.
func.func @hides_by_what_is_gone() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %log = arith.constant dense<0.0> : !P
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.write_indices %c0, %c0 to %c[%slot] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
      %next, %next_phase = dash.ring %c[%c1] : !C
      dash.mbarrier_wait %c empty[%next] phase(%next_phase) : !C
      // expected-error @below {{writes element 0 of use 1 of channel 'c' without being ordered behind what reads it}}
      dash.write_indices %c1, %c1 to %c[%next] : !C
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
      %told:2 = dash.read_indices %c[%slot] : !C -> index, index
      dash.mbarrier_arrive %c empty[%slot] by warp : !C
      // expected-note @below {{this op}}
      %shown = dash.hide %log band(%told#0, %told#1) again(%c[%slot] indices([1]) : !C) : !P
    }
  }
  return
}

// -----

!C = !dash.channel<index, index>
!P = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
// What hides has been told the kv tile, and reads another number where it says that it stands.
func.func @hides_by_another_number() {
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %log = arith.constant dense<0.0> : !P
  dash.workers {
    %c = dash.channel "c" depth(1) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.write_indices %c3, %c7 to %c[%slot] : !C
      dash.mbarrier_arrive %c full[%slot] by thread : !C
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %c[%c0] : !C
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
      %told:2 = dash.read_indices %c[%slot] : !C -> index, index
      // expected-error @below {{was told 7 and reads 3 again, as index 0 of its slot}}
      %shown = dash.hide %log band(%told#0, %told#1) again(%c[%slot] indices([0]) : !C) : !P
      dash.mbarrier_arrive %c empty[%slot] by warp : !C
    }
  }
  return
}
