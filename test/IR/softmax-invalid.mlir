// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @sink_state_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.sink_state' op 'max' must have 64 rows, those of a q tile, got 128}}
      %max, %sum = dash.sink_state %sink[%head] : memref<?xf32> -> tensor<128xf32>, tensor<128x4xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @sink_state_sums(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.sink_state' op 'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8}}
      %max, %sum = dash.sink_state %sink[%head] : memref<?xf32> -> tensor<64xf32>, tensor<64x8xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @visible_scores(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<128x64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.visible' op 'scores' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64}}
      %y = dash.visible %s at(%seq, %kv, %qi) : tensor<128x64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_max_scores(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<128x64xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_max' op 'scores' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64}}
      %n, %f = dash.running_max %s, %m slack(8.0) : tensor<128x64xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_max_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_max' op 'max' must have 64 rows, those of a q tile, got 128}}
      %n, %f = dash.running_max %s, %m slack(8.0) : tensor<64x128xf32>, tensor<128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_max_slack(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_max' op 'slack' must be from 0 to 15, got 16}}
      %n, %f = dash.running_max %s, %m slack(16.0) : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_max_slack_below_0(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_max' op 'slack' must be from 0 to 15, got -1}}
      %n, %f = dash.running_max %s, %m slack(-1.0) : tensor<64x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @exponential_scores(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<128x64xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.exponential' op 'scores' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64}}
      %p = dash.exponential %s, %m : tensor<128x64xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @exponential_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %s = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.exponential' op 'max' must have 64 rows, those of a q tile, got 128}}
      %p = dash.exponential %s, %m : tensor<64x128xf32>, tensor<128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_sum_probability(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %p = arith.constant dense<0.0> : tensor<128x64xf32>
  %l = arith.constant dense<0.0> : tensor<64x4xf32>
  %f = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_sum' op 'probability' must be 64x128, rows of a q tile by rows of a kv tile, got 128x64}}
      %n = dash.running_sum %p, %l times(%f) : tensor<128x64xf32>, tensor<64x4xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_sum_sums(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %p = arith.constant dense<0.0> : tensor<64x128xf32>
  %l = arith.constant dense<0.0> : tensor<64x8xf32>
  %f = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_sum' op 'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8}}
      %n = dash.running_sum %p, %l times(%f) : tensor<64x128xf32>, tensor<64x8xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @running_sum_factor(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %p = arith.constant dense<0.0> : tensor<64x128xf32>
  %l = arith.constant dense<0.0> : tensor<64x4xf32>
  %f = arith.constant dense<0.0> : tensor<128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.running_sum' op 'factor' must have 64 rows, those of a q tile, got 128}}
      %n = dash.running_sum %p, %l times(%f) : tensor<64x128xf32>, tensor<64x4xf32>, tensor<128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @rescale_value(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %o0 = arith.constant dense<0.0> : tensor<128x128xf32>
  %f = arith.constant dense<0.0> : tensor<64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.rescale' op 'value' must have 64 rows, those of a q tile, got 128}}
      %n = dash.rescale %o0, %f : tensor<128x128xf32>, tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @rescale_factor(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %o0 = arith.constant dense<0.0> : tensor<64x128xf32>
  %f = arith.constant dense<0.0> : tensor<128xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.rescale' op 'factor' must have 64 rows, those of a q tile, got 128}}
      %n = dash.rescale %o0, %f : tensor<64x128xf32>, tensor<128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @finish_value(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %o0 = arith.constant dense<0.0> : tensor<128x128xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  %l = arith.constant dense<0.0> : tensor<64x4xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.finish' op 'value' must have 64 rows, those of a q tile, got 128}}
      %a, %b = dash.finish %o0, %m, %l : tensor<128x128xf32>, tensor<64xf32>, tensor<64x4xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @finish_max(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %o0 = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<128xf32>
  %l = arith.constant dense<0.0> : tensor<64x4xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.finish' op 'max' must have 64 rows, those of a q tile, got 128}}
      %a, %b = dash.finish %o0, %m, %l : tensor<64x128xf32>, tensor<128xf32>, tensor<64x4xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @finish_sums(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %o0 = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  %l = arith.constant dense<0.0> : tensor<64x8xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.finish' op 'sum' must be 64x4, 4 numbers for each row of a q tile, got 64x8}}
      %a, %b = dash.finish %o0, %m, %l : tensor<64x128xf32>, tensor<64xf32>, tensor<64x8xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @store_row_rows(%q: !T, %k: !T, %v: !T, %o: !T, %lse: memref<?x?x?xf32>, %sink: memref<?xf32>) {
  %r = arith.constant dense<0.0> : tensor<32xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.store_row' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32}}
      dash.store_row %r, %lse[%seq, %head, %qi] : tensor<32xf32> -> memref<?x?x?xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @store_row_columns(%q: !T, %k: !T, %v: !T, %u: memref<?x?x?x128xf32>) {
  %o = arith.constant dense<0.0> : tensor<64x64xf32>
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.store_row' op tile must have at least as many columns as the head dim of the memref, 128, got 64}}
      dash.store_row %o, %u[%seq, %head, %qi] : tensor<64x64xf32> -> memref<?x?x?x128xf32>
    }
  }
  return
}

// -----

func.func @stands_inside_items(%o0: tensor<64x128xf32>, %f: tensor<64xf32>) {
  // expected-error @below {{'dash.rescale' op stands inside 'dash.items' only: it works on tiles}}
  %n = dash.rescale %o0, %f : tensor<64x128xf32>, tensor<64xf32>
  return
}
