// RUN: dash-opt %s --dash-hoist-stores | FileCheck %s

!DSCh = !dash.channel<tensor<128x64xbf16>>
!ds = tensor<128x64xbf16>
!q = tensor<64x64xbf16>
!wide = tensor<64x128xbf16>
!sum = tensor<128x64xf32>
!sums = tensor<128x128xf32>
!T = memref<?x?x?x64xbf16>
!W = memref<?x?x?x128xbf16>

// The sum is complete in front of the last wait for dS, and of four slots the next is empty by then. In the branch without steps the store
// stands at the end. The number of its use is computed in front of the branches.
// CHECK-LABEL: func.func @early
// CHECK:      %[[ONE:.+]] = arith.constant 1
// CHECK-NEXT: %[[USE:.+]] = arith.addi %{{.+}}, %[[ONE]]
// CHECK-NEXT: %[[R:.+]] = scf.if
// CHECK:        %[[DV:.+]] = dash.matmul
// CHECK-NEXT:   dash.store %[[DV]], %{{.+}} through %ds_tiles : {{.+}} use(%[[USE]])
// CHECK-NEXT:   dash.wait %ds_tiles
// CHECK-NEXT:   dash.release %ds_tiles
// CHECK-NEXT:   scf.yield %[[DV]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   dash.store %[[ZERO:[^ ,]+]], %{{.+}} through %ds_tiles : {{.+}} use(%[[USE]])
// CHECK-NEXT:   scf.yield %[[ZERO]]
// CHECK-NEXT: }
// CHECK-NOT:  dash.store
func.func @early(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      %one = arith.constant 1 : index
      %next = arith.addi %n, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}

// Two pieces take the slots behind the last use, and of two the second is that of the last use itself: it is not empty yet.
// CHECK-LABEL: func.func @not_empty
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @not_empty(%steps: index, %n: index, %p: !ds, %q: !wide, %dv: !W) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sums
      %any = arith.cmpi ugt, %steps, %c0 : index
      %r = scf.if %any -> !sums {
        %sum = dash.matmul %p, %q : (!ds, !wide) -> !sums
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %sum : !sums
      } else {
        scf.yield %zero : !sums
      }
      %one = arith.constant 1 : index
      %next = arith.addi %n, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sums -> !W
    }
  }
  return
}

// One piece that is three slots ahead takes the fourth, that of the last use.
// CHECK-LABEL: func.func @too_far_ahead
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @too_far_ahead(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      %one = arith.constant 1 : index
      %next = arith.addi %n, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(3) use(%next) : !sum -> !T
    }
  }
  return
}

// A slot that the role has waited for and not given back is not empty: it would wait for itself.
// CHECK-LABEL: func.func @not_released
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @not_released(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %n1 = arith.addi %n, %one : index
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds0 = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        %ds1 = dash.wait %ds_tiles[%n1] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        dash.release %ds_tiles[%n1] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      %next = arith.addi %n1, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}

// A use that is not behind the one waited for is nothing that this pass knows.
// CHECK-LABEL: func.func @not_behind
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @not_behind(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %n1 = arith.addi %n, %one : index
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n1] : !DSCh -> !ds
        dash.release %ds_tiles[%n1] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%n) : !sum -> !T
    }
  }
  return
}

// The first sum is made behind the wait, so its store stays, and so does the second: stores keep their order.
// CHECK-LABEL: func.func @in_order
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store %{{.+}}#0
// CHECK-NEXT: dash.store %{{.+}}#1
func.func @in_order(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T, %dk: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %r:2 = scf.if %any -> (!sum, !sum) {
        %early = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        %late = dash.matmul %p, %q : (!ds, !q) -> !sum
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %late, %early : !sum, !sum
      } else {
        scf.yield %zero, %zero : !sum, !sum
      }
      %one = arith.constant 1 : index
      %next = arith.addi %n, %one : index
      dash.store %r#0, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
      dash.store %r#1, %dk[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(1) use(%next) : !sum -> !T
    }
  }
  return
}

