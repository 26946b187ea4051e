// RUN: dash-opt %s --dash-verify-protocol -verify-diagnostics -split-input-file
// RUN: sed -e "/expected-error/d" -e "/constant/s/c1 = arith.constant 1/c1 = arith.constant 0/" %s | dash-opt --dash-verify-protocol -split-input-file -o /dev/null
// In the second run each program takes tile 0 throughout, and nothing is wrong.

!T = memref<?x?x?x64xbf16>
!X = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!In = !dash.channel<!X, !X>
// A sum over rows of two tiles, as in dV: they must be the same rows.
func.func @other_rows(%q: !T) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 4]) : !In
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(16384) : !In
      dash.copy_in %q[%c0, %c0, %c0] to %in[%slot] element(0) : !T to !In
      dash.copy_in %q[%c0, %c0, %c1] to %in[%slot] element(1) : !T to !In
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      %x = dash.slot_tile %in[%slot] element(0) : !In -> !X
      %y = dash.slot_tile %in[%slot] element(1) : !In -> !X
      // expected-error @below {{brings together what is of sequence 0, head 0, tile 0, and what is of sequence 0, head 0, tile 1}}
      %sum = dash.matmul transpose %x, %y async : (!X, !X) -> !S
      %done = dash.wgmma_wait %sum pending(0) : !S -> !S
      dash.mbarrier_arrive %in empty[%slot] by warp : !In
    }
  }
  return
}

// -----

!T = memref<?x?x?x64xbf16>
!X = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!In = !dash.channel<!X, !X>
// Scores are of one sequence.
func.func @other_sequence(%q: !T) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 4]) : !In
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(16384) : !In
      dash.copy_in %q[%c0, %c0, %c0] to %in[%slot] element(0) : !T to !In
      dash.copy_in %q[%c1, %c0, %c0] to %in[%slot] element(1) : !T to !In
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      %x = dash.slot_tile %in[%slot] element(0) : !In -> !X
      %y = dash.slot_tile %in[%slot] element(1) : !In -> !X
      // expected-error @below {{multiplies rows of sequence 0 by rows of sequence 1}}
      %sum = dash.matmul %x, transpose %y async : (!X, !X) -> !S
      %done = dash.wgmma_wait %sum pending(0) : !S -> !S
      dash.mbarrier_arrive %in empty[%slot] by warp : !In
    }
  }
  return
}

// -----

!T = memref<?x?x?x64xbf16>
!X = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!In = !dash.channel<!X>
// What hides has S of kv tile 0, and is told of another.
func.func @told_of_another(%q: !T) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 4]) : !In
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(8192) : !In
      dash.copy_in %q[%c0, %c0, %c0] to %in[%slot] element(0) : !T to !In
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      %x = dash.slot_tile %in[%slot] element(0) : !In -> !X
      %s = dash.matmul %x, transpose %x async : (!X, !X) -> !S
      %done = dash.wgmma_wait %s pending(0) : !S -> !S
      // expected-error @below {{is told sequence 0, head 0, tile 1, and has rows of sequence 0, head 0, tile 0}}
      %shown = dash.hide %done band(%c0, %c1) : !S
      dash.mbarrier_arrive %in empty[%slot] by warp : !In
    }
  }
  return
}

// -----

!T = memref<?x?x?x64xbf16>
!F = memref<?x?x?x64xf32>
!X = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!In = !dash.channel<!X>
!Out = !dash.channel<!S>
// The role that adds finds the tile by itself, and another one.
func.func @adds_to_another(%q: !T, %dq: !F) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 4]) : !In
    %out = dash.channel "out" depth(1) arrivals([4, 1]) : !Out
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(8192) : !In
      dash.copy_in %q[%c0, %c0, %c0] to %in[%slot] element(0) : !T to !In
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      %x = dash.slot_tile %in[%slot] element(0) : !In -> !X
      %s = dash.matmul %x, transpose %x async : (!X, !X) -> !S
      %done = dash.wgmma_wait %s pending(0) : !S -> !S
      dash.mbarrier_arrive %in empty[%slot] by warp : !In
      %to, %to_phase = dash.ring %out[%c0] : !Out
      dash.mbarrier_wait %out empty[%to] phase(%to_phase) : !Out
      dash.store_fragment %done to %out[%to] element(0) : !S to !Out
      dash.mbarrier_arrive %out full[%to] by warp : !Out
    }
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %out[%c0] : !Out
      dash.mbarrier_wait %out full[%slot] phase(%phase) : !Out
      // expected-error @below {{hands what is of sequence 0, head 0, tile 0 to sequence 0, head 0, tile 1}}
      dash.bulk_add %out[%slot] into %dq[%c0, %c0, %c1] : !Out into !F
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      dash.mbarrier_arrive %out empty[%slot] by thread : !Out
    }
  }
  return
}

// -----

!T = memref<?x?x?x64xbf16>
!D = memref<?x4096xbf16>
!X = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!In = !dash.channel<!X, !X>
// dS of another program has the rows of a kv tile: K must be of the same.
func.func @other_keys(%k: !T, %ds: !D) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 4]) : !In
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(16384) : !In
      dash.copy_in %ds[%c0, %c0, %c0] with(%c0, %c1) mask(<full>) to %in[%slot] element(0) : !D to !In
      dash.copy_in %k[%c0, %c0, %c0] to %in[%slot] element(1) : !T to !In
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      %x = dash.slot_tile %in[%slot] element(0) : !In -> !X
      %y = dash.slot_tile %in[%slot] element(1) : !In -> !X
      // expected-error @below {{brings together what is of sequence 0, head 0, tile 1, and what is of sequence 0, head 0, tile 0}}
      %sum = dash.matmul transpose %x, %y async : (!X, !X) -> !S
      %done = dash.wgmma_wait %sum pending(0) : !S -> !S
      dash.mbarrier_arrive %in empty[%slot] by warp : !In
    }
  }
  return
}

// -----

!D = memref<?x4096xbf16>
!X = tensor<64x64xbf16, #dash.swizzled>
!In = !dash.channel<!X>
// A tile of a task is kept where its own kv tile has it.
func.func @kept_elsewhere(%ds: !D, %kept: !D) {
  dash.workers {
    %in = dash.channel "in" depth(1) arrivals([1, 1]) : !In
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in empty[%slot] phase(%phase) : !In
      dash.mbarrier_expect %in[%slot] bytes(8192) : !In
      dash.copy_in %ds[%c0, %c0, %c0] with(%c0, %c1) mask(<full>) to %in[%slot] element(0) : !D to !In
    }
    dash.role "keep" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %in[%c0] : !In
      dash.mbarrier_wait %in full[%slot] phase(%phase) : !In
      // expected-error @below {{hands what is of sequence 0, head 0, tile 1 to sequence 0, head 0, tile 0}}
      dash.copy_task_out %in[%slot] to %kept[%c0, %c0, %c0] with(%c0, %c0) : !In to !D
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
      dash.mbarrier_arrive %in empty[%slot] by thread : !In
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}
