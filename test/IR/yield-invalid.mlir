// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @yields_each_result(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    %r = dash.walk (%head, %qi) init(%a0 = %a) : tensor<64x128xf32> {
      // expected-error @below {{'dash.yield' op yields 2 values, but its 'dash.walk' has 1 results}}
      dash.yield %a0, %a0 : tensor<64x128xf32>, tensor<64x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @end_is_not_forgotten(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.yield' op yields 0 values, but its 'dash.walk' has 1 results}}
    %r = dash.walk (%head, %qi) init(%a0 = %a) : tensor<64x128xf32> {
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @yields_result_types(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>, %b: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    %r = dash.walk (%head, %qi) init(%a0 = %a) : tensor<64x128xf32> {
      // expected-error @below {{'dash.yield' op value 0 must have the type of the result, 'tensor<64x128xf32>', got 'tensor<64xf32>'}}
      dash.yield %b : tensor<64xf32>
    }
  }
  return
}
