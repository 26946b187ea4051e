// RUN: dash-opt %s -verify-diagnostics -split-input-file

// What a forward whose rows have bits of their own must not do.

!T = memref<?x?x?x128xbf16>

func.func @items_own_q(%q: !T, %k: !T, %v: !T) {
  // expected-error @below {{'dash.items' op of level 'row' must own q tiles: others add up over rows of q}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(row) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!row = memref<?x?x?xf32>

func.func @a_backward_adds_over_rows(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !row, %o: !T, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{'dash.attention_bwd' op level 'row' is of a forward only: dK and dV are sums over rows of q; expected run, batch, machine or world}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !row, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<full>) level(row)
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @scores_are_visible(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    %m = dash.walk (%kv_head, %kv) init(%m0 = %lowest) : tensor<64xf32> {
      %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      %s = dash.matmul %qt, transpose %kt : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      // expected-error @below {{'dash.running_max' op must take scores from 'dash.visible': a row must not read those that the mask hides from it}}
      %m1, %factor = dash.running_max %s, %m0 slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      dash.yield %m1 : tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @exponentials_are_of_visible_scores(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.exponential' op must take scores from 'dash.visible': a row must not read those that the mask hides from it}}
      %p = dash.exponential %zero, %lowest : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @no_product_adds_over_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    // expected-error @below {{'dash.matmul' op must keep rows of q apart: a must have them as its rows, and b none}}
    %s = dash.matmul transpose %qt, %qt : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @no_rows_to_the_right(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    dash.walk (%kv_head, %kv) {
      %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      // expected-error @below {{'dash.matmul' op must keep rows of q apart: a must have them as its rows, and b none}}
      %s = dash.matmul %kt, transpose %qt : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @only_known_ops(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    // expected-error @below {{'tensor.extract' op is not known to keep rows of q apart}}
    %one = tensor.extract %qt[%seq, %seq] : tensor<64x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @constants_are_one_number(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  %slopes = arith.constant dense<"0x0000803F0100803F0200803F0300803F0400803F0500803F0600803F0700803F0800803F0900803F0A00803F0B00803F0C00803F0D00803F0E00803F0F00803F1000803F1100803F1200803F1300803F1400803F1500803F1600803F1700803F1800803F1900803F1A00803F1B00803F1C00803F1D00803F1E00803F1F00803F2000803F2100803F2200803F2300803F2400803F2500803F2600803F2700803F2800803F2900803F2A00803F2B00803F2C00803F2D00803F2E00803F2F00803F3000803F3100803F3200803F3300803F3400803F3500803F3600803F3700803F3800803F3900803F3A00803F3B00803F3C00803F3D00803F3E00803F3F00803F"> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.rescale' op takes a tile from outside whose rows may differ, expected a constant of one number}}
      %r = dash.rescale %zero, %slopes : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tiles_from_outside_are_constants(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %slopes: tensor<64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'dash.rescale' op takes a tile from outside whose rows may differ, expected a constant of one number}}
    %r = dash.rescale %zero, %slopes : tensor<64x128xf32>, tensor<64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @numbers_come_from_outside(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %number = arith.index_cast %qi : index to i32
    %slope = arith.sitofp %number : i32 to f32
    dash.walk (%kv_head, %kv) {
      %y = dash.visible %zero at(%seq, %kv, %qi) : tensor<64x128xf32>
      // expected-error @below {{'dash.exponential' op takes a number that may differ between items, expected one from outside of them}}
      %p = dash.exponential %y, %lowest scale(%slope) : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @reads_its_own_tiles(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %next = arith.addi %qi, %seq : index
    // expected-error @below {{'dash.load' op must read the tile of its item or of its task, by the block arguments of 'dash.items' or 'dash.walk'}}
    %qt = dash.load %q[%seq, %head, %next] : !T -> tensor<64x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @reads_its_own_sequence(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'dash.load' op must read the tile of its item or of its task, by the block arguments of 'dash.items' or 'dash.walk'}}
    %qt = dash.load %q[%head, %head, %qi] : !T -> tensor<64x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @writes_its_own_tiles(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'dash.store' op must write the tile of its item, by the block arguments of 'dash.items'}}
    dash.store %zero, %o[%seq, %qi, %qi] : tensor<64x128xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @writes_its_own_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'dash.store_row' op must write the tile of its item, by the block arguments of 'dash.items'}}
    dash.store_row %lowest, %lse[%seq, %head, %head] : tensor<64xf32> -> memref<?x?x?xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @sees_by_its_own_place(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.visible' op must be at the sequence, kv tile and q tile of its task, by the block arguments of 'dash.items' and 'dash.walk'}}
      %y = dash.visible %zero at(%seq, %qi, %kv) : tensor<64x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_carried_product_is_of_exponentials(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
    %end = dash.walk (%kv_head, %kv) init(%sum = %zero) : tensor<64x128xf32> {
      %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
      %s = dash.matmul %qt, transpose %kt accumulate(%sum) : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      // expected-error @below {{'dash.yield' op carries value 0, which a tile could change for a row that sees nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded 'dash.exponential' added to it}}
      dash.yield %s : tensor<64x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_carried_value_is_not_swapped(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %end:2 = dash.walk (%kv_head, %kv) init(%m0 = %lowest, %n0 = %lowest) : tensor<64xf32>, tensor<64xf32> {
      // expected-error @below {{'dash.yield' op carries value 0, which a tile could change for a row that sees nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded 'dash.exponential' added to it}}
      dash.yield %n0, %m0 : tensor<64xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_carried_value_is_not_the_factor(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %end:2 = dash.walk (%kv_head, %kv) init(%m0 = %lowest, %f0 = %lowest) : tensor<64xf32>, tensor<64xf32> {
      %y = dash.visible %zero at(%seq, %kv, %qi) : tensor<64x128xf32>
      %m1, %factor = dash.running_max %y, %m0 slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      // expected-error @below {{'dash.yield' op carries value 1, which a tile could change for a row that sees nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded 'dash.exponential' added to it}}
      dash.yield %m1, %factor : tensor<64xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_carried_sum_is_of_exponentials(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %end:2 = dash.walk (%kv_head, %kv) init(%m0 = %lowest, %l0 = %none) : tensor<64xf32>, tensor<64x4xf32> {
      %y = dash.visible %zero at(%seq, %kv, %qi) : tensor<64x128xf32>
      %m1, %factor = dash.running_max %y, %m0 slack(8.0) : tensor<64x128xf32>, tensor<64xf32>
      %l1 = dash.running_sum %zero, %l0 times(%factor) : tensor<64x128xf32>, tensor<64x4xf32>, tensor<64xf32>
      // expected-error @below {{'dash.yield' op carries value 1, which a tile could change for a row that sees nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded 'dash.exponential' added to it}}
      dash.yield %m1, %l1 : tensor<64xf32>, tensor<64x4xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_carried_output_has_the_factor_of_the_maximum(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x4xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %end = dash.walk (%kv_head, %kv) init(%o0 = %zero) : tensor<64x128xf32> {
      %o1 = dash.rescale %o0, %lowest : tensor<64x128xf32>, tensor<64xf32>
      // expected-error @below {{'dash.yield' op carries value 0, which a tile could change for a row that sees nothing of it: expected 'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded 'dash.exponential' added to it}}
      dash.yield %o1 : tensor<64x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @rows_of_a_kv_tile_are_not_rows_of_q(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 64>) mask(<causal>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      %row = dash.load %lse[%seq, %kv_head, %kv] : memref<?x?x?xf32> -> tensor<64xf32>
      // expected-error @below {{'dash.rescale' op takes a tile whose rows are not those of q: only a product may}}
      %r = dash.rescale %zero, %row : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_product_has_rows_of_q(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 64>) mask(<causal>) level(row) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<64x128xbf16>
      // expected-error @below {{'dash.matmul' op must keep rows of q apart: a must have them as its rows, and b none}}
      %s = dash.matmul %kt, transpose %kt : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @the_sink_is_of_the_head(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'dash.sink_state' op must take the sink of its item's head, by the block argument of 'dash.items'}}
    %m, %l = dash.sink_state %sink[%qi] : memref<?xf32> -> tensor<64xf32>, tensor<64x4xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @writes_behind_the_walk(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    %m = dash.walk (%kv_head, %kv) init(%m0 = %lowest) : tensor<64xf32> {
      // expected-error @below {{'dash.store_row' op must write behind the walk: inside, values depend on how far it is}}
      dash.store_row %m0, %lse[%seq, %head, %qi] : tensor<64xf32> -> memref<?x?x?xf32>
      dash.yield %m0 : tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @no_other_op_writes(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<64xf32>
  // expected-note @below {{of these items of level 'row'}}
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(row) (%seq, %head, %qi) {
    // expected-error @below {{'memref.load' op is not known to keep rows of q apart}}
    %number = memref.load %sink[%head] : memref<?xf32>
    memref.store %number, %lse[%seq, %head, %qi] : memref<?x?x?xf32>
  }
  return
}
