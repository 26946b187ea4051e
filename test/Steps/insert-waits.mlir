// The kernel of the example with its waits: prologue, steady state and epilogue of head dim 128.
// RUN: dash-opt %s --dash-distribute-tiles --dash-lower-ordered-reduce --dash-sink-waits --dash-insert-waits | FileCheck %s
// RUN: dash-opt %s --dash-distribute-tiles --dash-lower-ordered-reduce --dash-sink-waits --dash-insert-waits=threads-arrive | FileCheck %s --check-prefix=DEBUG

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
!S = memref<?x?x?x128xf32>
!KCh = !dash.channel<tensor<128x128xbf16>, index, index, index, index>
!VCh = !dash.channel<tensor<128x128xbf16>>
!QCh = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>, index>
!OCh = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>
!DSCh = !dash.channel<tensor<128x64xbf16>>
!DQCh = !dash.channel<tensor<64x128xf32>>
!kv = tensor<128x128xbf16>
!q = tensor<64x128xbf16>
!row = tensor<64xf32>
!held = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!factor = tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>
!sum = tensor<128x128xf32>
!st = tensor<128x64xf32>
!p = tensor<128x64xbf16>
!dq = tensor<64x128xf32>

func.func @kernel(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !R, %delta: !R, %dq_sum: !S, %dq: !T, %dk: !T, %dv: !T, %scale: f32) {
  %zero = arith.constant dense<0.0> : !sum
  dash.workers registers(168) shared_bytes(231424) {
// CHECK: %k_tiles = dash.channel "k" depth(1) arrivals([1, 8])
// CHECK: %ds_tiles = dash.channel "ds" depth(2) arrivals([8, 8])
// CHECK: %dq_tiles = dash.channel "dq" depth(2) arrivals([8, 1])
// DEBUG: %k_tiles = dash.channel "k" depth(1) arrivals([1, 256])
// DEBUG: %ds_tiles = dash.channel "ds" depth(2) arrivals([256, 256])
    %k_tiles = dash.channel "k" depth(1) : !KCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %q_tiles = dash.channel "q" depth(2) : !QCh
    %do_tiles = dash.channel "do" depth(2) : !OCh
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    %dq_tiles = dash.channel "dq" depth(2) : !DQCh
// A producer: one thread, and the copy engine says when a slot is full.
// CHECK:      %[[LEAD:.*]] = dash.band_lead
// CHECK-NEXT: %[[SLOT:.*]], %[[PHASE:.*]] = dash.ring %q_tiles[%{{.*}}]
// CHECK-NEXT: dash.mbarrier_wait %q_tiles empty[%[[SLOT]]] phase(%[[PHASE]])
// CHECK-NEXT: dash.write_indices %[[LEAD]] to %q_tiles[%[[SLOT]]]
// CHECK-NEXT: dash.mbarrier_expect %q_tiles[%[[SLOT]]] bytes(16640)
// CHECK-NEXT: dash.copy_in %{{.*}} to %q_tiles[%[[SLOT]]] element(0)
// CHECK-NEXT: dash.copy_in %{{.*}} to %q_tiles[%[[SLOT]]] element(1)
    dash.role "load-q" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %all = scf.for %i = %c0 to %n step %c1 iter_args(%first = %c0) -> index {
        %seq, %kvh, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%i]
        %last = scf.for %visit = %c0 to %visits step %c1 iter_args(%use = %first) -> index {
          %head, %qi, %turn, %is_last = dash.read_visit %visit0[%visit] heads(%head0, %c0)
          %lead = dash.band_lead at(%seq, %kv, %qi) mask(<causal>) tiles(<q = 64, kv = 128>)
          %0 = dash.load %q[%seq, %head, %qi] : !T -> !q
          %1 = dash.load %lse[%seq, %head, %qi] : !R -> !row
          dash.put %0, %1, %lead into %q_tiles[%use] : !q, !row, index into !QCh
          %2 = dash.load %do[%seq, %head, %qi] : !T -> !q
          %3 = dash.load %delta[%seq, %head, %qi] : !R -> !row
          dash.put %2, %3 into %do_tiles[%use] : !q, !row into !OCh
          %next = arith.addi %use, %c1 : index
          scf.yield %next : index
        }
        scf.yield %last : index
      }
    }