// The place is in a branch of a branch. What the store is told is computed in front of both; what a copy of its own has to tell cannot be.
// CHECK-LABEL: func.func @inside
// CHECK:      %[[HEAD:.+]] = arith.muli
// CHECK:      scf.if
// CHECK:        scf.if
// CHECK:          dash.store %{{.+}}[%{{.+}}, %[[HEAD]], %{{.+}}]
// CHECK-NEXT:     dash.wait %ds_tiles
// CHECK:        } else {
// CHECK:          dash.store
// CHECK:        }
// CHECK:      } else {
// CHECK:        dash.store
// CHECK:      }
// CHECK-NOT:  dash.store
// CHECK-LABEL: func.func @told_behind
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @inside(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %many = arith.cmpi ugt, %steps, %one : index
      %next = arith.addi %n, %one : index
      %r = scf.if %any -> !sum {
        %inner = scf.if %many -> !sum {
          %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
          %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
          dash.release %ds_tiles[%n] : !DSCh
          scf.yield %sum : !sum
        } else {
          scf.yield %zero : !sum
        }
        scf.yield %inner : !sum
      } else {
        scf.yield %zero : !sum
      }
      %head = arith.muli %n, %steps : index
      dash.store %r, %dv[%c0, %head, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}
func.func @told_behind(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    %k_tiles = dash.channel "k" depth(1) : !dash.channel<tensor<128x64xbf16>, index>
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %next = arith.addi %n, %one : index
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      %k, %kv = dash.wait %k_tiles[%n] : !dash.channel<tensor<128x64xbf16>, index> -> tensor<128x64xbf16>, index
      dash.store %r, %dv[%c0, %c0, %kv] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}

// A slot that is held around the branches is not empty either.
// CHECK-LABEL: func.func @held_around
// CHECK:      scf.if
// CHECK-NOT:  dash.store
// CHECK:      } else {
// CHECK:      }
// CHECK:      dash.store
func.func @held_around(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %n1 = arith.addi %n, %one : index
      %ds0 = dash.wait %ds_tiles[%n] : !DSCh -> !ds
      %r = scf.if %any -> !sum {
        %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds1 = dash.wait %ds_tiles[%n1] : !DSCh -> !ds
        dash.release %ds_tiles[%n1] : !DSCh
        scf.yield %sum : !sum
      } else {
        scf.yield %zero : !sum
      }
      dash.release %ds_tiles[%n] : !DSCh
      %next = arith.addi %n1, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}

// An inner branch makes the tile, and the role waits behind it: the store stands in front of the last wait, and no further up. In the other
// branch it stands at the end.
// CHECK-LABEL: func.func @behind_inner
// CHECK:      scf.if
// CHECK:        %[[INNER:.+]] = scf.if
// CHECK-NOT:      dash.store
// CHECK:        dash.release %ds_tiles
// CHECK-NEXT:   dash.store %[[INNER]]
// CHECK-NEXT:   dash.wait %ds_tiles
// CHECK:      } else {
// CHECK-NEXT:   dash.store
func.func @behind_inner(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : !sum
      %any = arith.cmpi ugt, %steps, %c0 : index
      %many = arith.cmpi ugt, %steps, %one : index
      %n1 = arith.addi %n, %one : index
      %r = scf.if %any -> !sum {
        %inner = scf.if %many -> !sum {
          %sum = dash.matmul %p, %q : (!ds, !q) -> !sum
          scf.yield %sum : !sum
        } else {
          scf.yield %zero : !sum
        }
        %ds0 = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        %ds1 = dash.wait %ds_tiles[%n1] : !DSCh -> !ds
        dash.release %ds_tiles[%n1] : !DSCh
        scf.yield %inner : !sum
      } else {
        scf.yield %zero : !sum
      }
      %next = arith.addi %n1, %one : index
      dash.store %r, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
    }
  }
  return
}

// In the first branch the first tile is made too late to leave early, in the second both leave early: in order in each.
// CHECK-LABEL: func.func @in_order_each
// CHECK:      scf.if
// CHECK:        dash.release %ds_tiles
// CHECK-NEXT:   dash.store %{{.+}}, %arg4[
// CHECK-NEXT:   dash.store %{{.+}}, %arg5[
// CHECK:      } else {
// CHECK:        dash.store %{{.+}}, %arg4[
// CHECK-NEXT:   dash.store %{{.+}}, %arg5[
// CHECK-NEXT:   dash.wait %ds_tiles
// CHECK-NOT:  dash.store
func.func @in_order_each(%steps: index, %n: index, %p: !ds, %q: !q, %dv: !T, %dk: !T) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %any = arith.cmpi ugt, %steps, %c0 : index
      %next = arith.addi %n, %one : index
      %r:2 = scf.if %any -> (!sum, !sum) {
        %early = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        %late = dash.matmul %p, %q : (!ds, !q) -> !sum
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %late, %early : !sum, !sum
      } else {
        %early = dash.matmul %p, %q : (!ds, !q) -> !sum
        %ds = dash.wait %ds_tiles[%n] : !DSCh -> !ds
        dash.release %ds_tiles[%n] : !DSCh
        scf.yield %early, %early : !sum, !sum
      }
      dash.store %r#0, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) use(%next) : !sum -> !T
      dash.store %r#1, %dk[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(1) use(%next) : !sum -> !T
    }
  }
  return
}
