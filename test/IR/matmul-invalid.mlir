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

// -----

// The tensor core leaves sums in registers.
func.func @sums_are_in_registers(%a: tensor<128x128xbf16, #dash.swizzled>, %b: tensor<64x128xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op result must be an accumulator fragment where factors have layouts, got 'tensor<128x64xf32>'}}
      %r = dash.matmul %a, transpose %b : (tensor<128x128xbf16, #dash.swizzled>, tensor<64x128xbf16, #dash.swizzled>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

// And reads its right factor from shared memory.
func.func @right_factor_is_in_a_slot(%a: tensor<128x128xbf16, #dash.swizzled>, %b: tensor<64x128xbf16>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op b must lie in a slot, as #dash.swizzled, got 'tensor<64x128xbf16>'}}
      %r = dash.matmul %a, transpose %b : (tensor<128x128xbf16, #dash.swizzled>, tensor<64x128xbf16>) -> tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
    }
  }
  return
}

// -----

// Its left one from there or from registers.
func.func @left_factor_is_somewhere(%a: tensor<128x128xbf16>, %b: tensor<64x128xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op a must be an operand fragment, or lie in a slot, as #dash.swizzled, got 'tensor<128x128xbf16>'}}
      %r = dash.matmul %a, transpose %b : (tensor<128x128xbf16>, tensor<64x128xbf16, #dash.swizzled>) -> tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
    }
  }
  return
}

// -----

// Registers stay where they are.
func.func @registers_are_not_transposed(%a: tensor<64x128xbf16, #dash.fragment<operand, rows by 1>>, %b: tensor<64x128xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op a in registers cannot be transposed: put it into a slot first}}
      %r = dash.matmul transpose %a, %b : (tensor<64x128xbf16, #dash.fragment<operand, rows by 1>>, tensor<64x128xbf16, #dash.swizzled>) -> tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
    }
  }
  return
}

// -----

// A warpgroup has the rows that it multiplies.
func.func @factor_is_split_as_the_result(%a: tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>, %b: tensor<64x128xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op a in registers must be split as the result is, #dash.fragment<accumulator, columns by 2>, got #dash.fragment<operand, rows by 1>}}
      %r = dash.matmul %a, %b : (tensor<64x64xbf16, #dash.fragment<operand, rows by 1>>, tensor<64x128xbf16, #dash.swizzled>) -> tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>
    }
  }
  return
}

// -----

// An instruction sums over 16.
func.func @sums_over_sixteens(%a: tensor<8x64xbf16, #dash.swizzled>, %b: tensor<8x64xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op columns of a as multiplied must be a multiple of 16, got 8}}
      %r = dash.matmul transpose %a, %b : (tensor<8x64xbf16, #dash.swizzled>, tensor<8x64xbf16, #dash.swizzled>) -> tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
    }
  }
  return
}

// -----

// And gives at most 256 columns.
func.func @result_has_columns_of_an_instruction(%a: tensor<64x64xbf16, #dash.swizzled>, %b: tensor<64x512xbf16, #dash.swizzled>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op a warpgroup has at most 256 columns of the result, got 512}}
      %r = dash.matmul %a, %b : (tensor<64x64xbf16, #dash.swizzled>, tensor<64x512xbf16, #dash.swizzled>) -> tensor<64x512xf32, #dash.fragment<accumulator, rows by 1>>
    }
  }
  return
}

// -----

// Two warpgroups have 48 columns each: the second begins amid a panel of 32, and ends at another's end.
func.func @columns_begin_at_panels(%a: tensor<128x64xbf16, #dash.swizzled>, %b: tensor<128x96xbf16, #dash.swizzled<64>>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.matmul' op a warpgroup reads 48 columns of b, which must be whole panels of 32 or a part of one, got 'tensor<128x96xbf16, #dash.swizzled<64>>': lay it out in narrower panels}}
      %r = dash.matmul transpose %a, %b : (tensor<128x64xbf16, #dash.swizzled>, tensor<128x96xbf16, #dash.swizzled<64>>) -> tensor<64x96xf32, #dash.fragment<accumulator, columns by 2>>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// Each warpgroup has 64 rows of a product.
func.func @split_of_other_rows(%q: !T, %k: !T, %v: !T, %a: tensor<128x128xbf16>, %b: tensor<64x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.matmul' op split #dash.split<1 x 2>: #dash.fragment<accumulator, columns by 2> needs 64 rows and a multiple of 16 columns, got 128x64}}
    %r = dash.matmul %a, transpose %b split(<1 x 2>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16>>

func.func @split_among_others() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(12) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
      // expected-error @below {{'dash.matmul' op is split among 2 warpgroups, in a role of 3}}
      %s = dash.matmul %k, transpose %k split(<2 x 1>) : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
    }
  }
  return
}

// -----

// Sums lie as the split says.
!A = tensor<64x64xbf16, #dash.swizzled>
!S = tensor<64x64xf32, #dash.fragment<accumulator, columns by 1>>
!K = !dash.channel<!A>

func.func @sums_of_another_split() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> !A
      // expected-error @below {{'dash.matmul' op result must be #dash.fragment<accumulator, rows by 1>, as #dash.split<1 x 1> says, got #dash.fragment<accumulator, columns by 1>}}
      %s = dash.matmul %k, transpose %k split(<1 x 1>) : (!A, !A) -> !S
    }
  }
  return
}
