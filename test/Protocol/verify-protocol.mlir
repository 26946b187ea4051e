// Two warpgroups work on tiles that a producer loads, exchange sums, and a reducer adds them in turns.
// RUN: dash-opt %s --dash-split-warpgroups --dash-verify-protocol | FileCheck %s

!K = !dash.channel<tensor<128x64xbf16, #dash.swizzled>, index>
!D = !dash.channel<tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>>
!k = tensor<128x64xbf16, #dash.swizzled>
!p = tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!d = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
!T = memref<?x?x?x64xbf16>
!F = memref<?x?x?x64xf32>
!V = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!v = tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>

// CHECK-LABEL: func @right
// CHECK: dash.role "compute1"
func.func @right(%k: !T, %dq: !F) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) arrivals([1, 8]) : !K
    %d_tiles = dash.channel "d" depth(1) arrivals([8, 1]) : !D
    dash.role "load" producer warps(1) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %seq, %kv_head, %kv, %first_head, %first, %visits, %rounds = dash.read_item[%i]
        %steps = arith.muli %visits, %rounds : index
        %slot, %phase = dash.ring %k_tiles[%i] : !K
        dash.mbarrier_wait %k_tiles empty[%slot] phase(%phase) : !K
        dash.write_indices %steps to %k_tiles[%slot] : !K
        dash.mbarrier_expect %k_tiles[%slot] bytes(16384) : !K
        dash.copy_in %k[%seq, %kv_head, %kv] to %k_tiles[%slot] element(0) : !T to !K
      }
    }
    dash.role "compute" consumer warps(8) {
      %n = dash.num_items
      %zero = arith.constant dense<0.0> : !d
      %all = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> index {
        %slot, %phase = dash.ring %k_tiles[%i] : !K
        dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
        %steps = dash.read_indices %k_tiles[%slot] : !K -> index
        %k0 = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
        %rows = dash.load_factor %k0 : !k -> !p
        dash.take_tensor_core
        %s = dash.matmul %rows, transpose %k0 async : (!p, !k) -> !s
        %s0 = dash.wgmma_wait %s pending(0) : !s -> !s
        dash.give_tensor_core
        dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
        scf.for %step = %c0 to %steps step %c1 {
          %sum = arith.addi %use, %step : index
          %d, %d_phase = dash.ring %d_tiles[%sum] : !D
          dash.mbarrier_wait %d_tiles empty[%d] phase(%d_phase) : !D
          dash.store_fragment %zero to %d_tiles[%d] element(0) : !d to !D
          dash.mbarrier_arrive %d_tiles full[%d] by warp : !D
        }
        %next = arith.addi %use, %steps : index
        scf.yield %next : index
      }
    }
    dash.role "reduce" reducer warps(1) {
      %n = dash.num_items
      %all = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> index {
        %seq, %kv_head, %kv, %first_head, %first, %visits, %rounds = dash.read_item[%i]
        %next = scf.for %round = %c0 to %rounds step %c1 iter_args(%u = %use) -> index {
          %last = scf.for %visit = %c0 to %visits step %c1 iter_args(%v = %u) -> index {
            %head, %q, %turn, %is_last = dash.read_visit %first[%visit] heads(%first_head, %round)
            dash.acquire_turn %dq[%seq, %head, %q] turn(%turn) : !F
            %slot, %phase = dash.ring %d_tiles[%v] : !D
            dash.mbarrier_wait %d_tiles full[%slot] phase(%phase) : !D
            %first_turn = arith.cmpi eq, %turn, %c0 : index
            scf.if %first_turn {
              dash.bulk_store %d_tiles[%slot] into %dq[%seq, %head, %q] : !D into !F
            } else {
              dash.bulk_add %d_tiles[%slot] into %dq[%seq, %head, %q] : !D into !F
            }
            nvvm.cp.async.bulk.commit.group
            nvvm.cp.async.bulk.wait_group 0 {read}
            dash.mbarrier_arrive %d_tiles empty[%slot] by thread : !D
            nvvm.cp.async.bulk.wait_group 0
            dash.release_turn %dq[%seq, %head, %q] last(%is_last) : !F
            %w = arith.addi %v, %c1 : index
            scf.yield %w : index
          }
          scf.yield %last : index
        }
        scf.yield %next : index
      }
    }
  }
  return
}

// What leaves through a slot is read when the slot is filled, and in memory at the role's end.
// CHECK-LABEL: func @copied_out
// CHECK: dash.copy_out
func.func @copied_out(%dk: !T) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) arrivals([4, 4]) : !V
    dash.role "compute" consumer warps(4) {
      %zero = arith.constant dense<0.0> : !v
      %slot, %phase = dash.ring %ds_tiles[%c0] : !V
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) borrows : !V
      dash.store_fragment %zero to %ds_tiles[%slot] element(0) slice(0) : !v to !V
      dash.copy_out %ds_tiles[%slot] element(0) to %dk[%c0, %c0, %c0] slice(0) : !V to !T
      nvvm.cp.async.bulk.wait_group 0 {read}
      dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !V
      dash.store_fragment %zero to %ds_tiles[%slot] element(0) : !v to !V
      dash.mbarrier_arrive %ds_tiles full[%slot] by warp : !V
      dash.mbarrier_wait %ds_tiles full[%slot] phase(%phase) : !V
      dash.mbarrier_arrive %ds_tiles empty[%slot] by warp : !V
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}
