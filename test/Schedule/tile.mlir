// RUN: dash-opt %s --dash-tile='q=64 kv=128' | FileCheck %s

// Arguments say what they are to the op: whose heads and rows they have, what is done with them, how many columns of what.
// CHECK-DAG: #q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
// CHECK-DAG: #dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 128>
// CHECK-DAG: #lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
// CHECK-DAG: #scale = #dash.tensor_role<"scale", side = q, access = read, kind = number, element = f32>
// CHECK-DAG: #sink = #dash.tensor_role<"sink", side = q, access = read, kind = head, element = f32>
// CHECK-DAG: #dsink = #dash.tensor_role<"dsink", side = q, access = write, kind = sequence_head, element = f32>

// Two kv-tile products per task make S and dP, transposed; three make the gradients.
// CHECK-LABEL: func.func @attention_bwd(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[DO:[^:]+]]: {{[^%]+}}, %[[O:[^:]+]]: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[DQ:[^:]+]]: {{[^%]+}}, %[[DK:[^:]+]]: {{[^%]+}}, %[[DV:[^:]+]]: {{[^%]+}}, %[[SCALE:.+]]: f32 {dash.tensor = #scale}) attributes {dash.tensors = [#q, #k, #v, #do, #o, #lse, #dq, #dk, #dv, #scale]} {
// CHECK:         %[[DELTA:.+]] = memref.alloc({{.+}}) : memref<?x?x?xf32>
// CHECK-NEXT:    dash.delta ins(%[[O]], %[[DO]] : {{.+}}) outs(%[[DELTA]] : memref<?x?x?xf32>)
// CHECK:         %[[SUM:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// CHECK:         linalg.fill ins(%{{.+}} : f32) outs(%[[SUM]] : memref<?x?x?x128xf32>)
// CHECK-NEXT:    %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// CHECK-NEXT:    dash.items unscheduled over(%[[Q]], %[[K]], %[[V]] : {{.+}})
// CHECK-NEXT:        tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]]) {
// CHECK-NEXT:      %[[KT:.+]] = dash.load %[[K]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : {{.+}} -> tensor<128x128xbf16>
// CHECK-NEXT:      %[[VT:.+]] = dash.load %[[V]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : {{.+}} -> tensor<128x128xbf16>
// CHECK-NEXT:      %[[SUMS:.+]]:2 = dash.walk (%[[HEAD:.+]], %[[QI:.+]]) init(%[[DK0:.+]] = %[[ZERO]], %[[DV0:.+]] = %[[ZERO]]) : {{.+}} {
// CHECK-NEXT:        %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64x128xbf16>
// CHECK-NEXT:        %[[DOT:.+]] = dash.load %[[DO]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64x128xbf16>
// CHECK-NEXT:        %[[L:.+]] = dash.load %[[LSE]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64xf32>
// CHECK-NEXT:        %[[D:.+]] = dash.load %[[DELTA]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64xf32>
// CHECK-NEXT:        %[[S:.+]] = dash.matmul %[[KT]], transpose %[[QT]] :
// CHECK-NEXT:        %[[P:.+]] = dash.probability %[[S]], %[[L]] at(%[[SEQ]], %[[KV]], %[[QI]]) scale(%[[SCALE]]) :
// CHECK-NEXT:        %[[PB:.+]] = dash.round %[[P]] : tensor<128x64xf32> to tensor<128x64xbf16>
// CHECK-NEXT:        %[[DP:.+]] = dash.matmul %[[VT]], transpose %[[DOT]] :
// CHECK-NEXT:        %[[DS:.+]] = dash.score_gradient %[[P]], %[[DP]], %[[D]] :
// CHECK-NEXT:        %[[DV1:.+]] = dash.matmul %[[PB]], %[[DOT]] accumulate(%[[DV0]]) :
// CHECK-NEXT:        %[[DK1:.+]] = dash.matmul %[[DS]], %[[QT]] accumulate(%[[DK0]]) :
// CHECK-NEXT:        %[[C:.+]] = dash.matmul transpose %[[DS]], %[[KT]] :
// CHECK-NEXT:        dash.reduce %[[C]] into %[[SUM]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:        dash.yield %[[DK1]], %[[DV1]] :
// CHECK-NEXT:      }
// CHECK-NEXT:      dash.store %[[SUMS]]#0, %[[DK]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] scale(%[[SCALE]]) :
// CHECK-NEXT:      dash.store %[[SUMS]]#1, %[[DV]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] :
// CHECK-NEXT:    }
// CHECK-NEXT:    dash.convert %[[SUM]] to %[[DQ]] scale(%[[SCALE]]) :
// CHECK-NEXT:    memref.dealloc %[[SUM]]
// CHECK-NEXT:    memref.dealloc %[[DELTA]]
// CHECK-NEXT:    return
func.func @attention_bwd(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                         %do: memref<?x?x?x128xbf16>, %o: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>,
                         %dq: memref<?x?x?x128xbf16>, %dk: memref<?x?x?x128xbf16>, %dv: memref<?x?x?x128xbf16>,
                         %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>,
          memref<?x?x?x128xbf16>, memref<?x?x?xf32>, memref<?x?x?x128xbf16>)
      outs(%dq, %dk, %dv : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      mask(<causal>) level(run) scale(%scale)
  return
}