// A reducer looks at the slot when it has the turn.
// CHECK:      dash.acquire_turn
// CHECK-NEXT: %[[SLOT:.*]], %[[PHASE:.*]] = dash.ring %dq_tiles[%{{.*}}]
// CHECK-NEXT: dash.mbarrier_wait %dq_tiles full[%[[SLOT]]] phase(%[[PHASE]])
// CHECK-NEXT: nvvm.fence.proxy
// CHECK:      dash.bulk_store %dq_tiles[%[[SLOT]]]
// CHECK:      nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: dash.mbarrier_arrive %dq_tiles empty[%[[SLOT]]] by thread
    dash.role "reduce" reducer warps(2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %all = scf.for %i = %c0 to %n step %c1 iter_args(%first = %c0) -> index {
        %seq, %kvh, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%i]
        %last = scf.for %visit = %c0 to %visits step %c1 iter_args(%use = %first) -> index {
          %head, %qi, %turn, %is_last = dash.read_visit %visit0[%visit] heads(%head0, %c0)
          %t = dash.wait %dq_tiles[%use] : !DQCh -> !dq
          dash.ordered_reduce %t into %dq_sum[%seq, %head, %qi] turn(%turn) last(%is_last) : !dq into !S
          dash.release %dq_tiles[%use] : !DQCh
          %next = arith.addi %use, %c1 : index
          scf.yield %next : index
        }
        scf.yield %last : index
      }
    }
    dash.role "load-kv" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %seq, %kvh, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%i]
        %steps = arith.muli %visits, %rounds : index
        %0 = dash.load %k[%seq, %kvh, %kv] : !T -> !kv
        dash.put %0, %steps, %seq, %kvh, %kv into %k_tiles[%i] : !kv, index, index, index, index into !KCh
        %1 = dash.load %v[%seq, %kvh, %kv] : !T -> !kv
        dash.put %1 into %v_tiles[%i] : !kv into !VCh
      }
    }
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %all = scf.for %i = %c0 to %n step %c1 iter_args(%u0 = %c0) -> index {
// K is waited for at once: it says what to do. V is not.
// CHECK:      dash.role "compute"
// CHECK:      %[[KSLOT:.*]], %[[PHASE:.*]] = dash.ring %k_tiles[%{{.*}}]
// CHECK-NEXT: dash.mbarrier_wait %k_tiles full[%[[KSLOT]]] phase(%[[PHASE]])
// CHECK-NEXT: %[[K:.*]] = dash.slot_tile %k_tiles[%[[KSLOT]]] element(0)
// CHECK-NEXT: %[[TOLD:.*]]:4 = dash.read_indices %k_tiles[%[[KSLOT]]]
// CHECK-NEXT: arith.cmpi
        %kt, %steps, %seq, %kvh, %kv = dash.wait %k_tiles[%i] : !KCh -> !kv, index, index, index, index
        %vt = dash.wait %v_tiles[%i] : !VCh -> !kv
        %many = arith.cmpi ugt, %steps, %c1 : index
// The prologue. LSE and the mask's index are loaded where their slot is waited for, V waited for at the product that reads it.
// CHECK:      dash.mbarrier_wait %q_tiles full
// CHECK-NEXT: dash.slot_tile %q_tiles
// CHECK-NEXT: dash.load_row %q_tiles
// CHECK-NEXT: %[[LEAD:.*]] = dash.read_indices %q_tiles
// CHECK-NEXT: %[[S:.*]] = dash.matmul %[[K]], transpose %{{.*}} async
// CHECK:      dash.mbarrier_wait %do_tiles full
// CHECK-NEXT: dash.slot_tile %do_tiles
// CHECK-NEXT: dash.load_row %do_tiles
// CHECK-NEXT: dash.ring %v_tiles
// CHECK-NEXT: dash.mbarrier_wait %v_tiles full
// CHECK-NEXT: %[[V:.*]] = dash.slot_tile %v_tiles
// CHECK-NEXT: %[[DP:.*]] = dash.matmul %[[V]], transpose %{{.*}} async
// CHECK-NEXT: %[[S1:.*]] = dash.wgmma_wait %[[S]] pending(1)
// CHECK-NEXT: %[[LOG:.*]] = dash.log_probability %[[S1]],
// CHECK-NEXT: dash.hide %[[LOG]] band(%[[LEAD]], %[[TOLD]]#3) again(%k_tiles[%[[KSLOT]]] indices([3]) :
        %sums:2 = scf.if %many -> (!sum, !sum) {
          %u1 = arith.addi %u0, %c1 : index
          %end = arith.addi %u0, %steps : index
          %last = arith.subi %end, %c1 : index
          // Stage 0 of step 0.
          %q0, %lse0, %lead0 = dash.wait %q_tiles[%u0] : !QCh -> !q, !row, index
          %s0 = dash.matmul %kt, transpose %q0 split(<2 x 1>) : (!kv, !q) -> !st
          %do0, %delta0 = dash.wait %do_tiles[%u0] : !OCh -> !q, !row
          %dp0 = dash.matmul %vt, transpose %do0 split(<2 x 1>) : (!kv, !q) -> !st
          %log0 = dash.log_probability %s0, %lse0 scale(%scale) : !st, !row
          %shown0 = dash.hide %log0 band(%lead0, %kv) : !st
          %p32_0 = dash.exp2 %shown0 : !st
          %p0 = dash.round %p32_0 : !st to !p
          %ds0 = dash.score_gradient %p32_0, %dp0, %delta0 : (!st, !st, !row) -> !p
          dash.put %ds0 into %ds_tiles[%u0] : !p into !DSCh
          // The first turn.
          dash.take_tensor_core
          %dk0 = dash.matmul %ds0, %q0 accumulate(%zero) split(<2 x 1>) : (!p, !q) -> !sum
          %dv0 = dash.matmul %p0, %do0 accumulate(%zero) split(<2 x 1>) : (!p, !q) -> !sum
          dash.commit %ds_tiles[%u0] : !DSCh
          dash.release %q_tiles[%u0] : !QCh
          %q1, %lse1, %lead1 = dash.wait %q_tiles[%u1] : !QCh -> !q, !row, index
          %s1 = dash.matmul %kt, transpose %q1 split(<2 x 1>) : (!kv, !q) -> !st
          dash.release %do_tiles[%u0] : !OCh
          %do1, %delta1 = dash.wait %do_tiles[%u1] : !OCh -> !q, !row
          %dp1 = dash.matmul %vt, transpose %do1 split(<2 x 1>) : (!kv, !q) -> !st
          dash.give_tensor_core
          %log1 = dash.log_probability %s1, %lse1 scale(%scale) : !st, !row
          %shown1 = dash.hide %log1 band(%lead1, %kv) : !st
          %p32_1 = dash.exp2 %shown1 : !st
          %p1 = dash.round %p32_1 : !st to !p
          %ds1 = dash.score_gradient %p32_1, %dp1, %delta1 : (!st, !st, !row) -> !p
          dash.put %ds1 into %ds_tiles[%u1] : !p into !DSCh
// The steady state.
// CHECK:      scf.for %[[STEP:.*]] = %{{.*}} iter_args(%[[DKS:.*]] = %{{.*}}, %[[DVS:.*]] = %{{.*}}, %[[PF:.*]] = %{{.*}}, %[[DSF:.*]] = %
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[STEP]],
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[STEP]],
// CHECK-NEXT: dash.take_tensor_core
// CHECK-NEXT: %[[DSB:.*]], %[[PHASE:.*]] = dash.ring %ds_tiles[%[[BEFORE]]]
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles full[%[[DSB]]] phase(%[[PHASE]])
// CHECK-NEXT: %[[DST:.*]] = dash.slot_tile %ds_tiles[%[[DSB]]] element(0)
// CHECK-NEXT: %[[DQ:.*]] = dash.matmul transpose %[[DST]], %[[K]] async
// CHECK-NEXT: %[[QS:.*]], %{{.*}} = dash.ring %q_tiles[%[[STEP]]]
// CHECK-NEXT: %[[Q:.*]] = dash.slot_tile %q_tiles[%[[QS]]]
// CHECK-NEXT: %[[DK:.*]] = dash.matmul %[[DSF]], %[[Q]] accumulate(%[[DKS]]) async
// CHECK-NEXT: %[[DOS:.*]], %{{.*}} = dash.ring %do_tiles[%[[STEP]]]
// CHECK-NEXT: %[[DO:.*]] = dash.slot_tile %do_tiles[%[[DOS]]]
// CHECK-NEXT: %[[DV:.*]] = dash.matmul %[[PF]], %[[DO]] accumulate(%[[DVS]]) async
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: %[[DSS:.*]], %{{.*}} = dash.ring %ds_tiles[%[[STEP]]]
// CHECK-NEXT: dash.mbarrier_arrive %ds_tiles full[%[[DSS]]] by warp
// CHECK-NEXT: %[[DQ1:.*]] = dash.wgmma_wait %[[DQ]] pending(2)
// CHECK-NEXT: dash.mbarrier_arrive %ds_tiles empty[%[[DSB]]] by warp
// CHECK-NEXT: %[[DQS:.*]], %[[PHASE:.*]] = dash.ring %dq_tiles[%[[BEFORE]]]
// CHECK-NEXT: dash.mbarrier_wait %dq_tiles empty[%[[DQS]]] phase(%[[PHASE]])
// CHECK-NEXT: dash.store_fragment %[[DQ1]] to %dq_tiles[%[[DQS]]] element(0)
// CHECK-NEXT: %[[DK1:.*]] = dash.wgmma_wait %[[DK]] pending(1)
// CHECK-NEXT: dash.mbarrier_arrive %q_tiles empty[%[[QS]]] by warp
// CHECK-NEXT: dash.ring %q_tiles[%[[NEXT]]]
// CHECK:      %[[S:.*]] = dash.matmul %[[K]], transpose %{{.*}} async
// CHECK-NEXT: %[[DV1:.*]] = dash.wgmma_wait %[[DV]] pending(1)
// CHECK-NEXT: dash.mbarrier_arrive %do_tiles empty[%[[DOS]]] by warp
// CHECK:      %[[DP:.*]] = dash.matmul %[[V]], transpose %{{.*}} async
// CHECK-NEXT: dash.give_tensor_core
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %dq_tiles full[%[[DQS]]] by warp
// CHECK-NEXT: %[[S1:.*]] = dash.wgmma_wait %[[S]] pending(1)
// CHECK-NEXT: %[[LOG:.*]] = dash.log_probability %[[S1]],
// CHECK-NEXT: dash.hide %[[LOG]]
// CHECK-NEXT: dash.exp2
// CHECK-NEXT: %[[PN:.*]] = dash.round
// CHECK-NEXT: %[[DP1:.*]] = dash.wgmma_wait %[[DP]] pending(0)
// CHECK-NEXT: %[[DSN:.*]] = dash.score_gradient %{{.*}}, %[[DP1]],
// CHECK:      dash.store_fragment %[[DSN]] to %ds_tiles
// CHECK-NEXT: scf.yield %[[DK1]], %[[DV1]], %[[PN]], %[[DSN]]
// DEBUG: dash.mbarrier_arrive %ds_tiles full[%{{.*}}] by all
          %r:4 = scf.for %step = %u1 to %last step %c1 iter_args(%dka = %dk0, %dva = %dv0, %p = %p1, %ds = %ds1) -> (!sum, !sum, !p, !p) {
            %before = arith.subi %step, %c1 : index
            %next = arith.addi %step, %c1 : index
            dash.take_tensor_core
            %dst = dash.wait %ds_tiles[%before] : !DSCh -> !p
            %dqs = dash.matmul transpose %dst, %kt split(<1 x 2>) : (!p, !kv) -> !dq
            %qh, %lh = dash.held %q_tiles[%step] : !QCh -> !q, !row
            %dkb = dash.matmul %ds, %qh accumulate(%dka) split(<2 x 1>) : (!p, !q) -> !sum
            %doh, %dh = dash.held %do_tiles[%step] : !OCh -> !q, !row
            %dvb = dash.matmul %p, %doh accumulate(%dva) split(<2 x 1>) : (!p, !q) -> !sum
            dash.commit %ds_tiles[%step] : !DSCh
            dash.release %ds_tiles[%before] : !DSCh
            dash.put %dqs into %dq_tiles[%before] : !dq into !DQCh
            dash.release %q_tiles[%step] : !QCh
            %q2, %lse2, %lead2 = dash.wait %q_tiles[%next] : !QCh -> !q, !row, index
            %s2 = dash.matmul %kt, transpose %q2 split(<2 x 1>) : (!kv, !q) -> !st
            dash.release %do_tiles[%step] : !OCh
            %do2, %delta2 = dash.wait %do_tiles[%next] : !OCh -> !q, !row
            %dp2 = dash.matmul %vt, transpose %do2 split(<2 x 1>) : (!kv, !q) -> !st
            dash.give_tensor_core
            dash.commit %dq_tiles[%before] : !DQCh
            %log2 = dash.log_probability %s2, %lse2 scale(%scale) : !st, !row
            %shown2 = dash.hide %log2 band(%lead2, %kv) : !st
            %p32_2 = dash.exp2 %shown2 : !st
            %p2 = dash.round %p32_2 : !st to !p
            %ds2 = dash.score_gradient %p32_2, %dp2, %delta2 : (!st, !st, !row) -> !p
            dash.put %ds2 into %ds_tiles[%next] : !p into !DSCh
            scf.yield %dkb, %dvb, %p2, %ds2 : !sum, !sum, !p, !p
          }
          // The last turn, and stage 2 of the last step.
          %before = arith.subi %last, %c1 : index
          dash.take_tensor_core
          %dst = dash.wait %ds_tiles[%before] : !DSCh -> !p
          %dqs = dash.matmul transpose %dst, %kt split(<1 x 2>) : (!p, !kv) -> !dq
          %qh, %lh = dash.held %q_tiles[%last] : !QCh -> !q, !row
          %dkb = dash.matmul %r#3, %qh accumulate(%r#0) split(<2 x 1>) : (!p, !q) -> !sum
          %doh, %dh = dash.held %do_tiles[%last] : !OCh -> !q, !row
          %dvb = dash.matmul %r#2, %doh accumulate(%r#1) split(<2 x 1>) : (!p, !q) -> !sum
          dash.commit %ds_tiles[%last] : !DSCh
          dash.release %ds_tiles[%before] : !DSCh
          dash.put %dqs into %dq_tiles[%before] : !dq into !DQCh
          dash.release %q_tiles[%last] : !QCh
          dash.release %do_tiles[%last] : !OCh
          dash.give_tensor_core
          dash.commit %dq_tiles[%before] : !DQCh
          %dst3 = dash.wait %ds_tiles[%last] : !DSCh -> !p
          %dqs3 = dash.matmul transpose %dst3, %kt split(<1 x 2>) : (!p, !kv) -> !dq
          dash.release %ds_tiles[%last] : !DSCh
          dash.put %dqs3 into %dq_tiles[%last] : !dq into !DQCh
          dash.commit %dq_tiles[%last] : !DQCh
          scf.yield %dkb, %dvb : !sum, !sum
