// RUN: dash-opt %s --dash-hoist-releases | FileCheck %s

!KCh = !dash.channel<tensor<128x64xbf16>, index>
!VCh = !dash.channel<tensor<128x64xbf16>>
!QCh = !dash.channel<tensor<64x64xbf16>>
!DCh = !dash.channel<tensor<64x64xf32>>
!kv = tensor<128x64xbf16>
!q = tensor<64x64xbf16>
!st = tensor<128x64xf32>
!d = tensor<64x64xf32>

// V is read last by a loop, K by the last product, whose sums are put. Each is released there, in either branch: an item without steps has
// waited for them all the same. The slot of a step is released where it stands.
// CHECK-LABEL: func.func @behind_the_last_reader
// CHECK:      scf.for
// CHECK:        scf.if
// CHECK:          scf.for
// CHECK:            dash.matmul %{{.+}}, transpose
// CHECK-NEXT:       dash.release %q_tiles
// CHECK-NEXT:     }
// CHECK-NEXT:     dash.release %v_tiles
// CHECK-NEXT:     %[[P:.+]] = arith.constant
// CHECK-NEXT:     %[[C:.+]] = dash.matmul transpose %[[P]], %{{.+}} :
// CHECK-NEXT:     dash.take_tensor_core
// CHECK-NEXT:     dash.release %k_tiles
// CHECK-NEXT:     dash.put %[[C]]
// CHECK-NEXT:     dash.commit
// CHECK-NEXT:   } else {
// CHECK-NEXT:     dash.release %v_tiles
// CHECK-NEXT:     dash.release %k_tiles
// CHECK-NEXT:   }
// CHECK-NEXT:   dash.give_tensor_core
// CHECK-NEXT: }
func.func @behind_the_last_reader() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !KCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %q_tiles = dash.channel "q" depth(2) : !QCh
    %dq_tiles = dash.channel "dq" depth(2) : !DCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %k, %steps = dash.wait %k_tiles[%i] : !KCh -> !kv, index
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        %any = arith.cmpi ugt, %steps, %c0 : index
        scf.if %any {
          scf.for %step = %c0 to %steps step %c1 {
            %q = dash.wait %q_tiles[%step] : !QCh -> !q
            %s = dash.matmul %v, transpose %q : (!kv, !q) -> !st
            dash.release %q_tiles[%step] : !QCh
          }
          %p = arith.constant dense<1.0> : !kv
          %c = dash.matmul transpose %p, %k : (!kv, !kv) -> !d
          dash.take_tensor_core
          dash.put %c into %dq_tiles[%i] : !d into !DCh
          dash.commit %dq_tiles[%i] : !DCh
        } else {
        }
        dash.give_tensor_core
        dash.release %v_tiles[%i] : !VCh
        dash.release %k_tiles[%i] : !KCh
      }
    }
  }
  return
}

// What threads have loaded into registers has a fence behind it once something is committed. Where a mask is cut, the slot says again where
// the tile is.
// CHECK-LABEL: func.func @behind_a_fence
// CHECK:      dash.matmul
// CHECK-NEXT: dash.put
// CHECK-NEXT: dash.commit %dq_tiles
// CHECK-NEXT: dash.release %v_tiles
// CHECK-NEXT: dash.hide
// CHECK-NEXT: dash.release %k_tiles
// CHECK-NEXT: dash.take_tensor_core
func.func @behind_a_fence(%log: !st) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !KCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %dq_tiles = dash.channel "dq" depth(2) : !DCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %k, %kv_tile = dash.wait %k_tiles[%i] : !KCh -> !kv, index
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        %rows = dash.load_factor %v : !kv -> !kv
        %c = dash.matmul transpose %rows, %k : (!kv, !kv) -> !d
        dash.put %c into %dq_tiles[%i] : !d into !DCh
        dash.commit %dq_tiles[%i] : !DCh
        %shown = dash.hide %log band(%c0, %kv_tile) : !st
        dash.take_tensor_core
        dash.give_tensor_core
        dash.release %v_tiles[%i] : !VCh
        dash.release %k_tiles[%i] : !KCh
      }
    }
  }
  return
}

// Threads have loaded V in front of a loop that has no fence, and the products in it read registers. Without commits in the role the release
// has a fence of its own, and directly follows the load; the one of K does not need any.
// CHECK-LABEL: func.func @without_a_fence
// CHECK:      dash.load_factor
// CHECK-NEXT: dash.release %v_tiles
// CHECK-NEXT: scf.for
// CHECK:      }
// CHECK-NEXT: dash.release %k_tiles
// CHECK-NEXT: dash.take_tensor_core
// CHECK-NEXT: dash.give_tensor_core
func.func @without_a_fence() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !VCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %k = dash.wait %k_tiles[%i] : !VCh -> !kv
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        %rows = dash.load_factor %v : !kv -> !kv
        scf.for %step = %c0 to %n step %c1 {
          %c = dash.matmul transpose %rows, %k : (!kv, !kv) -> !d
        }
        dash.take_tensor_core
        dash.give_tensor_core
        dash.release %v_tiles[%i] : !VCh
        dash.release %k_tiles[%i] : !VCh
      }
    }
  }
  return
}