// A delta that is given is used; the scale is 1/sqrt(192) by default; dK and dV are of different widths.
// CHECK-LABEL: func.func @defaults(
// CHECK-SAME:    {dash.tensor = [#q{{[0-9]*}}, #k{{[0-9]*}}]}, {{.+}} {dash.tensor = [#v{{[0-9]*}}, #do{{[0-9]*}}]}, {{.+}} {dash.tensor = [#delta{{[0-9]*}}, #lse{{[0-9]*}}]},
// CHECK-NOT:     dash.delta
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant 0.0721687824 : f32
// CHECK-DAG:     %[[SUM:.+]] = memref.alloc() : memref<1x2x100x192xf32>
// CHECK-DAG:     %[[DK0:.+]] = arith.constant dense<0.000000e+00> : tensor<128x192xf32>
// CHECK-DAG:     %[[DV0:.+]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// CHECK:         dash.items unscheduled
// CHECK-NEXT:        {{.*}} level(batch) sequences(<[40, 40], [60, 60]>)
// CHECK:           dash.walk (%{{.+}}, %{{.+}}) init(%{{.+}} = %[[DK0]], %{{.+}} = %[[DV0]])
// CHECK:           scale(%[[SCALE]])
func.func @defaults(%q: memref<1x2x100x192xf16>, %v: memref<1x2x100x128xf16>, %row: memref<1x2x100xf32>,
                    %dq: memref<1x2x100x192xf16>, %dk: memref<1x2x100x192xf16>, %dv: memref<1x2x100x128xf16>) {
  dash.attention_bwd
      ins(%q, %q, %v, %v, %row, delta = %row : memref<1x2x100x192xf16>, memref<1x2x100x192xf16>,
          memref<1x2x100x128xf16>, memref<1x2x100x128xf16>, memref<1x2x100xf32>, memref<1x2x100xf32>)
      outs(%dq, %dk, %dv : memref<1x2x100x192xf16>, memref<1x2x100x192xf16>, memref<1x2x100x128xf16>)
      mask(<full>) level(batch) sequences(<[40, 40], [60, 60]>)
  return
}

// With a softcap P is that of the tanh, with the cap as its factor, and dS has what is damped of P; a sink's gradient follows delta.
// CHECK-LABEL: func.func @capped(
// CHECK-SAME:      %[[SINK:[^:]+]]: memref<2xf32> {dash.tensor = #sink}, %[[DSINK:[^:]+]]: memref<1x2xf32> {dash.tensor = #dsink}, %[[SCALE:.+]]: f32 {dash.tensor = #scale})
// CHECK:         dash.delta {{.+}} outs(%[[DELTA:.+]] :
// CHECK-NEXT:    dash.sink_gradient ins(%[[SINK]], %{{.+}}, %[[DELTA]] : memref<2xf32>, memref<1x2x100xf32>, memref<1x2x100xf32>) outs(%[[DSINK]] : memref<1x2xf32>)
// CHECK-NEXT:    %[[CAP:.+]] = arith.constant 3.000000e+01 : f32
// CHECK:           %[[S:.+]] = dash.matmul %{{.+}}, transpose
// CHECK-NEXT:      %[[CAPPED:.+]] = dash.softcap %[[S]] cap(3.000000e+01) scale(%[[SCALE]])
// CHECK-NEXT:      %[[P:.+]] = dash.probability %[[CAPPED]], %{{.+}} at({{.+}}) scale(%[[CAP]])
// CHECK-NEXT:      %[[ROUNDED:.+]] = dash.round %[[P]]
// CHECK-NEXT:      %[[DP:.+]] = dash.matmul
// CHECK-NEXT:      %[[DAMPED:.+]] = dash.damp %[[P]], %[[CAPPED]]
// CHECK-NEXT:      %[[DS:.+]] = dash.score_gradient %[[DAMPED]], %[[DP]]
// CHECK-NEXT:      dash.matmul %[[ROUNDED]]
// CHECK-NEXT:      dash.matmul %[[DS]]
// CHECK:         dash.convert {{.+}} scale(%[[SCALE]])
func.func @capped(%q: memref<1x2x100x64xbf16>, %row: memref<1x2x100xf32>, %dq: memref<1x2x100x64xbf16>, %dk: memref<1x2x100x64xbf16>,
                  %dv: memref<1x2x100x64xbf16>, %sink: memref<2xf32>, %dsink: memref<1x2xf32>, %scale: f32) {
  dash.attention_bwd
      ins(%q, %q, %q, %q, %row, o = %q : memref<1x2x100x64xbf16>, memref<1x2x100x64xbf16>, memref<1x2x100x64xbf16>,
          memref<1x2x100x64xbf16>, memref<1x2x100xf32>, memref<1x2x100x64xbf16>)
      outs(%dq, %dk, %dv : memref<1x2x100x64xbf16>, memref<1x2x100x64xbf16>, memref<1x2x100x64xbf16>)
      mask(<full>) level(run) scale(%scale) sink(%sink, %dsink : memref<2xf32>, memref<1x2xf32>) softcap(30.0)
  return
}
