// RUN: dash-opt %s --dash-verify-waits -verify-diagnostics -split-input-file

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @around_a_branch(%condition: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-note @below {{this product}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      // expected-error @below {{begins or ends a branch or a loop while a product is in flight: wait for it first}}
      scf.if %condition {
      }
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @sums_too_early() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-note @below {{this product}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      // expected-error @below {{uses sums of a product in flight: use the results of its 'dash.wgmma_wait'}}
      %p = dash.round %s : !s to !p
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @not_async() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-error @below {{is not 'async', so nothing says where it is complete; run --dash-insert-waits first}}
      %s = dash.matmul %k, transpose %k : (!k, !k) -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @waits_twice() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
      // expected-error @below {{waits for the sums of a product that is not in flight here}}
      %u = dash.wgmma_wait %s pending(0) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @lets_it_go_on() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      // expected-note @below {{this product}}
      %s1 = dash.matmul %k, %k async : (!k, !k) -> !s
      // expected-error @below {{lets the last 1 products go on, and this is one of them}}
      %t:2 = dash.wgmma_wait %s, %s1 pending(1) : !s, !s -> !s, !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @slot_of_its_own() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      // expected-error @below {{has a slot that is none of a use: the slot of a 'dash.ring' of its channel}}
      dash.mbarrier_wait %k_tiles full[%c0] phase(%phase) : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @two_uses() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      %slot1, %phase1 = dash.ring %k_tiles[%c1] : !K
      // expected-error @below {{slot and phase must be those of one use: results of one 'dash.ring'}}
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase1) : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @before_the_wait() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      // expected-error @below {{reads a slot of channel 'k' that is not known to be full: it stands before the wait, or behind the arrival that gives the slot back}}
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// What one branch has waited for, the other has not.
func.func @full_on_one_side(%condition: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      scf.if %condition {
        dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      }
      // expected-error @below {{reads a slot of channel 'k'}}
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// The first turn gives back what the second reads.
func.func @second_turn(%n: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      scf.for %i = %c0 to %n step %c1 {
        // expected-error @below {{reads a slot of channel 'k'}}
        %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
        %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
        %t = dash.wgmma_wait %s pending(0) : !s -> !s
        dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      }
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// A tile of a slot is a name for memory that may have other contents by now.
func.func @tile_of_a_slot_given_back() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      // expected-error @below {{reads a slot of channel 'k'}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @writes_too_early() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
      %p = dash.round %t : !s to !p
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      // expected-error @below {{writes a slot of channel 'k' that is not known to be empty: it stands before the wait, or behind the arrival that gives the slot on}}
      dash.store_fragment %p to %k_tiles[%slot] element(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @released_too_early() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-note @below {{this product}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      // expected-error @below {{a product in flight still reads this slot of channel 'k': wait for it first}}
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @no_fence(%p: !p, %out: memref<?x?x?x128xbf16>) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      // expected-error @below {{hands on a slot of channel 'ds' that threads have written without a proxy fence behind}}
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to memref<?x?x?x128xbf16>
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @back_unasked() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      // expected-error @below {{gives a slot of channel 'k' back that the role has not waited for}}
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @on_unasked() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      // expected-error @below {{gives a slot of channel 'k' on that the role has not waited for}}
      dash.mbarrier_arrive %k_tiles full[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @loads_a_factor_behind_the_arrival() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      // expected-error @below {{reads a slot of channel 'k' that is not known to be full: it stands before the wait, or behind the arrival that gives the slot back}}
      %rows = dash.load_factor %k : !k -> !p
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @forgets_a_factor() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %rows = dash.load_factor %k : !k -> !p
      // expected-note @below {{this product}}
      %s = dash.matmul %rows, %k async : (!p, !k) -> !s
      // expected-error @below {{completes a product whose left factor in registers is not among its 'factors', so they may be overwritten before}}
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @keeps_what_nobody_reads() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %rows = dash.load_factor %k : !k -> !p
      %s = dash.matmul %k, %k async : (!k, !k) -> !s
      // expected-error @below {{keeps a factor that none of the products it completes reads}}
      %t = dash.wgmma_wait %s pending(0) factors(%rows : !p) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// One thread copies what all have written.
func.func @copies_unmet(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      // expected-error @below {{copies rows of channel 'ds' before all threads have fenced what they wrote there: they meet at a 'dash.sync_warpgroup' first}}
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// They meet behind their fences, not in front.
func.func @meets_unfenced(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      dash.sync_warpgroup
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      // expected-error @below {{copies rows of channel 'ds' before all threads have fenced what they wrote there: they meet at a 'dash.sync_warpgroup' first}}
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// Only the thread that copied has waited until the slot was read.
func.func @writes_under_a_copy(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      dash.sync_warpgroup
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
      nvvm.cp.async.bulk.wait_group 0 {read}
      // expected-error @below {{writes a slot of channel 'ds' that a copy of one thread may still read: that thread waits for the copy, and the others meet it at a 'dash.sync_warpgroup' first}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// They meet, but no thread has waited.
func.func @writes_unread(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      dash.sync_warpgroup
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
      dash.sync_warpgroup
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
      // expected-error @below {{writes a slot of channel 'ds' that a copy of one thread may still read: that thread waits for the copy, and the others meet it at a 'dash.sync_warpgroup' first}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// A turn of the loop before may have taken any slot.
func.func @writes_what_a_turn_before_copies(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      scf.for %i = %c0 to %c0 step %c0 {
        dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
        // expected-error @below {{writes a slot of channel 'ds' that a copy of one thread may still read: that thread waits for the copy, and the others meet it at a 'dash.sync_warpgroup' first}}
        dash.store_fragment %p to %ds_tiles[%slot] element(0) : !p to !K
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        dash.mbarrier_arrive %ds_tiles full[%slot] by warp : !K
        dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
        dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        dash.sync_warpgroup
        dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
      }
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// A borrowed slot is not passed on: a role that waits until it is full would find results in it.
func.func @hands_on_what_it_borrows(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      // expected-error @below {{gives a slot of channel 'ds' on that the role has not waited for}}
      dash.mbarrier_arrive %ds_tiles full[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

func.func @fills_what_it_borrows(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !K
      // expected-error @below {{fills a slot of channel 'ds' that is borrowed, and stays empty}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

func.func @leaves_unborrowed(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
      // expected-error @below {{leaves through a slot of channel 'ds' that is not borrowed: its wait must say 'borrows'}}
      dash.store_fragment %p to %ds_tiles[%slot] element(0) slice(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

func.func @copies_unborrowed(%p: !p, %out: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %ds_tiles[%c0] : !K
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
      // expected-error @below {{copies out of a slot of channel 'ds' that is not borrowed: others may write and read it}}
      dash.copy_out %ds_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
    }
  }
  return
}

// -----

!Q = !dash.channel<tensor<64x128xbf16, #dash.swizzled>, tensor<64xf32>>
!row = tensor<64xf32, #dash.fragment<per_column, replicated by 2>>

// Threads read by another proxy than the copy engine writes, so a fence stands between. That of one branch is none for the other.
func.func @rows_read_unfenced(%condition: i1) {
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) : !Q
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %q_tiles[%c0] : !Q
      dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !Q
      %lse = dash.load_row %q_tiles[%slot] element(1) : !Q -> !row
      scf.if %condition {
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      }
      // expected-error @below {{gives back a slot of channel 'q' that threads have read without a proxy fence behind: the next copy into it may come before}}
      dash.mbarrier_arrive %q_tiles empty[%slot] by warp : !Q
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x128xf32>>
!T = memref<?x?x?x128xf32>

// What the acquire of a turn has shown to the thread it has not shown to the copy engine.
func.func @adds_unfenced(%dq: !T) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !D
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !T
      %slot, %phase = dash.ring %dq_tiles[%c0] : !D
      dash.mbarrier_wait %dq_tiles full[%slot] phase(%phase) : !D
      // expected-error @below {{changes sums behind the acquire of their turn without a proxy fence (async.global) between: the copy engine may not see them yet}}
      dash.bulk_add %dq_tiles[%slot] into %dq[%c0, %c0, %c0] : !D into !T
      dash.mbarrier_arrive %dq_tiles empty[%slot] by thread : !D
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>, index>
!s = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>

func.func @hides_behind_the_release(%log: !s, %lead: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %kv = dash.read_indices %k_tiles[%slot] : !K -> index
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      // expected-error @below {{reads a slot of channel 'k' that is not known to be full: it stands before the wait, or behind the arrival that gives the slot back}}
      %shown = dash.hide %log band(%lead, %kv) again(%k_tiles[%slot] indices([0]) : !K) : !s
    }
  }
  return
}

// -----

!P = !dash.channel<tensor<64x64xf32>>

// What threads pass to threads needs no fence, but its slot must be full.
func.func @passed_too_early() {
  dash.workers {
    %p_tiles = dash.channel "p" depth(1) : !P
    dash.role "dk" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %p_tiles[%c0] : !P
      dash.mbarrier_wait %p_tiles full[%slot] phase(%phase) : !P
      %p = dash.load_fragment %p_tiles[%slot] element(0) : !P -> tensor<64x64xf32>
      dash.mbarrier_arrive %p_tiles empty[%slot] by warp : !P
      // expected-error @below {{reads a slot of channel 'p' that is not known to be full: it stands before the wait, or behind the arrival that gives the slot back}}
      %late = dash.load_fragment %p_tiles[%slot] element(0) : !P -> tensor<64x64xf32>
    }
  }
  return
}

// -----

!P = !dash.channel<tensor<64x64xf32>>

// What the copy engine adds needs one.
func.func @added_unfenced(%tile: tensor<64x64xf32>) {
  dash.workers {
    %p_tiles = dash.channel "p" depth(1) : !P
    dash.role "dv" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %p_tiles[%c0] : !P
      dash.mbarrier_wait %p_tiles empty[%slot] phase(%phase) : !P
      dash.store_fragment %tile to %p_tiles[%slot] element(0) : tensor<64x64xf32> to !P
      // expected-error @below {{hands on a slot of channel 'p' that threads have written without a proxy fence behind}}
      dash.mbarrier_arrive %p_tiles full[%slot] by warp : !P
    }
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %p_tiles[%c0] : !P
      dash.mbarrier_wait %p_tiles full[%slot] phase(%phase) : !P
    }
  }
  return
}

// -----

!P = !dash.channel<tensor<64x64xf32>>

// So does what it stores for a consumer.
func.func @stored_unfenced(%tile: tensor<64x64xf32>, %sums: memref<?x?x?x64xf32>) {
  dash.workers {
    %p_tiles = dash.channel "p" depth(1) : !P
    dash.role "dv" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %p_tiles[%c0] : !P
      dash.mbarrier_wait %p_tiles empty[%slot] phase(%phase) : !P
      dash.store_fragment %tile to %p_tiles[%slot] element(0) : tensor<64x64xf32> to !P
      // expected-error @below {{hands on a slot of channel 'p' that threads have written without a proxy fence behind}}
      dash.mbarrier_arrive %p_tiles full[%slot] by warp : !P
    }
    dash.role "store" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %p_tiles[%c0] : !P
      dash.mbarrier_wait %p_tiles full[%slot] phase(%phase) : !P
      dash.bulk_store %p_tiles[%slot] into %sums[%c0, %c0, %c0] : !P into memref<?x?x?x64xf32>
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// A warp knows of its own products that they have read, not of those of others.
func.func @takes_a_place_that_is_read(%p: !p, %condition: i1) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      scf.if %condition {
        %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
        %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
        %t = dash.wgmma_wait %s pending(0) : !s -> !s
      } else {
        dash.sync_warpgroup
      }
      // expected-error @below {{writes a slot of channel 'k' that products of other warps may still read: behind the wait for them, warps meet at a 'dash.sync_warpgroup' first}}
      dash.store_fragment %p to %k_tiles[%slot] element(0) slice(0) : !p to !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @takes_a_place_in_flight(%p: !p) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      // expected-note @below {{this product}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      dash.sync_warpgroup
      // expected-error @below {{a product in flight still reads this slot of channel 'k': wait for it first}}
      dash.store_fragment %p to %k_tiles[%slot] element(0) slice(0) : !p to !K
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

func.func @reads_behind_a_result(%p: !p) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      dash.store_fragment %p to %k_tiles[%slot] element(0) slice(0) : !p to !K
      // expected-error @below {{reads a slot of channel 'k' where a result lies that leaves}}
      %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
      %t = dash.wgmma_wait %s pending(0) : !s -> !s
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
!T = memref<?x?x?x128xbf16>

// The thread that began the copy knows that it has read; the others do not.
func.func @gives_back_what_leaves(%p: !p, %out: !T) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      dash.store_fragment %p to %k_tiles[%slot] element(0) slice(0) : !p to !K
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      dash.sync_warpgroup
      dash.copy_out %k_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
      nvvm.cp.async.bulk.wait_group 0 {read}
      // expected-error @below {{gives back a slot of channel 'k' that a copy of one thread may still read: that thread waits for the copy, and the others meet it at a 'dash.sync_warpgroup' first}}
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!T = memref<?x?x?x128xbf16>

// What was loaded is no result.
func.func @copies_a_loaded_tile(%out: !T) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      // expected-error @below {{copies out of a slot of channel 'k' that is not borrowed: others may write and read it}}
      dash.copy_out %k_tiles[%slot] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to !T
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
    }
  }
  return
}
