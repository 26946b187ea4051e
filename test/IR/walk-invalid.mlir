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
    "dash.walk"(%a) ({
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
    "dash.walk"(%a) ({
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
    %r = "dash.walk"(%a) ({
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