// An item without steps waits for V all the same.
// CHECK:      } else {
// CHECK-NEXT: dash.ring %v_tiles
// CHECK-NEXT: dash.mbarrier_wait %v_tiles full
// CHECK-NEXT: scf.yield
        } else {
          scf.yield %zero, %zero : !sum, !sum
        }
        dash.release %v_tiles[%i] : !VCh
        dash.release %k_tiles[%i] : !KCh
// Gradients go out in two pieces, through the slots of dS that come next, each warpgroup through rows of its own. Its slots are
// waited for as empty, and stay it. What an item without steps has begun before is waited for once more.
// CHECK:      dash.mbarrier_arrive %k_tiles empty[%[[KSLOT]]] by warp
// CHECK:      nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: dash.sync_warpgroup
// CHECK:      %[[S0:.*]], %[[P0:.*]] = dash.ring %ds_tiles
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[S0]]] phase(%[[P0]]) borrows
// CHECK-NEXT: %[[S1:.*]], %[[P1:.*]] = dash.ring %ds_tiles
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[S1]]] phase(%[[P1]]) borrows
// CHECK-NEXT: %[[ROUNDED:.*]] = dash.round %{{.*}} :
// CHECK-NEXT: dash.store_fragment %[[ROUNDED]] to %ds_tiles[%[[S0]]] element(0) slice(0)
// CHECK-NEXT: dash.store_fragment %[[ROUNDED]] to %ds_tiles[%[[S1]]] element(0) slice(1)
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.sync_warpgroup
// CHECK-NEXT: dash.copy_out %ds_tiles[%[[S0]]] element(0) to {{.*}} slice(0)
// CHECK-NEXT: dash.copy_out %ds_tiles[%[[S1]]] element(0) to {{.*}} slice(1)
// The second takes the slots of the first, so it waits until they are read.
// CHECK:      nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: dash.sync_warpgroup
// CHECK:      dash.mbarrier_wait %ds_tiles empty[%[[S0]]] phase(%[[P0]]) borrows
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[S1]]] phase(%[[P1]]) borrows
// CHECK-NEXT: dash.round %{{.*}} scale(
// CHECK:      dash.sync_warpgroup
// CHECK-NEXT: dash.copy_out
// CHECK-NEXT: dash.copy_out
// CHECK-NOT:  wait_group
// CHECK-NOT:  dash.mbarrier_arrive
// Behind the last item they are waited for until they are in memory.
// CHECK:        scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
// CHECK-NEXT: }
        %next = arith.addi %u0, %steps : index
        dash.store %sums#1, %dv[%seq, %kvh, %kv] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
        dash.store %sums#0, %dk[%seq, %kvh, %kv] scale(%scale) through %ds_tiles : !DSCh ahead(2) use(%next) : !sum -> !T
        %u = arith.addi %u0, %steps : index
        scf.yield %u : index
      }
    }
  }
  dash.convert %dq_sum to %dq scale(%scale) : !S to !T
  return
}

