// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func @heads_agree(%sink: memref<3xf32>, %lse: memref<2x4x8xf32>, %delta: memref<2x4x8xf32>,
    %dsink: memref<2x4xf32>) {
  // expected-error @below {{'dash.sink_gradient' op 'sink' must have the heads of 'lse', 4, got 3}}
  dash.sink_gradient ins(%sink, %lse, %delta : memref<3xf32>, memref<2x4x8xf32>, memref<2x4x8xf32>)
                     outs(%dsink : memref<2x4xf32>)
  return
}

// -----

func.func @rows_agree(%sink: memref<4xf32>, %lse: memref<2x4x8xf32>, %delta: memref<2x4x9xf32>,
    %dsink: memref<2x4xf32>) {
  // expected-error @below {{'dash.sink_gradient' op 'delta' must have the rows of 'lse', 8, got 9}}
  dash.sink_gradient ins(%sink, %lse, %delta : memref<4xf32>, memref<2x4x8xf32>, memref<2x4x9xf32>)
                     outs(%dsink : memref<2x4xf32>)
  return
}

// -----

func.func @batch_agrees(%sink: memref<4xf32>, %lse: memref<2x4x8xf32>, %delta: memref<2x4x8xf32>,
    %dsink: memref<1x4xf32>) {
  // expected-error @below {{'dash.sink_gradient' op 'dsink' must have the batch of 'lse', 2, got 1}}
  dash.sink_gradient ins(%sink, %lse, %delta : memref<4xf32>, memref<2x4x8xf32>, memref<2x4x8xf32>)
                     outs(%dsink : memref<1x4xf32>)
  return
}

// -----

func.func @list_is_a_batch_of_1(%sink: memref<4xf32>, %lse: memref<2x4x8xf32>, %dsink: memref<?x4xf32>) {
  // expected-error @below {{'dash.sink_gradient' op 'sequences' needs a batch of 1, got 2}}
  dash.sink_gradient ins(%sink, %lse, %lse : memref<4xf32>, memref<2x4x8xf32>, memref<2x4x8xf32>)
                     outs(%dsink : memref<?x4xf32>) sequences(<?>)
  return
}

// -----

func.func @list_has_a_row_for_each(%sink: memref<4xf32>, %lse: memref<1x4x8xf32>, %dsink: memref<3x4xf32>) {
  // expected-error @below {{'dash.sink_gradient' op 'dsink' must have a row for each of the 2 sequences, got 3}}
  dash.sink_gradient ins(%sink, %lse, %lse : memref<4xf32>, memref<1x4x8xf32>, memref<1x4x8xf32>)
                     outs(%dsink : memref<3x4xf32>) sequences(<2 x [4, 4]>)
  return
}

// -----

!T = memref<1x?x?x128xbf16>
!R = memref<1x?x?xf32>

func.func @sequences_are_those_of_the_items(%q: !T, %k: !T, %v: !T, %sink: memref<?xf32>, %r: !R, %dsink: memref<?x?xf32>) {
  // expected-error @below {{'dash.sink_gradient' op must have the sequences of the 'dash.items' that read its delta}}
  dash.sink_gradient ins(%sink, %r, %r : memref<?xf32>, !R, !R) outs(%dsink : memref<?x?xf32>)
  // expected-note @below {{these}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) sequences(<?>) (%seq, %kv_head, %kv) {
    dash.walk (%head, %tile) {
      %delta = dash.load %r[%seq, %head, %tile] : !R -> tensor<64xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>

func.func @stands_outside_items(%q: !T, %k: !T, %v: !T, %sink: memref<?xf32>, %r: !R, %dsink: memref<?x?xf32>) {
  // expected-note @below {{inside this}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.sink_gradient' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.sink_gradient ins(%sink, %r, %r : memref<?xf32>, !R, !R) outs(%dsink : memref<?x?xf32>)
  }
  return
}
