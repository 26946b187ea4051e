// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 128>
!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>
!Q = !dash.channel<tensor<64x128xbf16, #dash.swizzled>, tensor<64xf32>, index>
!V = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!D = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!sum = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// A slot is filled by the copy engine: barriers, bytes and copies are ops.
// CHECK-LABEL: func.func @copies_in
// CHECK:         %q_tiles = dash.channel "q" depth(2) at([1024, 33792, 64], [16384, 256, 16]) barriers([0, 16]) arrivals([1, 8]) : !channel_
// CHECK:         %[[SLOT:.+]], %[[PHASE:.+]] = dash.ring %q_tiles[%[[USE:.+]]] : !channel_
// CHECK-NEXT:    dash.delay
// CHECK-NEXT:    dash.mbarrier_wait %q_tiles empty[%[[SLOT]]] phase(%[[PHASE]]) : !channel_
// CHECK-NEXT:    dash.write_indices %[[USE]] to %q_tiles[%[[SLOT]]] : !channel_
// CHECK-NEXT:    dash.mbarrier_expect %q_tiles[%[[SLOT]]] bytes(16640) : !channel_
// CHECK-NEXT:    dash.copy_in %{{.+}}[%[[USE]], %[[USE]], %[[USE]]] to %q_tiles[%[[SLOT]]] element(0) : memref<?x?x?x128xbf16> to !channel_
// CHECK-NEXT:    dash.copy_in %{{.+}}[%[[USE]], %[[USE]], %[[USE]]] to %q_tiles[%[[SLOT]]] element(1) : memref<?x?x?xf32> to !channel_
func.func @copies_in(%use: index) {
  %q = dash.tensor #q : !T
  %lse = dash.tensor #lse : memref<?x?x?xf32>
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) at([1024, 33792, 64], [16384, 256, 16]) barriers([0, 16]) arrivals([1, 8]) : !Q
    dash.role "load-q" producer warps(1) {
      %slot, %phase = dash.ring %q_tiles[%use] : !Q
      dash.delay
      dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !Q
      dash.write_indices %use to %q_tiles[%slot] : !Q
      dash.mbarrier_expect %q_tiles[%slot] bytes(16640) : !Q
      dash.copy_in %q[%use, %use, %use] to %q_tiles[%slot] element(0) : !T to !Q
      dash.copy_in %lse[%use, %use, %use] to %q_tiles[%slot] element(1) : memref<?x?x?xf32> to !Q
    }
  }
  return
}