// Where a channel has fewer slots than a store has pieces, they leave one behind the other.
// CHECK-LABEL: func.func @one_slot
// CHECK:      dash.mbarrier_wait %ds_tiles empty[%[[SLOT:.*]]] phase(%[[PHASE:.*]]) borrows
// CHECK-NEXT: %[[ROUNDED:.*]] = dash.round
// CHECK-NEXT: dash.store_fragment %[[ROUNDED]] to %ds_tiles[%[[SLOT]]] element(0) slice(0)
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.sync_warpgroup
// CHECK-NEXT: dash.copy_out %ds_tiles[%[[SLOT]]] element(0) to {{.*}} slice(0)
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: dash.sync_warpgroup
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[SLOT]]] phase(%[[PHASE]]) borrows
// CHECK-NEXT: dash.store_fragment %[[ROUNDED]] to %ds_tiles[%[[SLOT]]] element(0) slice(1)
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.sync_warpgroup
// CHECK-NEXT: dash.copy_out %ds_tiles[%[[SLOT]]] element(0) to {{.*}} slice(1)
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
func.func @one_slot(%dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !held
      dash.store %zero, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%c0) : !held -> !T
    }
  }
  return
}

// Where an item leaves through slots that another one fills, the second waits until it has left, whichever branch stands first.
// CHECK-LABEL: func.func @either
// CHECK:      scf.for
// CHECK:        scf.if
// CHECK:          dash.copy_out %ds_tiles
// CHECK:        } else {
// CHECK:          nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT:     dash.sync_warpgroup
// CHECK:          dash.mbarrier_wait %ds_tiles empty[%{{.*}}] phase(%{{[^)]*}}) :
// CHECK-NEXT:     dash.store_fragment
func.func @either(%dv: !T, %is_even: i1) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %zero = arith.constant dense<0.0> : !held
      %ds = arith.constant dense<0.0> : !factor
      scf.for %i = %c0 to %n step %c1 {
        scf.if %is_even {
          dash.store %zero, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%i) : !held -> !T
        } else {
          dash.put %ds into %ds_tiles[%i] : !factor into !DSCh
          dash.commit %ds_tiles[%i] : !DSCh
        }
      }
    }
  }
  return
}

// Pieces take slots in turn: of three, two that begin at the third take that and the first.
// CHECK-LABEL: func.func @in_turn
// CHECK:      %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %[[USE:.*]], %[[TWO]]
// CHECK:      %[[THIRD:[^ ,]*]], %[[PHASE:.*]] = dash.ring %ds_tiles[%[[FIRST]]]
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[THIRD]]] phase(%[[PHASE]]) borrows
// CHECK-NEXT: %[[NEXT:[^ ,]*]], %[[PHASE_0:.*]] = dash.ring %ds_tiles[%[[USE]]]
// CHECK-NEXT: dash.mbarrier_wait %ds_tiles empty[%[[NEXT]]] phase(%[[PHASE_0]]) borrows
// CHECK:      dash.store_fragment %{{.*}} to %ds_tiles[%[[THIRD]]] element(0) slice(0)
// CHECK-NEXT: dash.store_fragment %{{.*}} to %ds_tiles[%[[NEXT]]] element(0) slice(1)
func.func @in_turn(%dv: !T, %use: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(3) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !held
      dash.store %zero, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(2) use(%use) : !held -> !T
    }
  }
  return
}
