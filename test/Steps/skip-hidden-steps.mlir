// A warpgroup ends its loop at the last kv tile that its own rows see, and gives the slots of the others on.
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:2' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-peel-walks --dash-skip-hidden-steps | FileCheck %s --check-prefix=WIDE
// WIDE: dash.visible_steps %{{.+}} lead(%{{.+}}) tiles(<q = 128, kv = 128>) hidden(1)

// DEFINE: %{mask} = causal
// DEFINE: %{tiling} =
// DEFINE: %{run} = sed -e 's/x128xbf16/x64xbf16/' -e 's/<causal>/<%{mask}>/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling='%{tiling}' --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:2' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-peel-walks --dash-skip-hidden-steps --canonicalize --cse

// RUN: %{run} | FileCheck %s
// CHECK:         dash.role "compute" consumer warps(12)
// CHECK:         %{{[^,]+}}, %[[STEPS:[^,]+]], {{.+}} = dash.wait %q_tiles :
// CHECK-NEXT:    %{{[^,]+}}, %[[LEAD:[^,]+]], %{{[^,]+}} = dash.wait %k_tiles[%[[C0:.+]]]
// CHECK:         %[[SEEN:.+]] = dash.visible_steps %[[STEPS]] lead(%[[LEAD]]) tiles(<q = 192, kv = 128>) hidden(1)
// CHECK-NEXT:    %{{.+}} = scf.for %[[STEP:.+]] = %[[C1:.+]] to %[[SEEN]] step %[[C1]]
// CHECK:           dash.matmul
// CHECK:           scf.yield
// CHECK-NEXT:    }
//                The others find the tensor core and both slots.
// CHECK-NEXT:    scf.for %[[LEFT:.+]] = %[[SEEN]] to %[[STEPS]] step %[[C1]] {
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:      dash.wait %k_tiles[%[[LEFT]]]
// CHECK-NEXT:      dash.release %k_tiles[%[[LEFT]]]
// CHECK-NEXT:      dash.wait %v_tiles[%[[LEFT]]]
// CHECK-NEXT:      dash.release %v_tiles[%[[LEFT]]]
// CHECK-NEXT:    }
//                The last product is that of the last step seen.
// CHECK:         %[[LAST:.+]] = arith.subi %[[SEEN]], %[[C1]]
// CHECK:         dash.wait %v_tiles[%[[LAST]]]

// A window hides its steps at the end like a causal mask, and with fewer slots fewer steps may go.
// REDEFINE: %{mask} = window = [512, 0]
// REDEFINE: %{tiling} = slots=k:3,v:2
// RUN: %{run} | FileCheck %s --check-prefix=WINDOW
// WINDOW: dash.visible_steps %{{.+}} lead(%{{.+}}) tiles(<q = 192, kv = 128>) hidden(1)

// Nothing changes where no row sees less than others at the end, where a union says what is seen, or with one slot.
// REDEFINE: %{tiling} =
// REDEFINE: %{mask} = full
// RUN: %{run} | FileCheck %s --check-prefix=SAME --implicit-check-not=visible_steps
// REDEFINE: %{mask} = window = [512, -1]
// RUN: %{run} | FileCheck %s --check-prefix=SAME --implicit-check-not=visible_steps
// REDEFINE: %{mask} = causal, union = #dash.union<columns = 4, window = [512, -1]>
// RUN: %{run} | FileCheck %s --check-prefix=SAME --implicit-check-not=visible_steps
// REDEFINE: %{mask} = causal
// REDEFINE: %{tiling} = slots=k:1
// RUN: %{run} | FileCheck %s --check-prefix=SAME --implicit-check-not=visible_steps
// Nor where warpgroups have all rows, and columns each.
// RUN: sed -e 's/x128xbf16/x64xbf16/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling=q-tile=64 --dash-tile --dash-apply-schedule='kind=longest-first workers=2 sizes=q:300,kv:300,batch:1,heads:2,kv-heads:2' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-peel-walks | sed -e 's/split(<1 x 1>)/split(<1 x 2>)/' -e 's/consumer warps(4)/consumer warps(8)/' | dash-opt --dash-skip-hidden-steps | FileCheck %s --check-prefix=SAME --implicit-check-not=visible_steps
// SAME: dash.role "compute"
// SAME: scf.for