// A consumer's part of it: what it reads of slots, the products in flight, and what it writes. Once it has been split, the role
// says whose copy it is.
// CHECK-LABEL: func.func @computes
// CHECK:         dash.tensor #q : memref<?x?x?x128xbf16>
// CHECK:         dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
// CHECK-NEXT:    %[[SLOT:.+]], %[[PHASE:.+]] = dash.ring
// CHECK-NEXT:    dash.mbarrier_wait %q_tiles full[%[[SLOT]]] phase(%[[PHASE]]) : !channel_
// CHECK-NEXT:    %[[LEAD:.+]] = dash.read_indices %q_tiles[%[[SLOT]]] : !channel_{{.+}} -> index
// CHECK-NEXT:    %[[Q:.+]] = dash.slot_tile %q_tiles[%[[SLOT]]] element(0) : !channel_{{.+}} -> !swizzled_64x128xbf16
// CHECK-NEXT:    %[[K:.+]] = dash.slot_tile %v_tiles[%[[SLOT]]] element(0) : !channel_{{.+}} -> !swizzled_128x128xbf16
// CHECK-NEXT:    %[[L:.+]] = dash.load_row %q_tiles[%[[SLOT]]] element(1) : !channel_{{.+}} -> !per_column_64_replicated2
// CHECK-NEXT:    dash.load_factor %[[K]] : !swizzled_128x128xbf16 -> !operand_128x128xbf16_rows2
// CHECK-NEXT:    %[[S:.+]] = dash.matmul %[[K]], transpose %[[Q]] async :
// CHECK-NEXT:    dash.matmul %[[K]], transpose %[[Q]] accumulate(%[[S]]) async :
// CHECK-NEXT:    %[[S1:.+]] = dash.wgmma_wait %[[S]] pending(1) : !acc_128x64_rows2 -> !acc_128x64_rows2
// CHECK-NEXT:    dash.wgmma_wait pending(0) pinned
// CHECK-NEXT:    dash.mbarrier_arrive %q_tiles empty[%[[SLOT]]] by warp : !channel_
// CHECK-NEXT:    dash.mbarrier_arrive %q_tiles empty[%[[SLOT]]] by all : !channel_
// CHECK-NEXT:    dash.mbarrier_arrive %q_tiles full[%[[SLOT]]] by thread : !channel_
// CHECK-NEXT:    dash.store_fragment %{{.+}} to %v_tiles[%[[SLOT]]] element(0) : !operand_128x128xbf16_rows2 to !channel_
// CHECK-NEXT:    dash.mbarrier_wait %v_tiles empty[%[[SLOT]]] phase(%[[PHASE]]) borrows : !channel_
// CHECK-NEXT:    dash.store_fragment %{{.+}} to %v_tiles[%[[SLOT]]] element(0) slice(0) : !operand_128x128xbf16_rows2 to !channel_
// CHECK-NEXT:    dash.sync_warpgroup
// CHECK-NEXT:    dash.copy_out %v_tiles[%[[SLOT]]] element(0) to %{{.+}}[%[[LEAD]], %[[LEAD]], %[[LEAD]]] slice(0) : !channel_{{.+}} to memref<?x?x?x128xbf16>
func.func @computes(%use: index, %p: !p) {
  %dv = dash.tensor #q : !T
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) : !Q
    %v_tiles = dash.channel "v" depth(1) : !V
    dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
      %slot, %phase = dash.ring %q_tiles[%use] : !Q
      dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !Q
      %lead = dash.read_indices %q_tiles[%slot] : !Q -> index
      %q = dash.slot_tile %q_tiles[%slot] element(0) : !Q -> tensor<64x128xbf16, #dash.swizzled>
      %k = dash.slot_tile %v_tiles[%slot] element(0) : !V -> tensor<128x128xbf16, #dash.swizzled>
      %l = dash.load_row %q_tiles[%slot] element(1) : !Q -> tensor<64xf32, #dash.fragment<per_column, replicated by 2>>
      %k_rows = dash.load_factor %k
        : tensor<128x128xbf16, #dash.swizzled> -> tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>
      %s = dash.matmul %k, transpose %q async
        : (tensor<128x128xbf16, #dash.swizzled>, tensor<64x128xbf16, #dash.swizzled>) -> !sum
      %t = dash.matmul %k, transpose %q accumulate(%s) async
        : (tensor<128x128xbf16, #dash.swizzled>, tensor<64x128xbf16, #dash.swizzled>) -> !sum
      %s1 = dash.wgmma_wait %s pending(1) : !sum -> !sum
      dash.wgmma_wait pending(0) pinned
      dash.mbarrier_arrive %q_tiles empty[%slot] by warp : !Q
      dash.mbarrier_arrive %q_tiles empty[%slot] by all : !Q
      dash.mbarrier_arrive %q_tiles full[%slot] by thread : !Q
      dash.store_fragment %p to %v_tiles[%slot] element(0) : !p to !V
      dash.mbarrier_wait %v_tiles empty[%slot] phase(%phase) borrows : !V
      dash.store_fragment %p to %v_tiles[%slot] element(0) slice(0) : !p to !V
      dash.sync_warpgroup
      dash.copy_out %v_tiles[%slot] element(0) to %dv[%lead, %lead, %lead] slice(0) : !V to !T
    }
  }
  return
}

