// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @unscheduled_has_2_indices(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.walk' op in unscheduled 'dash.items' takes 2 indices (head, q tile) and 0 carried values, got 3 block arguments}}
    dash.walk (%head, %qi, %turn) {
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @scheduled_has_3_indices(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.walk' op in scheduled 'dash.items' takes 3 indices (head, q tile, turn) and 1 carried values, got 3 block arguments}}
    %r = dash.walk (%head, %qi) init(%a0 = %a) : tensor<64x128xf32> {
      dash.yield %a0 : tensor<64x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @arguments_have_init_types(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.walk' op block argument 2 must have type 'tensor<64x128xf32>', got 'tensor<64xf32>'}}
    "dash.walk"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> ({
    ^bb0(%head: index, %qi: index, %a0: tensor<64xf32>):
      "dash.yield"(%a) : (tensor<64x128xf32>) -> ()
    }) : (tensor<64x128xf32>) -> tensor<64x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @indices_are_indices(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.walk' op block argument 1 must have type 'index', got 'i64'}}
    "dash.walk"() ({
    ^bb0(%head: index, %qi: i64):
      "dash.yield"() : () -> ()
    }) : () -> ()
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @result_for_each_init(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.walk' op needs 1 results, one for each init value, got 0}}
    "dash.walk"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> ({
    ^bb0(%head: index, %qi: index, %a0: tensor<64x128xf32>):
      "dash.yield"() : () -> ()
    }) : (tensor<64x128xf32>) -> ()
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @results_have_init_types(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.walk' op result 0 must have the type of its init value, 'tensor<64x128xf32>', got 'tensor<64xf32>'}}
    %r = "dash.walk"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> ({
    ^bb0(%head: index, %qi: index, %a0: tensor<64x128xf32>):
      "dash.yield"(%a) : (tensor<64x128xf32>) -> ()
    }) : (tensor<64x128xf32>) -> tensor<64xf32>
  }
  return
}

// -----

func.func @stands_in_items() {
  // expected-error @below {{'dash.walk' op expects parent op 'dash.items'}}
  dash.walk (%head, %qi) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// A pipeline of three stages has no fourth.
func.func @stage_beyond_the_last(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      %s = dash.matmul %a, %b stage(0) : (!A, !B) -> !S
      // expected-error @below {{'dash.round' op needs a stage from 0 to 2, got 3}}
      %r = dash.round %s stage(3) : !S to tensor<128x128xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// Every op of a turn is issued for some step.
func.func @op_without_a_stage(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      // expected-error @below {{'dash.matmul' op needs a stage from 0 to 2, got none}}
      %s = dash.matmul %a, %b : (!A, !B) -> !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// What cannot be issued for a step of its own stands outside.
func.func @op_that_has_no_stages(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(1) {
      // expected-error @below {{'arith.constant' op needs a stage from 0 to 0, got none}}
      %zero = arith.constant 0 : index
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// Stages are of a pipeline.
func.func @stage_without_a_pipeline(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.matmul' op has a stage, but its 'dash.walk' has none}}
      %s = dash.matmul %a, %b stage(0) : (!A, !B) -> !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// They are counted from 0.
func.func @stage_before_the_first(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      // expected-error @below {{'dash.matmul' op attribute 'stage' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
      %s = dash.matmul %a, %b stage(-1) : (!A, !B) -> !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// And they are numbers.
func.func @stage_by_a_name(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      // expected-error @below {{expected attribute value}}
      %s = dash.matmul %a, %b stage(late) : (!A, !B) -> !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// In one stage the text is the order of issue.
func.func @ops_out_of_order(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      // expected-error @below {{'dash.round' op is issued before what it needs}}
      %r = dash.round %s stage(1) : !S to tensor<128x128xbf16>
      // expected-note @below {{needs this}}
      %s = dash.matmul %a, %b stage(1) : (!A, !B) -> !S
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// An op of an earlier stage is issued for a later step.
func.func @stages_out_of_order(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) stages(3) {
      // expected-note @below {{needs this}}
      %s = dash.matmul %a, %b stage(2) : (!A, !B) -> !S
      // expected-error @below {{'dash.round' op is issued before what it needs}}
      %r = dash.round %s stage(1) : !S to tensor<128x128xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!A = tensor<128x64xbf16>
!B = tensor<64x128xbf16>
!S = tensor<128x128xf32>

// Without stages a step is a list.
func.func @no_order_without_stages(%q: !T, %k: !T, %v: !T, %a: !A, %b: !B) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.round' op is issued before what it needs}}
      %r = dash.round %s : !S to tensor<128x128xbf16>
      // expected-note @below {{needs this}}
      %s = dash.matmul %a, %b : (!A, !B) -> !S
    }
  }
  return
}
