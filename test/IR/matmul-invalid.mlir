// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @factors_have_one_type(%q: !T, %k: !T, %v: !T, %a: tensor<128x64xbf16>, %b: tensor<64x64xf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op factors must have elements of one type, got 'bf16' and 'f16'}}
    %r = dash.matmul %a, %b : (tensor<128x64xbf16>, tensor<64x64xf16>) -> tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @columns_of_a_are_rows_of_b(%q: !T, %k: !T, %v: !T, %a: tensor<128x64xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op columns of a must be rows of b, got 128x64 and 128x64 as multiplied}}
    %r = dash.matmul %a, %a : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @shapes_are_as_multiplied(%q: !T, %k: !T, %v: !T, %a: tensor<128x64xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op columns of a must be rows of b, got 64x128 and 64x128 as multiplied}}
    %r = dash.matmul transpose %a, transpose %a : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @result_has_shape_of_product(%q: !T, %k: !T, %v: !T, %a: tensor<128x64xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op result must be 128x128, the product's shape, got 64x64}}
    %r = dash.matmul %a, transpose %a : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @accumulate_has_type_of_result(%q: !T, %k: !T, %v: !T, %a: tensor<128x64xbf16>, %c: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op 'accumulate' must have the type of the result, 'tensor<64x64xf32>', got 'tensor<64x128xf32>'}}
    %r = "dash.matmul"(%a, %a, %c) <{transpose_a}> : (tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<64x128xf32>) -> tensor<64x64xf32>
  }
  return
}