// Adds to memory in turns of a semaphore.
// CHECK-LABEL: func.func @adds
// CHECK:         %[[SUMS:.+]] = dash.tensor #dq_sum : memref<?x?x?x128xf32>
// CHECK:         dash.acquire_turn %[[SUMS]][%[[I:.+]], %[[I]], %[[I]]] turn(%[[I]]) : memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.bulk_store %dq_tiles[%[[I]]] into %[[SUMS]][%[[I]], %[[I]], %[[I]]] : !channel_{{.+}} into memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.bulk_store %dq_tiles[%[[I]]] into %[[SUMS]][%[[I]], %[[I]], %[[I]]] keep(%[[I]]) : !channel_{{.+}} into memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.bulk_add %dq_tiles[%[[I]]] into %[[SUMS]][%[[I]], %[[I]], %[[I]]] : !channel_{{.+}} into memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.bulk_store %dq_tiles[%[[I]]] into %[[SUMS]][%[[I]], %[[I]], %[[I]]] evict_last : !channel_{{.+}} into memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.bulk_add %dq_tiles[%[[I]]] into %[[SUMS]][%[[I]], %[[I]], %[[I]]] evict_last : !channel_{{.+}} into memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.release_turn %[[SUMS]][%[[I]], %[[I]], %[[I]]] last(%[[I]]) : memref<?x?x?x128xf32>
// CHECK-NEXT:    dash.count_turns %[[SUMS]][%[[I]], %[[I]], %[[I]]] turn(%[[I]]) last(%[[I]]) : memref<?x?x?x128xf32>
func.func @adds(%i: index) {
  %dq = dash.tensor #dq_sum : !S
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !D
    dash.role "reduce" reducer warps(2) {
      dash.acquire_turn %dq[%i, %i, %i] turn(%i) : !S
      dash.bulk_store %dq_tiles[%i] into %dq[%i, %i, %i] : !D into !S
      dash.bulk_store %dq_tiles[%i] into %dq[%i, %i, %i] keep(%i) : !D into !S
      dash.bulk_add %dq_tiles[%i] into %dq[%i, %i, %i] : !D into !S
      dash.bulk_store %dq_tiles[%i] into %dq[%i, %i, %i] evict_last : !D into !S
      dash.bulk_add %dq_tiles[%i] into %dq[%i, %i, %i] evict_last : !D into !S
      dash.release_turn %dq[%i, %i, %i] last(%i) : !S
      dash.count_turns %dq[%i, %i, %i] turn(%i) last(%i) : !S
    }
  }
  return
}

// A role leaves records of what it waits for.
// CHECK-LABEL: func.func @traces
// CHECK:         dash.workers trace(100) {
// CHECK:           %{{.+}} = dash.trace begin
// CHECK-NEXT:      %[[BEFORE:.+]] = dash.clock
// CHECK-NEXT:      %[[BEHIND:.+]] = dash.trace turn since(%[[BEFORE]]) numbers(%{{.+}}, %{{.+}})
// CHECK-NEXT:      %[[FULL:.+]] = dash.clock
// CHECK-NEXT:      %{{.+}} = dash.trace slot_full of("q") since(%[[BEHIND]]) until(%[[FULL]]) numbers(%{{.+}})
// CHECK-NEXT:      %{{.+}} = dash.trace end
func.func @traces(%use: index) {
  dash.workers trace(100) {
    dash.role "reduce" reducer warps(1) {
      %begin = dash.trace begin
      %before = dash.clock
      %behind = dash.trace turn since(%before) numbers(%use, %use)
      %full = dash.clock
      %stored = dash.trace slot_full of("q") since(%behind) until(%full) numbers(%use)
      %end = dash.trace end
    }
  }
  return
}

// Threads of one role read what those of another held.
// CHECK-LABEL: func.func @passes
// CHECK:         dash.load_fragment %p_tiles[%{{.+}}] element(0) : !channel_{{.+}} -> !acc_128x64_rows2
func.func @passes(%slot: index) {
  dash.workers {
    %p_tiles = dash.channel "p" depth(1) : !dash.channel<!sum>
    dash.role "dk" consumer warps(8) {
      %p = dash.load_fragment %p_tiles[%slot] element(0) : !dash.channel<!sum> -> !sum
    }
  }
  return
}