// If the product of what was loaded follows in the block, the fence runs beside it.
// CHECK-LABEL: func.func @beside_a_product
// CHECK:      dash.load_factor
// CHECK-NEXT: dash.wait %k_tiles
// CHECK-NEXT: dash.matmul
// CHECK-NEXT: dash.release %v_tiles
// CHECK-NEXT: dash.release %k_tiles
// CHECK-NEXT: dash.take_tensor_core
func.func @beside_a_product(%c: !d) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !VCh
    %v_tiles = dash.channel "v" depth(1) : !VCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        %rows = dash.load_factor %v : !kv -> !kv
        %k = dash.wait %k_tiles[%i] : !VCh -> !kv
        %sums = dash.matmul transpose %rows, %k : (!kv, !kv) -> !d
        dash.release %k_tiles[%i] : !VCh
        dash.take_tensor_core
        dash.give_tensor_core
        dash.release %v_tiles[%i] : !VCh
      }
    }
  }
  return
}

// One branch has a fence behind its load, and the other none: the next commit is that of both.
// CHECK-LABEL: func.func @on_every_way
// CHECK:      dash.matmul
// CHECK-NEXT: dash.commit
// CHECK-NEXT: }
// CHECK-NEXT: dash.take_tensor_core
// CHECK-NEXT: dash.commit %dq_tiles
// CHECK-NEXT: dash.release %v_tiles
// CHECK-NEXT: dash.give_tensor_core
func.func @on_every_way(%c: !d, %is_long: i1) {
  dash.workers {
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %dq_tiles = dash.channel "dq" depth(2) : !DCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        scf.if %is_long {
          %rows = dash.load_factor %v : !kv -> !kv
          dash.commit %dq_tiles[%i] : !DCh
        }
        %rows = dash.load_factor %v : !kv -> !kv
        scf.if %is_long {
          %s = dash.matmul transpose %rows, %rows : (!kv, !kv) -> !d
          dash.commit %dq_tiles[%i] : !DCh
        }
        dash.take_tensor_core
        dash.commit %dq_tiles[%i] : !DCh
        dash.give_tensor_core
        dash.release %v_tiles[%i] : !VCh
      }
    }
  }
  return
}

// Neither branch has a fence, but there is one behind them.
// CHECK-LABEL: func.func @behind_branches
// CHECK:      scf.if
// CHECK-NOT:  dash.release
// CHECK:      dash.commit %dq_tiles
// CHECK-NEXT: dash.release %v_tiles
// CHECK-NEXT: dash.take_tensor_core
func.func @behind_branches(%is_long: i1) {
  dash.workers {
    %v_tiles = dash.channel "v" depth(1) : !VCh
    %dq_tiles = dash.channel "dq" depth(2) : !DCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %v = dash.wait %v_tiles[%i] : !VCh -> !kv
        %rows = dash.load_factor %v : !kv -> !kv
        scf.if %is_long {
          %s = dash.matmul transpose %rows, %rows : (!kv, !kv) -> !d
        } else {
        }
        dash.commit %dq_tiles[%i] : !DCh
        dash.take_tensor_core
        dash.release %v_tiles[%i] : !VCh
      }
    }
  }
  return
}

// Another role loads K into registers, so its release waits for a commit. That is no matter of the role beside it, whose products alone
// read K.
// CHECK-LABEL: func.func @each_reader_by_itself
// CHECK:      dash.role "dv"
// CHECK:        dash.load_factor
// CHECK:        dash.commit
// CHECK-NEXT:   dash.release %k_tiles
// CHECK:      dash.role "dk"
// CHECK:        %[[C:.+]] = dash.matmul transpose
// CHECK-NEXT:   dash.release %k_tiles
// CHECK-NEXT:   dash.put %[[C]]
func.func @each_reader_by_itself() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !VCh
    %dq_tiles = dash.channel "dq" depth(2) : !DCh
    %sum_tiles = dash.channel "sum" depth(2) : !DCh
    dash.role "dv" consumer warps(4) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %k = dash.wait %k_tiles[%i] : !VCh -> !kv
        %rows = dash.load_factor %k : !kv -> !kv
        %p = arith.constant dense<1.0> : !kv
        %c = dash.matmul transpose %rows, %p : (!kv, !kv) -> !d
        dash.put %c into %sum_tiles[%i] : !d into !DCh
        dash.commit %sum_tiles[%i] : !DCh
        dash.take_tensor_core
        dash.release %k_tiles[%i] : !VCh
      }
    }
    dash.role "dk" consumer warps(4) {
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %k = dash.wait %k_tiles[%i] : !VCh -> !kv
        %p = arith.constant dense<1.0> : !kv
        %c = dash.matmul transpose %p, %k : (!kv, !kv) -> !d
        dash.put %c into %dq_tiles[%i] : !d into !DCh
        dash.commit %dq_tiles[%i] : !DCh
        dash.release %k_tiles[%i] : !VCh
      }
    }
  }
  return
}
